"""Zeros with signs, infinities, the largest and the smallest numbers: what is not said to be unknown holds for them.

A box may have any of these numbers as its ends, and its members are these numbers, too. Where NumPy's value is NaN, the
step must have been recorded as one without a value.
"""

import itertools

import numpy as np
import pytest
from scipy import special

from anyformer.intervals import supported
from anyformer.intervals.arrays import seen
from anyformer.intervals.ends import Ends
from anyformer.intervals.rules.elementwise import sinc as sinc_rule
from anyformer.intervals.runs import Run, running

TINY = [5e-324, 1e-310, 2.0**-1022, 1e-20]
NUMBERS = np.array(
    [-np.inf, -1e308, -2.5, -1.0, -5e-324, -0.0, 0.0, *TINY, 0.5, 1.0, 3.0, 2.0**60, 1e308, 1.7e308, np.inf]
)
BOXES = [(a, b) for a, b in itertools.product(NUMBERS, NUMBERS) if a <= b]

OF_ONE = {
    "sinc": np.sinc,
    "expit": special.expit,
    "log_expit": special.log_expit,
    "erf": special.erf,
    "erfc": special.erfc,
    "round": lambda x: np.round(x, 2),
    "round to thousands": lambda x: np.round(x, -3),
    "polyval": lambda x: np.polyval([1.0, -2.0, 3.0], x),
    "interp": lambda x: np.interp(x, [-1.0, 0.0, 1e300], [3.0, 1e-320, 2.0]),
    "interp, outside": lambda x: np.interp(x, [-1.0, 1.0], [3.0, 2.0], left=-np.inf, right=0.5),
}
OF_TWO = [np.hypot, np.arctan2, np.copysign, np.logaddexp, np.logaddexp2, np.floor_divide, np.remainder, np.fmod]
OF_TWO += [special.xlogy]

OF_ROWS = {
    "average": lambda x: np.average(x, axis=1, weights=[0.5, 2.0, 1.0, 0.25]),
    "average, own weights": lambda x: np.average(x, axis=1, weights=np.abs(x) + 1.0),
    "nanmean": lambda x: np.nanmean(x, axis=1),
    "nanvar": lambda x: np.nanvar(x, axis=1),
    "median": lambda x: np.median(x, axis=1),
    "nanmedian": lambda x: np.nanmedian(x, axis=1),
    "quantile": lambda x: np.quantile(x, 0.3, axis=1),
    "quantile at an entry": lambda x: np.quantile(x, [0.0, 1 / 3, 1.0], axis=1),
    "percentile, midpoint": lambda x: np.percentile(x, 40, axis=1, method="midpoint"),
    "percentile, higher": lambda x: np.percentile(x, 40, axis=1, method="higher"),
    "partition": lambda x: np.partition(x, 2, axis=1),
    "log of a sum": lambda x: np.logaddexp.reduce(x, axis=1),
    "diff": lambda x: np.diff(x, axis=1, prepend=-1.0),
    "inner": lambda x: np.inner(x, np.array([0.5, 0.0, -1.0, 2.0])),
    "convolve": lambda x: np.stack([np.convolve(row, [1.0, -0.5, 2.0]) for row in x]),
    "cumprod": lambda x: x.cumprod(axis=1),
}


def followed(function, *boxes):
    """The ends that a function gives on boxes, and whether each of its steps has a value there."""
    run = Run(None)
    with running(run), np.errstate(all="ignore"):
        result = function(*(seen(Ends(low.copy(), high.copy())) for low, high in boxes))
        return result._ends, run.is_defined


def holds(ends, values):
    return bool(((ends.low <= values) & (values <= ends.high)).all())


def members(low, high):
    return NUMBERS[(low <= NUMBERS) & (high >= NUMBERS)]


def missed_of_one(function):
    for low, high in BOXES:
        ends, is_defined = followed(function, (np.array([low]), np.array([high])))
        assert (ends.low <= ends.high).all()
        with np.errstate(all="ignore"):
            if is_defined and not holds(ends, function(members(low, high))):
                return low, high
    return None


@pytest.mark.parametrize("name", OF_ONE)
def test_functions_of_one_argument(name):
    assert missed_of_one(OF_ONE[name]) is None


@pytest.mark.parametrize("function", OF_TWO, ids=lambda function: function.__name__)
def test_functions_of_two_arguments(function):
    rng = np.random.default_rng(40)
    known = 0
    for at, other in rng.integers(0, len(BOXES), (4000, 2)):
        (a, b), (c, d) = BOXES[at], BOXES[other]
        ends, is_defined = followed(function, (np.array([a]), np.array([b])), (np.array([c]), np.array([d])))
        assert (ends.low <= ends.high).all()
        known += is_defined
        with np.errstate(all="ignore"):
            values = function(members(a, b)[:, np.newaxis], members(c, d))
        assert not is_defined or holds(ends, values), (a, b, c, d)
    assert known > 200


@pytest.mark.parametrize("name", OF_ROWS)
def test_functions_of_rows(name):
    rng = np.random.default_rng(41)
    known = 0
    for _ in range(300):
        # Rows without infinities at first, since one of them makes most results unknown.
        numbers = NUMBERS[1:-1] if rng.random() < 0.7 else NUMBERS
        ends = np.sort(rng.choice(numbers, (2, 1, 4)), axis=0)
        low, high = ends if rng.random() < 0.7 else (ends[0], ends[0])
        result, is_defined = followed(OF_ROWS[name], (low, high))
        assert (result.low <= result.high).all()
        known += is_defined
        for _ in range(10):
            x = np.array([[rng.choice(members(a, b)) for a, b in zip(low[0], high[0], strict=True)]])
            with np.errstate(all="ignore"):
                values = OF_ROWS[name](x)
            assert not is_defined or holds(result, values), (low, high, x)
    assert known > 20


def test_this_test_can_fail(monkeypatch):
    monkeypatch.setitem(supported.SPECIAL, "expit", lambda a: Ends(special.expit(a.low), special.expit(a.low)))
    assert missed_of_one(special.expit) is not None
    monkeypatch.setattr(sinc_rule, "unknown", lambda result, entries, reason: result)
    assert missed_of_one(np.sinc) is not None
