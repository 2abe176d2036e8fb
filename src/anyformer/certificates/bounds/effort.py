"""What a proof will cost, known before it starts: cells to visit, bytes to hold and, roughly, seconds."""

import enum
import math
from dataclasses import dataclass

from anyformer.errors import TooMuch as TooMuch

# A number in every entry of a sequence, in all the arrays that are alive at once while cells are followed or cut.
BYTES_AN_ENTRY = 8 * 32
# The same for all orders of one cell, which are listed together.
BYTES_AN_ORDERED_ENTRY = 8 * 12
# Bytes that one chunk of cells may take; chunks get smaller for long sequences.
CHUNK_BYTES = 1 << 29
# Beyond this many bits a number is not worked out any more.
FAR_TOO_MANY = 128
# Boxes that all cells together may be cut into.
WORK_BOXES = 1 << 25


class Visits(enum.Enum):
    """How often a cell is looked at whose tokens are in another order only."""

    EVERY_ORDER = "the network and the target are looked at in every order of the tokens"
    TARGET_IN_EVERY_ORDER = "a network without positions is followed once for all orders"
    ONCE = "the symmetry of the target is declared, and one order stands for all"


@dataclass(frozen=True)
class Effort:
    """How much a proof may cost: cells to visit, bytes of memory in a process, seconds of one core, roughly."""

    cells: int = WORK_BOXES
    memory: int = 8 << 30
    seconds: float = 12 * 3600.0


ORDINARY = Effort()


@dataclass(frozen=True)
class Cost:
    """What a proof costs: columns a token can be in, cells to visit, bytes, and a rough guess of the seconds."""

    columns: int
    cells: int
    memory: int
    seconds: float
    """With every cell cut as finely as may be."""
    following_seconds: float
    """Of these, what is needed before any cell is cut."""


def cost_of_proof(
    cells_per_axis: tuple[int, ...],
    tokens: int,
    visits: Visits,
    layers: int = 0,
    attention_layers: int = 0,
    parameters: int = 0,
) -> Cost:
    """The cost of a proof on a grid with `cells_per_axis` for each coordinate of a token.

    Prices, as measured on one machine: for a layer, for a token of every cell in every attention layer, for a box that
    a cell is cut into.
    """
    columns = math.prod(cells_per_axis)
    ordered, multisets = _power(columns, tokens), _multisets(columns, tokens)
    cells = multisets if visits is Visits.ONCE else ordered
    followed = ordered if visits is Visits.EVERY_ORDER else multisets
    boxes = min(cells * 8.0 ** min(tokens, 16), WORK_BOXES)
    following = 0.2 + layers * 5e-6 + (3 + attention_layers) * followed * tokens * 4e-6
    seconds = 0.3 + following + boxes * tokens * 1.5e-6
    entries = tokens * len(cells_per_axis)
    memory = (columns * entries * BYTES_AN_ENTRY) + cell_bytes(tokens, len(cells_per_axis)) + 4 * 8 * parameters
    if visits is Visits.TARGET_IN_EVERY_ORDER:
        memory += _most_orders(columns, tokens) * entries * BYTES_AN_ORDERED_ENTRY
    return Cost(columns, cells, memory, seconds, following)


def _power(columns: int, tokens: int) -> int:
    return columns**tokens if tokens * math.log2(columns) <= FAR_TOO_MANY else 1 << FAR_TOO_MANY


def _multisets(columns: int, tokens: int) -> int:
    """C(columns + tokens − 1, tokens), unless that has too many bits."""
    bits = (math.lgamma(columns + tokens) - math.lgamma(columns) - math.lgamma(tokens + 1)) / math.log(2)
    return math.comb(columns + tokens - 1, tokens) if bits <= FAR_TOO_MANY else 1 << FAR_TOO_MANY


def _most_orders(columns: int, tokens: int) -> int:
    """How many different orders a sequence of columns can have: most if each occurs equally often, or nearly so."""
    if tokens * math.log2(columns) > FAR_TOO_MANY:
        return 1  # refused for its cells
    each, left = divmod(tokens, columns)
    alike = math.factorial(each + 1) ** left * math.factorial(each) ** min(columns - left, tokens)
    return int(math.factorial(tokens) // alike)


def cell_bytes(tokens: int, width: int) -> int:
    """Bytes that one cell takes while it is followed: its entries, and a score for every pair of tokens."""
    return tokens * (width + tokens) * BYTES_AN_ENTRY


def check_cost(cost: Cost, effort: Effort) -> None:
    """Raise `TooMuch` unless the proof stays within the effort."""
    if cost.cells > effort.cells:
        raise TooMuch("cells", cost.cells, effort.cells)
    if cost.memory > effort.memory:
        raise TooMuch("bytes of memory", cost.memory, effort.memory)
    if not cost.seconds <= effort.seconds:
        raise TooMuch("seconds of one core, roughly", math.ceil(cost.seconds), math.ceil(effort.seconds))
