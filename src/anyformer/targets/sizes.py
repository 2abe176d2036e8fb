"""Whole numbers that describe a target: tokens, width, degrees and windows."""

import functools
from typing import Final

from anyformer.errors import TargetError
from anyformer.whole_numbers import whole_number as whole_number_or

whole_number = functools.partial(whole_number_or, error=TargetError)


MAX_ENTRIES: Final = 2**12
"""The most numbers in a sequence: the rounding of moduli is bounded up to here, and a modulus may hold its square."""


def check_sizes(tokens: int, width: int) -> tuple[int, int]:
    """Both as ints; TargetError unless there are at least two tokens of at least one coordinate, and not too many."""
    tokens, width = whole_number("tokens", tokens, least=2), whole_number("width", width, least=1)
    if tokens * width > MAX_ENTRIES:
        raise TargetError(
            f"a sequence must have at most {MAX_ENTRIES} numbers, tokens times width; got {tokens} times {width}."
            " Ask for fewer tokens or a smaller width."
        )
    return tokens, width
