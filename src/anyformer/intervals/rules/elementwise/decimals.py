"""np.round: numbers rounded to decimals."""

import operator
from typing import Final

import numpy as np

from anyformer.intervals.ends import Ends, ends_of
from anyformer.intervals.errors import unsupported
from anyformer.intervals.rules.elementwise import arithmetic

# Powers of ten are exact in float64 up to here.
MOST_DECIMALS: Final = 22


def rounded(a: Ends, decimals: int = 0) -> Ends:
    """np.round, step by step as NumPy computes it: scaled by a power of ten, rounded to an integer, scaled back."""
    decimals = operator.index(decimals)
    if not decimals:
        return Ends(np.rint(a.low), np.rint(a.high))
    if abs(decimals) > MOST_DECIMALS:
        raise unsupported(f"np.round to {decimals} decimals, whose power of ten is no float64,")
    power = ends_of(10.0 ** abs(decimals))
    there, back = (arithmetic.multiply, arithmetic.divide)[:: 1 if decimals > 0 else -1]
    scaled = there(a, power)
    return back(Ends(np.rint(scaled.low), np.rint(scaled.high)), power)
