"""Places of a network that have a label, and the word for each kind of place."""

from typing import Final, Literal, NamedTuple

Kind = Literal["stage", "head", "channel", "unit"]
KINDS: Final[tuple[Kind, ...]] = ("stage", "head", "channel", "unit")
# The "stage" of what stands in the stream before the first stage: inputs and positions.
EMBEDDING: Final = -1


class Place(NamedTuple):
    """Where something is computed. A plain tuple of the same four values is as good.

    stage: the number of the stage; −1 for what the embedding and the positions write.
    layer: the number of the layer within its stage. A channel stands where it is written.
    kind: "stage", "head", "channel" or "unit".
    index: the number of the head, channel or hidden unit within its layer; 0 for a stage.

    >>> Place(0, 0, "head", 1) == (0, 0, "head", 1)
    True
    """

    stage: int
    layer: int
    kind: str
    index: int  # type: ignore[assignment]  # it hides tuple.index, which nobody needs here

    def __str__(self) -> str:
        return f"stage {self.stage}, layer {self.layer}, {self.kind} {self.index}"
