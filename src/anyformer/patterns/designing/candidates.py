"""The patterns that the designer chooses from: the catalogue and its combinations, in sizes that grow with the length.

A new kind of pattern is a line in `candidates`.
"""

import itertools
from collections.abc import Iterator
from typing import Final

from anyformer.patterns.arrangement import Arrangement
from anyformer.patterns.families.blocks import Blocked
from anyformer.patterns.families.combinators import Causal, Sequential
from anyformer.patterns.families.factorised import Axial, Fixed, Strided
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.families.global_tokens import BigBird, Longformer, Star
from anyformer.patterns.families.hypercubes import Butterfly, Hypercube
from anyformer.patterns.families.random_keys import Random
from anyformer.patterns.families.windows import DilatedWindow, Full, Ring, SlidingWindow
from anyformer.patterns.sizes import about_root

LONGEST_FULL: Final = 2048
"""Up to this length full attention is among the candidates; beyond, all others are cheaper by far."""
_BLOCKS: Final = (8, 16, 32, 64)
_MOST_STEPS: Final = 4  # layers of windows of growing dilation


def candidates(tokens: int, causal: bool = False) -> list[PatternFamily]:
    """All of them; if causal, each without its connections to later tokens."""
    widths, few = _powers(min(tokens // 2, 4 * about_root(tokens))), _powers(about_root(tokens))
    found = [
        *([Full()] if tokens <= LONGEST_FULL else []),
        *(Ring(), Star(), Hypercube(), Butterfly()),
        *(SlidingWindow(width) for width in widths),
        *(Longformer(width, count) for width in (0, *widths) for count in few),
        *(Random(keys=keys) for keys in few),
        *(BigBird(width, count, keys) for width in (0, 1, 8) for count in (0, 1, 4) for keys in few),
        *_factorised(about_root(tokens)),
        *_growing_windows(tokens, sides=1 if causal else 2),
        *(Sequential((SlidingWindow(width), Longformer(0, count))) for width in widths for count in few),
        *(Sequential((SlidingWindow(width), Random(keys=keys))) for width in widths for keys in few),
        *(Sequential((Longformer(0, count), Random(keys=keys))) for count in few for keys in few),
        *_blocked(tokens),
    ]
    return [Causal(family) if causal else family for family in found]


def _powers(most: int) -> list[int]:
    """1, 2, 4, … up to `most`; at least 1."""
    return [2**power for power in range(max(1, most).bit_length())]


def _factorised(root: int) -> Iterator[PatternFamily]:
    sizes = sorted({max(1, root // 2), root, 2 * root})
    for size, how in itertools.product(sizes, (Arrangement.SEQUENTIAL, Arrangement.UNION)):
        yield from (Strided(size, how), Fixed(size, how), Axial(size, how))


def _growing_windows(tokens: int, sides: int) -> Iterator[PatternFamily]:
    """Windows whose gaps grow, so that each layer goes on where the last one ends: the digits of a distance.

    For each number of layers the narrowest that reach all tokens, and some wider ones, because ways end at the ends.
    """
    for steps in range(2, _MOST_STEPS + 1):
        narrowest = next(width for width in itertools.count(1) if (sides * width + 1) ** steps >= tokens)
        for width in sorted({narrowest, narrowest + 1, 2 * narrowest}):
            gaps = [(sides * width + 1) ** step for step in range(steps)]
            if gaps[-1] < tokens:  # otherwise the last layer does nothing
                yield Sequential(tuple(DilatedWindow(width, gap) for gap in gaps))


def _blocked(tokens: int) -> Iterator[PatternFamily]:
    small = (Ring(), Star(), Hypercube(), Butterfly(), Longformer(0, 1), Longformer(1, 1), BigBird(1, 1, 2))
    for block in (block for block in _BLOCKS if 4 * block <= tokens):
        yield from (Blocked(family, block) for family in small)
        yield from (Blocked(Random(keys=keys), block) for keys in (1, 2, 4))
