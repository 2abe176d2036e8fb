"""Any family on blocks of tokens: what the family says of two tokens holds for two whole blocks."""

from dataclasses import dataclass
from typing import final

import numpy as np

from anyformer.arrays import Integers
from anyformer.errors import PatternError
from anyformer.patterns.families.family import PatternFamily, in_order
from anyformer.patterns.neighbours import Neighbours
from anyformer.patterns.pattern import SparsityPattern
from anyformer.patterns.sizes import length, require_room, whole_number


@final
@dataclass(frozen=True)
class Blocked(PatternFamily):
    """The pattern `of` on blocks of `block` tokens: where a block sees a block, each token sees all tokens there.

    The last block may be short. This is what BigBird runs:

    >>> from anyformer.patterns import BigBird
    >>> bigbird = Blocked(BigBird(half_width=1, global_tokens=1, random_keys=3), block=64)
    >>> bigbird.at(4096).layer(0).keys_of(2000).size // 64  # itself, two neighbours, the global one, three at random
    7

    A causal pattern on blocks still lets a token see the later ones of its own block: use Causal(Blocked(…)).
    """

    of: PatternFamily
    block: int

    def __post_init__(self) -> None:
        if not isinstance(self.of, PatternFamily):
            raise PatternError(
                f"a blocked pattern must be of a family; got {self.of!r}. See blocked() for a pattern of one length."
            )
        whole_number("block", self.block, least=1)

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        return blocked(self.of.at(self._blocks(tokens)), self.block, tokens)

    def path(self, tokens: int) -> Integers | None:
        """Along the path of the blocks, each block from its first token to its last.

        The first token of a block sees the last one of the block before it, as the block sees that block; the others
        see the token before them if the block sees itself.
        """
        path = self.of.path(self._blocks(tokens))
        if path is None or not (self.block == 1 or self.of.at(self._blocks(tokens)).union.loops().all()):
            return None
        places = np.asarray(path, dtype=np.int64)[:, None] * self.block + np.arange(min(self.block, tokens))
        return places[places < tokens]

    def _blocks(self, tokens: int) -> int:
        return -(-length(tokens) // self.block)


def blocked(pattern: SparsityPattern, block: int, tokens: int) -> SparsityPattern:
    """A pattern of one length on blocks: its tokens become blocks of `block` tokens, the last of them may be short.

    >>> from anyformer.patterns import Ring
    >>> blocked(Ring().at(4), block=3, tokens=10).layer(0).keys_of(9).tolist()
    [0, 1, 2, 6, 7, 8, 9]
    """
    tokens, block = length(tokens), whole_number("block", block, least=1)
    if pattern.tokens != -(-tokens // block):
        raise PatternError(
            f"the pattern must have {-(-tokens // block)} tokens, one for each block of {block} of the {tokens};"
            f" it has {pattern.tokens}. Build it at that length."
        )
    return SparsityPattern(tuple(tuple(_spread(one, block, tokens) for one in layer) for layer in pattern.layers))


def _spread(blocks: Neighbours, block: int, tokens: int) -> Neighbours:
    """Every pair of blocks as a square of pairs of tokens."""
    sizes = np.minimum(block, tokens - block * in_order(blocks.tokens))
    ends = np.concatenate([[0], np.cumsum(sizes[blocks.indices])])  # of each seen block, among the keys of all rows
    row_starts = ends[blocks.indptr[:-1]]
    row_keys = ends[blocks.indptr[1:]] - row_starts  # how many tokens each block sees
    require_room(int((row_keys * sizes).sum()))
    keys = np.repeat(blocks.indices * block - ends[:-1], sizes[blocks.indices]) + np.arange(ends[-1])
    own = in_order(tokens) // block
    indptr = np.concatenate([[0], np.cumsum(row_keys[own])])
    places = np.repeat(row_starts[own] - indptr[:-1], row_keys[own]) + np.arange(indptr[-1])
    seen = keys[places]
    seen.setflags(write=False)  # spares a copy
    return Neighbours(indptr, seen)
