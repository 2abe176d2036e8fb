"""np.interp, np.polyval and np.clip: functions of one number that are sums of few steps."""

from typing import Any

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.programs.builder import Builder
from anyformer.programs.constants import applied
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.tracing.pairs.pair_forms import to_power
from anyformer.programs.tracing.rules.elementwise import apply_each, arithmetic
from anyformer.programs.tracing.runs import Run
from anyformer.programs.tracing.traced import Traced


def interpolated(run: Run, x: Any, xp: Any, fp: Any) -> Traced:
    """A polyline: its first value plus the change of slope at every knot times ReLU(x − knot)."""
    if isinstance(xp, Traced) or isinstance(fp, Traced):
        raise NotTraceable("np.interp is traced with plain knots and plain values; got traced ones.")
    knots, values = np.asarray(xp, dtype=np.float64), np.asarray(fp, dtype=np.float64)
    if knots.ndim != 1 or knots.shape != values.shape or not (np.diff(knots) > 0).all():
        raise NotTraceable("np.interp is traced with knots in ascending order, one value each.")
    slopes = [_slope(knots, values, at) for at in range(len(knots) - 1)]
    slopes = [Number(0.0), *slopes, Number(0.0)]

    def polyline(builder: Builder, u: Form) -> Form:
        total = Form.of(float(values[0]))
        for at, knot in enumerate(knots.tolist()):
            total = total + builder.relu(u - Form.of(knot)).times(slopes[at + 1] + -slopes[at])
        return total

    return apply_each(run, "np.interp", (x,), polyline, None)


def _slope(knots: Any, values: Any, at: int) -> Number:
    rise = Number(float(values[at + 1])) + -Number(float(values[at]))
    length = Number(float(knots[at + 1])) + -Number(float(knots[at]))
    return rise * applied("reciprocal", length, None)


def polynomial(run: Run, p: Any, x: Any) -> Traced:
    """np.polyval, power by power."""
    coefficients = np.asarray(p, dtype=np.float64)[::-1]

    def value(builder: Builder, u: Form) -> Form:
        total = Form.of(float(coefficients[0]))
        for power, coefficient in enumerate(coefficients.tolist()[1:], start=1):
            if coefficient:
                total = total + to_power(builder, u, float(power)).scaled(coefficient)
        return total

    return apply_each(run, "np.polyval", (x,), value, None)


def clipped(run: Run, a: Any, a_min: Any = None, a_max: Any = None, **named: Any) -> Traced:
    """np.clip: the larger of a and the lower bound, then the smaller of this and the upper one."""
    low, high = named.pop("min", a_min), named.pop("max", a_max)
    if named:
        raise NotTraceable(f"np.clip does not take {', '.join(named)} when it is traced.")
    result = a
    if low is not None and _is_bound(low, -np.inf):
        result = arithmetic(run, np.maximum, result, low)
    if high is not None and _is_bound(high, np.inf):
        result = arithmetic(run, np.minimum, result, high)
    assert isinstance(result, Traced)
    return result


def _is_bound(value: Any, nothing: float) -> bool:
    return isinstance(value, Traced) or not (np.asarray(value) == nothing).all()
