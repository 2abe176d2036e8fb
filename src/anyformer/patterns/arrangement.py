"""Several patterns in one: united, intersected, one after another over layers, side by side over heads."""

import enum
from collections.abc import Callable, Sequence

from anyformer.errors import PatternError
from anyformer.patterns.neighbours import common, united
from anyformer.patterns.pattern import SparsityPattern, headwise, require_one_length, side_by_side


class Arrangement(enum.Enum):
    """How a pattern of several parts is laid over layers and heads, in the paper's words."""

    UNION = "union"
    SEQUENTIAL = "sequential"
    MULTIHEAD = "multihead"


def as_arrangement(value: object) -> Arrangement:
    """The arrangement of this value, like "union"; an Arrangement is returned as it is."""
    try:
        return Arrangement(value)
    except ValueError:
        values = ", ".join(one.value for one in Arrangement)
        raise PatternError(f"arrangement must be one of {values}; got {value!r}.") from None


def arranged(how: Arrangement, parts: Sequence[SparsityPattern]) -> SparsityPattern:
    """The parts in this arrangement."""
    by_name: dict[Arrangement, Callable[[Sequence[SparsityPattern]], SparsityPattern]] = {
        Arrangement.UNION: union,
        Arrangement.SEQUENTIAL: sequential,
        Arrangement.MULTIHEAD: multihead,
    }
    return by_name[how](parts)


def union(parts: Sequence[SparsityPattern]) -> SparsityPattern:
    """Each head of each layer sees what it sees in any part; periods and heads that differ are repeated to fit."""
    return headwise(united, parts)


def intersection(parts: Sequence[SparsityPattern]) -> SparsityPattern:
    """Each head of each layer sees what it sees in all parts; periods and heads that differ are repeated to fit."""
    return headwise(common, parts)


def sequential(parts: Sequence[SparsityPattern]) -> SparsityPattern:
    """The layers of the first part, then those of the second, and so on in a cycle."""
    require_one_length(parts)
    return SparsityPattern(tuple(layer for part in parts for layer in part.layers))


def multihead(parts: Sequence[SparsityPattern]) -> SparsityPattern:
    """The lists of all parts side by side in every layer, each for its share of the heads."""
    return SparsityPattern(tuple(tuple(one for layer in row for one in layer) for row in side_by_side(parts)))
