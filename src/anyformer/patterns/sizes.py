"""Whole numbers that describe a pattern: tokens, widths, strides, seeds."""

import functools
import math
from typing import Final

from anyformer.errors import PatternError
from anyformer.whole_numbers import whole_number as whole_number_or

whole_number = functools.partial(whole_number_or, error=PatternError)

# Beyond these limits a machine would run out of memory without a clear message.
MOST_TOKENS: Final = 2**26  # half a GiB for one number a token
MOST_CONNECTIONS: Final = 2**28  # 2 GiB of keys


def length(tokens: int) -> int:
    """The length of sequences as an int, or PatternError."""
    number = whole_number("tokens", tokens, least=1)
    if number > MOST_TOKENS:
        raise PatternError(f"tokens must be at most {MOST_TOKENS:,}; got {number:,}. Ask for shorter sequences.")
    return number


def require_room(connections: int) -> None:
    """Refuse a pattern with too many pairs (query, key) before they are made."""
    if connections > MOST_CONNECTIONS:
        raise PatternError(
            f"a pattern must have at most {MOST_CONNECTIONS:,} connections; it would have {connections:,}."
            " Choose a sparse pattern, or fewer tokens."
        )


def about_root(tokens: int) -> int:
    """⌈√tokens⌉, the width at which two layers with √n keys per token reach all tokens.

    >>> about_root(17)
    5
    """
    return math.isqrt(tokens - 1) + 1
