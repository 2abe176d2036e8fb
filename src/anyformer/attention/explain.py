"""Which way sparse attention takes for a pattern, and how many pairs it computes."""

from dataclasses import dataclass
from typing import final

import torch

from anyformer.attention.backends import FLEX, chosen, implementation
from anyformer.attention.plans import Pattern, layers_of, tiling_for
from anyformer.patterns.exchange.block_shares import require_sparse_blocks, touched_blocks
from anyformer.patterns.pattern import SparsityPattern

_FLEX_BLOCK = 128  # FlexAttention's own


@final
@dataclass(frozen=True)
class ListWork:
    """What one head does with one list of a layer."""

    layer: int
    first_head: int  # heads first_head, first_head + step, … of the layer use the list
    step: int
    connections: int  # pairs that are wanted
    executed: int  # pairs that are computed
    in_rows: int  # pairs that are computed one by one; the others are computed 32 queries at a time

    def __str__(self) -> str:
        heads = "all heads" if self.step == 1 else f"heads {self.first_head}, {self.first_head + self.step}, …"
        return (
            f"layer {self.layer}, {heads}: {self.connections:,} pairs, {self.executed:,} computed,"
            f" {self.in_rows:,} of them in rows"
        )


@final
@dataclass(frozen=True)
class Explanation:
    """What `sparse_attention` does for a pattern: the back end, and the work of a head in each list of each layer.

    >>> from anyformer.attention import explain
    >>> from anyformer.patterns import Strided
    >>> print(explain(Strided(), 1024, backend="numba"))
    numba, 1,024 tokens: 98,272 pairs in a period of 2 layers; 116,872 computed, 1.19 times these, 5.57 % of dense
      layer 0, all heads: 65,504 pairs, 84,104 computed, 1,736 of them in rows
      layer 1, all heads: 32,768 pairs, 32,768 computed, 0 of them in rows
    """

    tokens: int
    backend: str
    lists: tuple[ListWork, ...]

    @property
    def connections(self) -> int:
        """Pairs that are wanted, in all lists."""
        return sum(work.connections for work in self.lists)

    @property
    def executed(self) -> int:
        """Pairs that are computed, in all lists."""
        return sum(work.executed for work in self.lists)

    @property
    def share(self) -> float:
        """Pairs that are computed, in those of dense attention."""
        return self.executed / (len(self.lists) * self.tokens**2)

    def __str__(self) -> str:
        layers = len({work.layer for work in self.lists})
        period = "every layer" if layers == 1 else f"a period of {layers} layers"
        surplus = f"{self.executed / self.connections:.2f} times these, " if self.connections else ""
        first = (
            f"{self.backend}, {self.tokens:,} tokens: {self.connections:,} pairs in {period};"
            f" {self.executed:,} computed, {surplus}{100 * self.share:.3g} % of dense"
        )
        return "\n  ".join([first, *map(str, self.lists)])


def explain(
    pattern: Pattern, tokens: int, *, device: str | torch.device = "cpu", backend: str | None = None
) -> Explanation:
    """Say how `sparse_attention` computes this pattern, without computing anything.

    Args:
        pattern: a family, or a pattern of this length.
        tokens: in a sequence.
        device: where the tensors will be.
        backend: as for `sparse_attention`.
    """
    backend = chosen(backend, torch.device(device))
    work = []
    for index, lists in enumerate(layers_of(pattern, tokens)):
        for head, neighbours in enumerate(lists):
            if backend == FLEX:
                require_sparse_blocks(SparsityPattern((lists,)))
                executed, in_rows = len(touched_blocks(neighbours, _FLEX_BLOCK)[0]) * _FLEX_BLOCK**2, 0
            else:
                tiling = tiling_for(neighbours, backend)
                executed, in_rows = implementation(backend).pairs_computed(tiling), tiling.in_rows
            work.append(ListWork(index, head, len(lists), neighbours.connections, executed, in_rows))
    return Explanation(tokens, backend, tuple(work))
