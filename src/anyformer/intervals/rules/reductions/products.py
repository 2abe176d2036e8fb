"""Products along axes."""

from typing import Any

import numpy as np

from anyformer.intervals.ends import Ends, magnitudes
from anyformer.intervals.rules.elementwise.arithmetic import multiply
from anyformer.intervals.rules.reductions.axes import in_front, placed
from anyformer.intervals.rules.rounding import SMALLEST, ULP, lowered, raised
from anyformer.intervals.rules.undefined import INFINITIES, unknown

# Beyond this a product of some of the factors may overflow, whatever the product of all is.
SAFE = 1e300


def product(a: Ends, axis: Any = None, keepdims: bool = False) -> Ends:
    """Π a over the axes, for every order in which NumPy may multiply.

    Another order than ours rounds k − 1 times too. Where nothing underflows this changes the product by less than
    k·2⁻⁵² of itself. What underflows is off by SMALLEST at most, and that error is then multiplied by some of the
    other factors, whose product is at most P = Π max(|aᵢ|, 1): in all less than 2k·SMALLEST·P. Where P is huge, some
    of the factors may overflow and 0·∞ follow: nothing is known then.
    """
    factors = in_front(a, axis)
    terms = factors.low.shape[0]
    result = Ends(np.ones(factors.low.shape[1:]), np.ones(factors.low.shape[1:]))
    for at in range(terms):
        result = multiply(result, Ends(factors.low[at], factors.high[at]))
    result = Ends(np.asarray(result.low), np.asarray(result.high))
    bound = np.maximum(magnitudes(factors)[1], 1.0).prod(axis=0) * (1 + terms * ULP)
    error = np.asarray(2 * terms * SMALLEST * bound)
    low, high = lowered(result.low, terms * ULP, error), raised(result.high, terms * ULP, error)
    low = np.where((factors.low >= 0).all(axis=0), np.maximum(low, 0.0), low)
    return placed(unknown(Ends(low, high), ~np.asarray(bound < SAFE), INFINITIES), a.low.shape, axis, keepdims)


def running_product(a: Ends, axis: int | None = None) -> Ends:
    """The products of the first 1, 2, … entries along an axis; NumPy multiplies from the front, as is done here."""
    if axis is None:
        return running_product(Ends(a.low.ravel(), a.high.ravel()), 0)
    factors = Ends(np.moveaxis(a.low, axis, 0), np.moveaxis(a.high, axis, 0))
    results = [Ends(factors.low[:1], factors.high[:1])]
    for at in range(1, factors.low.shape[0]):
        results.append(multiply(results[-1], Ends(factors.low[at : at + 1], factors.high[at : at + 1])))
    low = np.concatenate([result.low for result in results])
    high = np.concatenate([result.high for result in results])
    return Ends(*(np.ascontiguousarray(np.moveaxis(end, 0, axis)) for end in (low, high)))
