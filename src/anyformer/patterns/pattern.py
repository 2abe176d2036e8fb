"""A sparsity pattern at one length: for each of its cyclic layers and each head, which keys each query may look at."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, final

from anyformer.errors import PatternError
from anyformer.patterns.neighbours import Neighbours, united

Layer: TypeAlias = tuple[Neighbours, ...]


@final
@dataclass(frozen=True)
class SparsityPattern:
    """The paper's A_k^l: layer l of a network uses `layers[l mod period]`.

    A layer holds one list of neighbours, which all heads share, or several: then head h uses list h mod their number
    (the paper's MULTIHEAD). What a *layer* can see is the union over its lists.

    >>> from anyformer.patterns import Ring
    >>> Ring().at(5).layer(0).keys_of(0).tolist()
    [0, 1, 4]
    """

    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(tuple(layer) for layer in self.layers))
        if not self.layers or not all(self.layers):
            raise PatternError("a pattern must have at least one layer, and a layer at least one list; got none.")
        lengths = {neighbours.tokens for neighbours in self.lists()}
        if len(lengths) > 1:
            raise PatternError(
                f"all lists of a pattern must have the same number of tokens; got lengths {sorted(lengths)}."
                " Build every part at one length."
            )

    @property
    def tokens(self) -> int:
        """The length of the sequences, the paper's n."""
        return self.layers[0][0].tokens

    @property
    def period(self) -> int:
        """How many layers there are before they repeat, the paper's p."""
        return len(self.layers)

    def lists(self) -> Iterable[Neighbours]:
        """Every list of every layer."""
        return (neighbours for layer in self.layers for neighbours in layer)

    def layer(self, index: int) -> Neighbours:
        """What layer `index` of a network can see with all its heads."""
        return self.seen[index % self.period]

    @cached_property
    def seen(self) -> tuple[Neighbours, ...]:
        """What each of the cyclic layers can see with all its heads."""
        return tuple(united(layer) for layer in self.layers)

    @cached_property
    def union(self) -> Neighbours:
        """What is seen in any layer, the paper's ∪_l A_k^l."""
        return united(self.seen)

    def __or__(self, other: object) -> "SparsityPattern":
        """The union with a pattern of the same length, head by head and layer by layer."""
        return headwise(united, [self, other]) if isinstance(other, SparsityPattern) else NotImplemented

    def __repr__(self) -> str:
        connections = [neighbours.connections for neighbours in self.seen]
        return f"SparsityPattern(tokens={self.tokens}, period={self.period}, connections={connections})"


def single(neighbours: Neighbours) -> SparsityPattern:
    """The pattern of one list, the same in every layer and head."""
    return SparsityPattern(((neighbours,),))


def headwise(
    combine: Callable[[Iterable[Neighbours]], Neighbours], parts: Sequence[SparsityPattern]
) -> SparsityPattern:
    """The lists of the parts combined head by head; periods and heads that differ are repeated to fit."""
    return SparsityPattern(tuple(_combined_layer(combine, row) for row in side_by_side(parts)))


def side_by_side(parts: Sequence[SparsityPattern]) -> list[list[Layer]]:
    """For every layer of the common period, that layer of every part."""
    require_one_length(parts)
    period = math.lcm(*(part.period for part in parts))
    return [[part.layers[layer % part.period] for part in parts] for layer in range(period)]


def require_one_length(parts: Sequence[SparsityPattern]) -> None:
    """Refuse parts of different lengths, and no parts at all."""
    lengths = sorted({part.tokens for part in parts})
    if len(lengths) != 1:
        raise PatternError(
            f"the parts must be one or more patterns of the same length; got {len(parts)} of lengths {lengths}."
            " Build them all at one length."
        )


def _combined_layer(combine: Callable[[Iterable[Neighbours]], Neighbours], row: Sequence[Layer]) -> Layer:
    heads = math.lcm(*(len(layer) for layer in row))
    return tuple(combine(layer[head % len(layer)] for layer in row) for head in range(heads))
