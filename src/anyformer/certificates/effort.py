"""What a proof will cost, known before it starts: cells to visit and bytes to hold, from a few whole numbers."""

import math
from dataclasses import dataclass

from anyformer.certificates.gate import NotShown

# A number in every entry of a sequence, in all the arrays that are alive at once while cells are followed or cut.
BYTES_AN_ENTRY = 8 * 32
# Bytes that one chunk of cells may take; chunks get smaller for long sequences.
CHUNK_BYTES = 1 << 29
# Beyond this many bits a number is not worked out any more.
FAR_TOO_MANY = 128


@dataclass(frozen=True)
class Effort:
    """How much a proof may cost: cells in every order of their tokens, and bytes of memory in a process."""

    cells: int = 1 << 25
    memory: int = 8 << 30


ORDINARY = Effort()


@dataclass(frozen=True)
class Cost:
    """What a proof costs: columns a token can be in, cells in every order of the tokens, and bytes."""

    columns: int
    cells: int
    memory: int


class TooMuch(NotShown):
    """A proof that would cost more than it may. It was not started."""

    def __init__(self, what: str, needed: int, allowed: int) -> None:
        super().__init__(what, needed, allowed)
        self.what, self.needed, self.allowed = what, needed, allowed

    def __str__(self) -> str:
        return f"the proof needs {_about(self.needed)} {self.what}, and {_about(self.allowed)} are allowed"


def cost_of_proof(cells_per_axis: tuple[int, ...], tokens: int, parameters: int = 0) -> Cost:
    """The cost of visiting every cell of a grid: `cells_per_axis` for each coordinate of a token."""
    columns = math.prod(cells_per_axis)
    cells = columns**tokens if tokens * math.log2(columns) <= FAR_TOO_MANY else 1 << FAR_TOO_MANY
    entries = tokens * len(cells_per_axis)
    memory = (columns * entries * BYTES_AN_ENTRY) + cell_bytes(tokens, len(cells_per_axis)) + 4 * 8 * parameters
    return Cost(columns, cells, memory)


def cell_bytes(tokens: int, width: int) -> int:
    """Bytes that one cell takes while it is followed: its entries, and a score for every pair of tokens."""
    return tokens * (width + tokens) * BYTES_AN_ENTRY


def check_cost(cost: Cost, effort: Effort) -> None:
    """Raise `TooMuch` unless the proof stays within the effort."""
    if cost.cells > effort.cells:
        raise TooMuch("cells", cost.cells, effort.cells)
    if cost.memory > effort.memory:
        raise TooMuch("bytes of memory", cost.memory, effort.memory)


def _about(count: int) -> str:
    return f"{count:,}" if count < 10**12 else f"about 2^{math.log2(count):.0f}"
