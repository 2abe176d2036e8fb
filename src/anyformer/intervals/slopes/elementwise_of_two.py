"""Slopes of functions of two numbers u and v, whose values at the centre are called u₀ and v₀."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from anyformer.intervals.conditions import where
from anyformer.intervals.ends import Ends, Plain
from anyformer.intervals.rules.elementwise.arithmetic import add, divide, negative, subtract
from anyformer.intervals.rules.elementwise.elementary import INCREASING
from anyformer.intervals.slopes.elementwise import powered, stepping
from anyformer.intervals.slopes.forms import Form, Slopes, added, dense, each, hull, scaled


def plus(y: Form, u: Form, v: Form) -> Slopes:
    """(u + v) − (u₀ + v₀) = (u − u₀) + (v − v₀)."""
    return added(u.slopes, v.slopes)


def minus(y: Form, u: Form, v: Form) -> Slopes:
    """Likewise, with v turned around."""
    return added(u.slopes, each(negative, v.slopes))


def times(y: Form, u: Form, v: Form) -> Slopes:
    """uv − u₀v₀ = (v + v₀)/2·(u − u₀) + (u + u₀)/2·(v − v₀)."""
    if v.is_constant:
        return scaled(v.centre, u.slopes)
    if u.is_constant:
        return scaled(u.centre, v.slopes)
    return added(scaled(v.mean, u.slopes), scaled(u.mean, v.slopes))


def over(y: Form, u: Form, v: Form) -> Slopes:
    """With y = u/v: y − y₀ = (u − y₀·v)/v = ((u − u₀) − y₀·(v − v₀))/v."""
    numerator = added(u.slopes, scaled(negative(y.centre), v.slopes))
    return each(lambda slope: divide(slope, v.box), numerator)


def greater(y: Form, u: Form, v: Form) -> Slopes:
    """max(u, v) − max(u₀, v₀) lies between u − u₀ and v − v₀: it is t·(u − u₀) + (1 − t)·(v − v₀) with 0 ≤ t ≤ 1.

    Proof: u ≤ u₀ + d and v ≤ v₀ + d give max(u, v) ≤ max(u₀, v₀) + d, and likewise from below. Where one of them is
    never below the other, it is the maximum.
    """
    return _one_of(u, v, np.asarray(u.box.high > v.box.low), np.asarray(u.box.low < v.box.high))


def less(y: Form, u: Form, v: Form) -> Slopes:
    """min(u, v), likewise."""
    return _one_of(u, v, np.asarray(u.box.low < v.box.high), np.asarray(u.box.high > v.box.low))


def _one_of(u: Form, v: Form, may_be_u: Plain, may_be_v: Plain) -> Slopes:
    may_be_u = may_be_u | ~may_be_v  # both are the same number then
    return tuple(
        None if one is None and other is None else hull([dense(one, u.box), dense(other, v.box)], [may_be_u, may_be_v])
        for one, other in zip(u.slopes, v.slopes, strict=True)
    )


def distance(y: Form, u: Form, v: Form) -> Slopes:
    """With y = √(u² + v²): y − y₀ = ((u + u₀)(u − u₀) + (v + v₀)(v − v₀))/(y + y₀)."""
    both = added(scaled(add(u.box, u.centre), u.slopes), scaled(add(v.box, v.centre), v.slopes))
    return each(lambda slope: divide(slope, add(y.box, y.centre)), both)


def log_of_sum(exponential: np.ufunc) -> Callable[[Form, Form, Form], Slopes]:
    """With y = log(eᵘ + eᵛ): by the mean value theorem its slopes are eᵘ⁻ʸ and eᵛ⁻ʸ at some point in between."""

    def slopes(y: Form, u: Form, v: Form) -> Slopes:
        return added(*(scaled(share(exponential, a.box, y.box), a.slopes) for a in (u, v)))

    return slopes


def share(exponential: np.ufunc, part: Ends, whole: Ends) -> Ends:
    """exp(part − whole), which is at most 1: the whole is the logarithm of a sum with this part."""
    shares = INCREASING[exponential](subtract(part, whole))
    return Ends(np.minimum(shares.low, 1.0), np.minimum(shares.high, 1.0))


def chosen(condition: Ends, first: Form, second: Form) -> Slopes:
    """np.where: the branch that is taken on the whole box. Where that is undecided it may jump: nothing is known."""
    undecided = np.asarray(condition.low != condition.high)

    def pick(one: Ends | None, other: Ends | None) -> Ends | None:
        if one is None and other is None and not undecided.any():
            return None
        picked = where(condition, dense(one, first.box), dense(other, second.box))
        return Ends(np.where(undecided, -np.inf, picked.low), np.where(undecided, np.inf, picked.high))

    return tuple(pick(one, other) for one, other in zip(first.slopes, second.slopes, strict=True))


OF_TWO: Final[dict[np.ufunc, Callable[..., Any]]] = {
    np.add: plus,
    np.subtract: minus,
    np.multiply: times,
    np.divide: over,
    np.maximum: greater,
    np.fmax: greater,
    np.minimum: less,
    np.fmin: less,
    np.power: powered,
    np.float_power: powered,
    np.hypot: distance,
    np.logaddexp: log_of_sum(np.exp),
    np.logaddexp2: log_of_sum(np.exp2),
    np.heaviside: stepping,
    np.floor_divide: stepping,
}
