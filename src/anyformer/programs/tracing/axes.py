"""The axes of a tracing array: batch and tokens stand for all their entries at once, other axes are real."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from anyformer.errors import NotTraceable


class Kind(enum.Enum):
    """What an axis counts."""

    BATCH = "batch"
    TOKENS = "tokens"
    SIZED = "entries"


@dataclass(frozen=True)
class Axis:
    """An axis and its size. One of tokens may be shorter than the sequence: then it is its first tokens."""

    kind: Kind
    size: int


def sized(size: int) -> Axis:
    """An ordinary axis."""
    return Axis(Kind.SIZED, size)


def shape_of(axes: Sequence[Axis]) -> tuple[int, ...]:
    """The sizes."""
    return tuple(axis.size for axis in axes)


def broadcast_axes(operands: Sequence[Sequence[Axis]]) -> tuple[Axis, ...]:
    """The axes of the result of an operation on arrays, aligned at the right as in NumPy."""
    np.broadcast_shapes(*(shape_of(axes) for axes in operands))  # raises NumPy's own error
    ndim = max((len(axes) for axes in operands), default=0)
    result = []
    for at in range(-ndim, 0):
        found = [axes[at] for axes in operands if len(axes) >= -at and axes[at].size != 1]
        kinds = {axis.kind for axis in found} - {Kind.SIZED}
        if len(kinds) > 1:
            raise NotTraceable(
                f"arrays of shapes {' and '.join(str(shape_of(axes)) for axes in operands)} meet so that the batch axis"
                " falls on the tokens. Add axes of size 1, x[:, :, None], so that like falls on like."
            )
        if kinds:
            found = [axis for axis in found if axis.kind in kinds]
        result.append(found[0] if found else sized(1))
    return tuple(result)


def matched_groups(old: Sequence[Axis], new: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Which axes a reshape turns into which, as short groups of places that hold equally many entries."""
    groups = []
    i = j = 0
    while i < len(old) or j < len(new):
        first, second = [], []
        if i < len(old):
            first.append(i)
            i += 1
        if j < len(new):
            second.append(j)
            j += 1
        while prod(old[at].size for at in first) != prod(new[at] for at in second):
            if prod(old[at].size for at in first) < prod(new[at] for at in second):
                first.append(i)
                i += 1
            else:
                second.append(j)
                j += 1
        groups.append((first, second))
    return groups
