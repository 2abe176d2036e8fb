"""Fixed numbers over several tokens at once, such as the bias of every query for every key.

A *slot* stands for one token axis of an array: 0, 1, … in the order of its axes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyformer.arrays import Array, Booleans
from anyformer.programs.numbers import Number

# What is the same for all tokens has no slot of its own; a slot that is summed over is bound.
EVERYWHERE, BOUND = -1, -2


@dataclass(frozen=True, eq=False)
class Fixed:
    """Numbers with one axis for every slot; slots ascend."""

    slots: tuple[int, ...]
    number: Number

    def __add__(self, other: "Fixed") -> "Fixed":
        slots, (a, b) = _aligned(self, other)
        return Fixed(slots, a + b)

    def __mul__(self, other: "Fixed") -> "Fixed":
        slots, (a, b) = _aligned(self, other)
        return Fixed(slots, a * b)

    def times(self, factor: Number) -> "Fixed":
        """Multiplied by one number."""
        return Fixed(self.slots, self.number * factor)

    def renamed(self, names: Mapping[int, int]) -> "Fixed":
        """Over other slots; two slots that get one name become the diagonal."""
        slots, value = renamed_axes(self.slots, self.values, names)
        return Fixed(slots, Number(value, renamed_axes(self.slots, self.doubts, names)[1]))

    @property
    def values(self) -> Array:
        """The numbers without their doubts."""
        return np.asarray(self.number.value, dtype=np.float64)

    @property
    def doubts(self) -> Array:
        """The doubts, of the same shape."""
        return np.broadcast_to(np.asarray(self.number.doubt, dtype=np.float64), self.values.shape)

    def key(self) -> tuple[Any, ...]:
        """Equal for equal numbers over the same slots."""
        return self.slots, self.number.key()


@dataclass(frozen=True, eq=False)
class Hidden:
    """Where an exponent is −∞: what a mask hides from a softmax."""

    slots: tuple[int, ...]
    where: Booleans

    def __or__(self, other: "Hidden") -> "Hidden":
        slots = tuple(sorted({*self.slots, *other.slots}))
        return Hidden(slots, _spread(self.slots, self.where, slots) | _spread(other.slots, other.where, slots))

    def renamed(self, names: Mapping[int, int]) -> "Hidden":
        """Over other slots."""
        return Hidden(*renamed_axes(self.slots, self.where, names))

    def key(self) -> tuple[Any, ...]:
        """Equal for equal masks over the same slots."""
        return self.slots, self.where.shape, self.where.tobytes()


def _aligned(*parts: Fixed) -> tuple[tuple[int, ...], list[Number]]:
    """The union of the slots, and the numbers over all of them."""
    slots = tuple(sorted({slot for part in parts for slot in part.slots}))
    return slots, [
        Number(_spread(part.slots, part.values, slots), _spread(part.slots, part.doubts, slots)) for part in parts
    ]


def _spread(slots: tuple[int, ...], values: Any, over: tuple[int, ...]) -> Any:
    shape = iter(np.shape(values))
    return np.reshape(values, [next(shape) if slot in slots else 1 for slot in over])


def renamed_axes(slots: tuple[int, ...], values: Any, names: Mapping[int, int]) -> tuple[tuple[int, ...], Any]:
    """The slots under their new names in ascending order, and the array to match."""
    given = [names.get(slot, slot) for slot in slots]
    result = tuple(sorted(set(given)))
    # einsum takes the diagonal of a name that is there twice.
    return result, np.einsum(values, [result.index(slot) for slot in given], list(range(len(result))))
