"""The context map, in which table methods differ: how quantised columns become ids."""

from typing import Protocol

from anyformer.arrays import Integers
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.stages.draft import Draft


class ContextMap(Protocol):
    """Turns quantised columns into context ids: whole numbers of cell widths, different for every token of every input.

    The id of a token z is `reading`·z, in cells.
    """

    @property
    def reading(self) -> tuple[int, ...]:
        """The weight of each coordinate in an id: (1, 0, …) if the id stands in the first one and the others are 0."""
        ...

    @property
    def largest_id(self) -> int:
        """No id is larger."""
        ...

    @property
    def carry(self) -> float:
        """At least this share of a token's first coordinate reaches the ids of all others."""
        ...

    @property
    def leaves_strays(self) -> bool:
        """Whether some sequences get no ids; their tokens must be sent to 0 in the end."""
        ...

    def farthest(self, top: float) -> float:
        """How large a token can become on the walls between cells, if ids on the cells stay below `top`."""
        ...

    def ids(self, columns: Integers) -> Integers:
        """Ids of sequences of columns, shape (sequences, tokens)."""
        ...

    def stages(self, lattice: Lattice, slots: int) -> list[Draft]:
        """The stages that make the ids; feed-forward layers have room for `slots` steps."""
        ...


def first_coordinate(width: int) -> tuple[int, ...]:
    """The reading of ids that stand in the first coordinate, all others being 0."""
    return (1,) + (0,) * (width - 1)
