"""Tests for enclosures: as far as samples tell, does a function mean the same on intervals and on arrays?

Intervals look like arrays to a function and refuse what they cannot follow, so both runs take the same steps. A
function may still notice the difference, by type(x) or id(x), or depend on the size of the batch. Then its enclosure
says nothing about its values. So values and enclosures are compared here.

Mean value forms claim something of exact values only: at a point x, the enclosure of f on the box {x} and what the form
of a larger box allows at x must have a number in common, since the exact f(x) lies in both.
"""

from collections.abc import Iterator

import numpy as np

from anyformer.arrays import Array, shown
from anyformer.errors import TargetError
from anyformer.intervals import IntervalError, MeanValueForms
from anyformer.targets.checks import samples as sampled
from anyformer.targets.ranges import can_have_slopes, forms_on_boxes, range_on_boxes
from anyformer.targets.sizes import whole_number
from anyformer.targets.target import Target

# Boxes that are run one at a time take a Python loop, so there are fewer of them.
_ONE_BY_ONE = 16
# A piece that `enclose` hands to a function has so many entries; a function must not notice that it is large.
_LARGE = 2**15
_ULP = 2.0**-52
_WIDTHS = (0.0, 2.0**-20, 2.0**-8, 2.0**-3)


def check_enclosures(target: Target, samples: int = 48, seed: int = 0) -> None:
    """Raise TargetError if a value of the target lies outside of its enclosure; silence is evidence, not proof.

    Boxes around random points, the centre and corners are enclosed, from single points to an eighth of the domain, in
    batches of several sizes; the values at points of a box must lie in its enclosure, and agree with its mean value
    form. A function that intervals cannot follow passes: it has no enclosure that could be wrong.

    Args:
        target: the target to test.
        samples: how many random points of the domain are tried.
        seed: of the random points; the same seed gives the same points.

    Example:
        >>> from anyformer.targets.equivariant import softmax
        >>> check_enclosures(softmax(tokens=3))
    """
    rng = np.random.default_rng(seed)
    points = sampled.inside(target, whole_number("samples", samples, least=1), rng)
    if not target.vectorised:
        points = rng.permutation(points)[:_ONE_BY_ONE]
    try:
        for low, high in _boxes(target, points, rng):
            _check(target, low, high, rng)
    except IntervalError:
        return


def _boxes(target: Target, points: Array, rng: np.random.Generator) -> Iterator[tuple[Array, Array]]:
    """Batches of boxes: points and wider ones around them, then one alone, two, three, and a large batch."""
    lows, highs = target.domain.lows(target.width), target.domain.highs(target.width)
    for width in _WIDTHS:
        share = width * rng.random((2, *points.shape)) * (highs - lows)
        yield np.maximum(points - share[0], lows), np.minimum(points + share[1], highs)
    if not target.vectorised:
        return
    for count in (1, 2, 3, _LARGE // points[0].size):
        some = np.resize(rng.permutation(points), (max(count, 1), *points.shape[1:]))
        yield some, some


def _check(target: Target, low: Array, high: Array, rng: np.random.Generator) -> None:
    f_low, f_high = range_on_boxes(target, low, high)
    members = [low] if np.array_equal(low, high) else [low, high, _between(low, high, rng)]
    for x in members:
        values = target(x)
        wrong = ~((f_low <= values) & (values <= f_high))
        if wrong.any():
            at, token, coordinate = (int(index) for index in np.argwhere(wrong)[0])
            spot = (at, token, coordinate)
            raise TargetError(
                f"The target {target.name!r} must mean the same on intervals and on arrays. On the box from"
                f" {shown(low[at])} to {shown(high[at])}, one of {len(low)}, it is enclosed between {f_low[spot]!r} and"
                f" {f_high[spot]!r} at token {token}, coordinate {coordinate}, but at the input {shown(x[at])} it is"
                f" {values[spot]!r} there. Keep it from asking what it was given or how much of it, or declare a"
                " modulus (lipschitz=… / --lipschitz)."
            )
    if can_have_slopes(target):
        _check_forms(target, low, high, members)


def _check_forms(target: Target, low: Array, high: Array, members: list[Array]) -> None:
    """What mean value forms allow must meet the enclosures of single points."""
    forms = forms_on_boxes(target, low, high)
    for x in members:
        f_low, f_high = range_on_boxes(target, x, x)
        form_low, form_high = _allowed(forms, x)
        wrong = ~((form_low <= f_high) & (f_low <= form_high))
        if wrong.any():
            at, token, coordinate = (int(index) for index in np.argwhere(wrong)[0])
            ends = [float(end[at, token, coordinate]) for end in (form_low, form_high, f_low, f_high)]
            raise TargetError(
                f"The target {target.name!r} must mean the same whatever is followed of it. On the box from"
                f" {shown(low[at])} to {shown(high[at])} its slopes allow values between {ends[0]!r} and {ends[1]!r} at"
                f" token {token}, coordinate {coordinate}, of the input {shown(x[at])}, but the value there is between"
                f" {ends[2]!r} and {ends[3]!r}. Keep it from asking what it was given or how often, or declare a"
                " modulus (lipschitz=… / --lipschitz)."
            )


def _allowed(forms: MeanValueForms, x: Array) -> tuple[Array, Array]:
    """The values at points that mean value forms allow; infinite where they say nothing."""
    inputs = x[0].size
    step = (x - forms.centres).reshape(len(x), inputs, 1, 1)
    with np.errstate(all="ignore"):
        ends = [np.where(step == 0, 0.0, slopes * step) for slopes in (forms.slopes.low, forms.slopes.high)]
        # Steps, products and their sum are rounded: each by half an ulp of a number below the sum of the sizes.
        size = np.maximum(np.abs(forms.centre.low), np.abs(forms.centre.high)) + np.maximum(*map(np.abs, ends)).sum(
            axis=1
        )
        error = (inputs + 4) * _ULP * size
        low = forms.centre.low + np.minimum(*ends).sum(axis=1) - error
        high = forms.centre.high + np.maximum(*ends).sum(axis=1) + error
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _between(low: Array, high: Array, rng: np.random.Generator) -> Array:
    share = rng.choice((0.0, 0.5, 1.0), size=low.shape)
    between: Array = np.clip(low * (1 - share) + high * share, low, high)
    return between
