"""Which supported functions have slopes, each with its rule. What is in `supported` but not here has none.

Rules of ufuncs and of functions of one array take the form of the value, without slopes, then those of the operands.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from anyformer.errors import NoSlopes
from anyformer.intervals.conditions import where
from anyformer.intervals.ends import Ends
from anyformer.intervals.rules.elementwise import arithmetic
from anyformer.intervals.rules.linear_algebra import contractions, convolutions
from anyformer.intervals.rules.movement import moves
from anyformer.intervals.rules.reductions import sums
from anyformer.intervals.slopes import elementwise, reductions
from anyformer.intervals.slopes.elementwise_of_two import OF_TWO, chosen, greater, less
from anyformer.intervals.slopes.forms import Form, Slopes
from anyformer.intervals.slopes.orders import extreme, ordered, running_maximum, running_minimum
from anyformer.intervals.slopes.reductions import linear

SlopeRule = Callable[..., Slopes]

ELEMENTWISE: Final[dict[np.ufunc, SlopeRule]] = {**elementwise.OF_ONE, **OF_TWO}

# Ufuncs of scipy.special, by name.
SPECIAL: Final = elementwise.SPECIAL

REDUCTIONS: Final[dict[np.ufunc, SlopeRule]] = {
    np.add: linear(sums.total),
    np.maximum: extreme,
    np.minimum: extreme,
    np.logaddexp: reductions.log_of_sum_of_powers(np.exp),
    np.logaddexp2: reductions.log_of_sum_of_powers(np.exp2),
}

ACCUMULATIONS: Final[dict[np.ufunc, SlopeRule]] = {
    np.add: linear(sums.running_total),
    np.maximum: running_maximum,
    np.minimum: running_minimum,
}


def clipped(y: Form, a: Form, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Slopes:
    """np.clip: a maximum, then a minimum. Bounds come as forms."""
    lower, upper = a_min if min is None else min, a_max if max is None else max
    if lower is not None:
        a = reductions.step(arithmetic.maximum, greater, a, lower)
    return a.slopes if upper is None else less(y, a, upper)


def selected(conditions: list[Ends], choices: list[Form], default: Form) -> Form:
    """np.where and np.select: the first choice whose condition holds."""
    if len(conditions) != len(choices):
        raise NoSlopes
    result = default
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        slopes = chosen(condition, choice, result)
        box, centre = where(condition, choice.box, result.box), where(condition, choice.centre, result.centre)
        result = Form(box, centre, slopes)
    return result


OF_ARRAYS: Final[dict[Callable[..., Any], SlopeRule]] = {
    np.sum: linear(sums.total),
    np.nansum: linear(sums.total),
    np.mean: linear(sums.mean),
    np.nanmean: linear(sums.mean),
    np.cumsum: linear(sums.running_total),
    np.nancumsum: linear(sums.running_total),
    np.diff: reductions.differences,
    np.average: reductions.average,
    np.var: reductions.variance,
    np.nanvar: reductions.variance,
    np.std: reductions.standard_deviation,
    np.nanstd: reductions.standard_deviation,
    np.linalg.norm: reductions.norm,
    **dict.fromkeys((np.max, np.amax, np.nanmax, np.min, np.amin, np.nanmin), extreme),
    np.sort: ordered,
    np.clip: clipped,
}

# Products that are linear in each of two arrays; einsum of one array is linear in it.
BILINEAR: Final[dict[Callable[..., Any], Callable[..., Ends]]] = {
    np.dot: contractions.dot,
    np.tensordot: contractions.tensordot,
    np.einsum: contractions.einsum,
    np.inner: convolutions.inner,
    np.outer: convolutions.outer,
    np.convolve: convolutions.convolve,
}
CHOICES: Final = (np.where, np.select)
FILLED: Final = (np.zeros_like, np.ones_like, np.full_like, np.empty_like)
MOVES: Final = (*moves(), np.pad)
# Of these, the ones that join arrays; constants among them have no slope.
JOINS: Final = tuple(
    getattr(np, name)
    for name in ("stack", "concatenate", "concat", "vstack", "hstack", "dstack", "column_stack", "append")
    if hasattr(np, name)
)
