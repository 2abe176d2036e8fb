"""Several patterns in one: united, intersected, one after another over layers, side by side over heads."""

import enum
import math
from collections.abc import Callable, Iterable, Sequence

from anyformer.errors import PatternError
from anyformer.patterns.neighbours import Neighbours, common, united
from anyformer.patterns.pattern import Layer, SparsityPattern


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
    return _headwise(united, parts)


def intersection(parts: Sequence[SparsityPattern]) -> SparsityPattern:
    """Each head of each layer sees what it sees in all parts; periods and heads that differ are repeated to fit."""
    return _headwise(common, parts)


def sequential(parts: Sequence[SparsityPattern]) -> SparsityPattern:
    """The layers of the first part, then those of the second, and so on in a cycle."""
    _check_parts(parts)
    return SparsityPattern(tuple(layer for part in parts for layer in part.layers))


def multihead(parts: Sequence[SparsityPattern]) -> SparsityPattern:
    """The lists of all parts side by side in every layer, each for its share of the heads."""
    return SparsityPattern(tuple(tuple(one for layer in row for one in layer) for row in _rows(parts)))


def _headwise(
    combine: Callable[[Iterable[Neighbours]], Neighbours], parts: Sequence[SparsityPattern]
) -> SparsityPattern:
    return SparsityPattern(tuple(_combined_layer(combine, row) for row in _rows(parts)))


def _combined_layer(combine: Callable[[Iterable[Neighbours]], Neighbours], row: Sequence[Layer]) -> Layer:
    heads = math.lcm(*(len(layer) for layer in row))
    return tuple(combine(layer[head % len(layer)] for layer in row) for head in range(heads))


def _rows(parts: Sequence[SparsityPattern]) -> list[list[Layer]]:
    """For every layer of the common period, that layer of every part."""
    _check_parts(parts)
    period = math.lcm(*(part.period for part in parts))
    return [[part.layers[layer % part.period] for part in parts] for layer in range(period)]


def _check_parts(parts: Sequence[SparsityPattern]) -> None:
    lengths = sorted({part.tokens for part in parts})
    if len(lengths) != 1:
        raise PatternError(
            f"the parts must be one or more patterns of the same length; got {len(parts)} of lengths {lengths}."
            " Build them all at one length."
        )
