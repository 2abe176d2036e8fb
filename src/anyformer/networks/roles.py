"""What the stages of a network are for. A network made by hand may leave this open (`OTHER`)."""

import enum


class Role(enum.Enum):
    """What a stage does in the proof; its value is a sentence, its name is what files hold."""

    PREPARE = "brings the input onto the grid"
    GUARD = "marks what lies outside the support and sends such sequences to 0"
    QUANTISE = "drops every entry to the lower end of its cell"
    CODE = "gives every token one number, the code of its column of cells"
    SHIFT = "moves the codes apart, by what the other tokens hold"
    CONTEXT_ID = "adds what the token attends to: each token now holds its context id"
    LIFT = "raises the ids above every possible output"
    VALUE = "from the largest id down, moves the token that holds it to its output"
    STRAY = "sends tokens without an id to 0"
    CLIP = "bounds the output for every input"
    STEP = "computes steps of the program"
    OTHER = "is not said"

    def __repr__(self) -> str:
        return f"Role.{self.name}"
