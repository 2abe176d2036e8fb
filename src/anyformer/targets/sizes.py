"""Whole numbers that describe a target: tokens, width, degrees and windows."""

import functools

from anyformer.errors import TargetError
from anyformer.whole_numbers import whole_number as whole_number_or

whole_number = functools.partial(whole_number_or, error=TargetError)


def check_sizes(tokens: int, width: int) -> None:
    """Raise TargetError unless there are at least two tokens of at least one coordinate."""
    whole_number("tokens", tokens, least=2)
    whole_number("width", width, least=1)
