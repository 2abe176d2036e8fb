"""What is supported: every function of NumPy and SciPy that intervals follow, with the rule that encloses it.

This is the only such table. `ufuncs` and `calls` use it, and functions that are not in it are refused. Functions of
scipy.special are listed by name (`special`), because SciPy is not imported.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from anyformer.intervals import conditions
from anyformer.intervals.conditions import COMPARISONS
from anyformer.intervals.ends import Ends
from anyformer.intervals.rules import movement
from anyformer.intervals.rules.arguments import Rule, contraction, with_numbers
from anyformer.intervals.rules.elementwise import (
    arithmetic,
    choices,
    decimals,
    elementary,
    elementary_of_two,
    interpolation,
    periodic,
    piecewise,
    polynomials,
    powers,
    remainders,
    sinc,
    special,
)
from anyformer.intervals.rules.elementwise.elementary import INCREASING
from anyformer.intervals.rules.linear_algebra import contractions, convolutions
from anyformer.intervals.rules.reductions import averages, counts, log_sums, orders, products, quantiles, sums


def _stepping(function: np.ufunc) -> Callable[[Ends], Ends]:
    """A function that is increasing and exact in float64, jumps and all."""
    return lambda a: Ends(function(a.low), function(a.high))


ELEMENTWISE: Final[dict[np.ufunc, Callable[..., Any]]] = {
    np.add: arithmetic.add,
    np.subtract: arithmetic.subtract,
    np.multiply: arithmetic.multiply,
    np.divide: arithmetic.divide,
    np.reciprocal: arithmetic.reciprocal,
    np.negative: arithmetic.negative,
    np.positive: arithmetic.positive,
    np.conjugate: arithmetic.positive,
    np.absolute: arithmetic.absolute,
    np.fabs: arithmetic.absolute,
    np.square: arithmetic.square,
    np.maximum: arithmetic.maximum,
    np.minimum: arithmetic.minimum,
    np.fmax: arithmetic.maximum,
    np.fmin: arithmetic.minimum,
    np.power: powers.power,
    np.float_power: powers.power,
    np.sqrt: elementary.sqrt,
    np.cosh: elementary.cosh,
    np.arccos: elementary.arccos,
    np.sin: periodic.sin,
    np.cos: periodic.cos,
    np.tan: periodic.tan,
    np.hypot: elementary_of_two.hypot,
    np.arctan2: elementary_of_two.arctan2,
    np.copysign: elementary_of_two.copysign,
    np.logaddexp: elementary_of_two.logaddexp,
    np.logaddexp2: elementary_of_two.logaddexp2,
    np.floor_divide: remainders.floor_divide,
    np.remainder: remainders.remainder,
    np.fmod: remainders.fmod,
    np.divmod: remainders.quotient_and_remainder,
    np.heaviside: conditions.heaviside,
    np.matmul: contractions.matmul,
    **{ufunc: _stepping(ufunc) for ufunc in (np.sign, np.floor, np.ceil, np.rint, np.trunc)},
    **INCREASING,
    **COMPARISONS,
}

# Ufuncs of scipy.special, by name.
SPECIAL: Final[dict[str, Callable[..., Ends]]] = {
    "expit": special.expit,
    "log_expit": special.log_expit,
    "erf": special.erf,
    "erfc": special.erfc,
    "xlogy": special.xlogy,
}

REDUCTIONS: Final[dict[np.ufunc, Callable[..., Ends]]] = {
    np.add: sums.total,
    np.multiply: products.product,
    np.maximum: orders.greatest,
    np.minimum: orders.least,
    np.logaddexp: log_sums.log_of_sum_of_powers(np.logaddexp),
    np.logaddexp2: log_sums.log_of_sum_of_powers(np.logaddexp2),
}

ACCUMULATIONS: Final[dict[np.ufunc, Callable[..., Ends]]] = {
    np.add: sums.running_total,
    np.multiply: products.running_product,
    np.maximum: orders.running_maximum,
    np.minimum: orders.running_minimum,
}

_QUANTILE: Final = ("q", "axis", "method", "keepdims")
_MOMENT: Final = ("axis", "ddof", "keepdims")

RULES: Final[dict[Callable[..., Any], Rule]] = {
    np.sum: Rule(sums.total),
    np.mean: Rule(sums.mean),
    np.var: Rule(sums.variance, _MOMENT),
    np.std: Rule(sums.standard_deviation, _MOMENT),
    np.cumsum: Rule(sums.running_total, ("axis",)),
    np.diff: Rule(sums.differences, ("n", "axis", "prepend", "append")),
    np.average: Rule(averages.average, ("axis", "weights", "returned", "keepdims")),
    np.linalg.norm: Rule(sums.norm, ("ord", "axis", "keepdims")),
    np.prod: Rule(products.product),
    np.cumprod: Rule(products.running_product, ("axis",)),
    np.max: Rule(orders.greatest),
    np.amax: Rule(orders.greatest),
    np.min: Rule(orders.least),
    np.amin: Rule(orders.least),
    np.ptp: Rule(orders.spread),
    np.sort: Rule(orders.ordered, ("axis",)),
    np.partition: Rule(orders.partitioned, ("kth", "axis")),
    np.median: Rule(quantiles.median),
    np.percentile: Rule(quantiles.percentile, _QUANTILE),
    np.quantile: Rule(quantiles.quantile, _QUANTILE),
    # No interval holds NaN.
    np.nansum: Rule(sums.total),
    np.nanmean: Rule(sums.mean),
    np.nanvar: Rule(sums.variance, _MOMENT),
    np.nanstd: Rule(sums.standard_deviation, _MOMENT),
    np.nanprod: Rule(products.product),
    np.nancumsum: Rule(sums.running_total, ("axis",)),
    np.nancumprod: Rule(products.running_product, ("axis",)),
    np.nanmax: Rule(orders.greatest),
    np.nanmin: Rule(orders.least),
    np.nanmedian: Rule(quantiles.median),
    np.nanpercentile: Rule(quantiles.percentile, _QUANTILE),
    np.nanquantile: Rule(quantiles.quantile, _QUANTILE),
    np.interp: Rule(interpolation.interpolated, ("xp", "fp", "left", "right")),
    np.sinc: Rule(sinc.sinc, ()),
    np.any: Rule(conditions.any_of, takes_conditions=True),
    np.all: Rule(conditions.all_of, takes_conditions=True),
    np.count_nonzero: Rule(counts.count_nonzero, takes_conditions=True),
    np.clip: Rule(choices.clipped, ("a_min", "a_max", "min", "max")),
    np.round: Rule(decimals.rounded, ("decimals",)),
    np.around: Rule(decimals.rounded, ("decimals",)),
    np.shape: Rule(lambda a: a.low.shape, (), takes_conditions=True),
    np.ndim: Rule(lambda a: a.low.ndim, (), takes_conditions=True),
    np.size: Rule(counts.size, ("axis",), takes_conditions=True),
}

DIRECT: Final[dict[Callable[..., Any], Callable[..., Any]]] = {
    np.where: choices.chosen,
    np.select: choices.selected,
    np.dot: contraction("np.dot", with_numbers(contractions.dot)),
    np.tensordot: contraction("np.tensordot", contractions.tensordot),
    np.einsum: contraction("np.einsum", with_numbers(contractions.einsum)),
    np.inner: contraction("np.inner", with_numbers(convolutions.inner)),
    np.outer: contraction("np.outer", convolutions.outer),
    np.convolve: contraction("np.convolve", convolutions.convolve),
    np.polyval: polynomials.polyval,
    np.piecewise: piecewise.piecewise,
    np.pad: movement.padded,
    np.zeros_like: movement.zeros_like,
    np.ones_like: movement.ones_like,
    np.full_like: movement.full_like,
    np.empty_like: movement.empty_like,
    **movement.moves(),
}

# The functions whose result shares memory with their argument or not, depending on how that lies in memory.
AMBIGUOUS: Final = (np.reshape, np.ravel)

UNORDERED: Final = (np.argsort, np.argmax, np.argmin, np.argpartition, np.argwhere, np.nonzero, np.flatnonzero)
