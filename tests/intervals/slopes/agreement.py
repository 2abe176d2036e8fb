"""Whether mean value forms agree with the enclosures of single points: the exact value lies in both."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from anyformer.intervals import MeanValueForms, enclose, enclose_slopes
from tests.intervals.samples import members

ULP = 2.0**-52


def disagreement(
    function: Callable[[Any], Any], low: np.ndarray, high: np.ndarray, rng: np.random.Generator
) -> str | None:
    """A point of a box at which the form allows no value that the point's own enclosure allows; None if none is found.

    Points that differ from the centre in one entry alone test the slope of that input: they are finite differences.
    """
    forms = enclose_slopes(function, low, high)
    plain = enclose(function, low, high)
    if not (np.array_equal(forms.values.low, plain.low) and np.array_equal(forms.values.high, plain.high)):
        return "the values are not those that are found without slopes"
    for x in _points(forms.centres, low, high, rng):
        point = enclose(function, x, x)
        form_low, form_high = allowed(forms, x)
        wrong = ~((form_low <= point.high) & (point.low <= form_high))
        if wrong.any():
            at = tuple(int(index) for index in np.argwhere(wrong)[0])
            return (
                f"at {x[at[0]].tolist()} in the box from {low[at[0]].tolist()} to {high[at[0]].tolist()}, entry {at}:"
                f" [{form_low[at]!r}, {form_high[at]!r}] and [{point.low[at]!r}, {point.high[at]!r}]"
            )
    return None


def allowed(forms: MeanValueForms, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the forms allow at x. Steps, products and sums are rounded by less than an ulp of the sum of all sizes."""
    inputs = x[0].size
    step = (x - forms.centres).reshape(len(x), inputs, 1, 1)
    with np.errstate(all="ignore"):
        first, second = (np.where(step == 0, 0.0, end * step) for end in (forms.slopes.low, forms.slopes.high))
        size = np.maximum(np.abs(first), np.abs(second)).sum(axis=1)
        error = (inputs + 4) * ULP * (size + np.maximum(np.abs(forms.centre.low), np.abs(forms.centre.high)))
        low = forms.centre.low + np.minimum(first, second).sum(axis=1) - error
        high = forms.centre.high + np.maximum(first, second).sum(axis=1) + error
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def known_share(function: Callable[[Any], Any], low: np.ndarray, high: np.ndarray) -> float:
    """The share of boxes on which all slopes are known."""
    slopes = enclose_slopes(function, low, high).slopes
    return float((np.isfinite(slopes.low) & np.isfinite(slopes.high)).all(axis=(1, 2, 3)).mean())


def boxes(
    rng: np.random.Generator, shape: tuple[int, ...], least: float, greatest: float, width: float
) -> tuple[np.ndarray, np.ndarray]:
    """Random boxes, some of them flat along some inputs."""
    low = rng.uniform(least, greatest - width, shape)
    return low, low + width * rng.choice([0.0, 1.0, 1.0, 1.0], shape) * rng.random(shape)


def _points(centres: np.ndarray, low: np.ndarray, high: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    yield from (low, high, centres, members(rng, low, high), members(rng, low, high), members(rng, low, high))
    for entry in np.ndindex(*low.shape[1:]):
        for end in (low, high):
            x = centres.copy()
            x[:, *entry] = end[:, *entry]
            yield x
