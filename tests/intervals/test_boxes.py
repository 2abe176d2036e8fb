"""`enclose`: the public function, its pieces, and errors that show the box at fault."""

import re

import numpy as np
import pytest

import anyformer.intervals
from anyformer.intervals import IntervalArray, IntervalError, enclose, following, supported
from anyformer.intervals.ends import Ends

LOW = np.random.default_rng(0).uniform(0.5, 1.0, (7, 2, 3))
HIGH = LOW + 0.25


def test_public_names_are_documented():
    for name in anyformer.intervals.__all__:
        assert getattr(anyformer.intervals, name).__doc__


def test_pieces_make_no_difference(monkeypatch):
    def function(x):
        return np.exp(x) * x.mean(axis=1, keepdims=True)

    whole = enclose(function, LOW, HIGH)
    monkeypatch.setattr(following, "ENTRIES_AT_ONCE", 13)
    parts = enclose(function, LOW, HIGH)
    assert np.array_equal(whole.low, parts.low)
    assert np.array_equal(whole.high, parts.high)


def test_no_boxes():
    assert enclose(np.exp, np.zeros((0, 2, 3)), np.zeros((0, 2, 3))).shape == (0, 2, 3)


def test_plain_results_are_points():
    result = enclose(lambda x: np.arange(6).reshape(2, 3) * np.ones(x.shape), LOW, HIGH)
    assert isinstance(result, IntervalArray)
    assert np.array_equal(result.low, result.high)


def test_conditions_become_numbers():
    result = enclose(lambda x: x > 0.8, LOW, HIGH)
    assert set(np.unique(result.low)) <= {0.0, 1.0}
    assert (result.low <= (HIGH > 0.8)).all()


def test_the_argument_is_a_copy():
    def destructive(x):
        x[...] = 0.0
        return x

    low, high = LOW.copy(), HIGH.copy()
    assert (enclose(destructive, low, high).low == 0.0).all()
    assert np.array_equal(low, LOW)
    assert np.array_equal(high, HIGH)


def test_plain_overflow_gives_no_warning():
    assert np.isinf(enclose(lambda x: x + np.exp(np.float64(1000)), LOW, HIGH).high).all()


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (np.zeros((2, 3)), np.ones((2, 3)), "Boxes have the shape (batch, tokens, width); got (2, 3)."),
        (np.zeros((1, 2, 3)), np.ones((1, 3, 2)), "one shape; got (1, 2, 3) and (1, 3, 2)"),
        (np.ones((1, 2, 3)), np.zeros((1, 2, 3)), "Every low end must be at most its high end"),
        (np.full((1, 2, 3), np.nan), np.zeros((1, 2, 3)), "neither NaN"),
    ],
)
def test_boxes_that_are_none(low, high, message):
    with pytest.raises(IntervalError, match=re.escape(message)):
        enclose(np.exp, low, high)


def test_the_first_box_that_is_unknown_is_shown():
    low, high = LOW.copy(), HIGH.copy()
    low[4, 1, 2] = low[6, 0, 0] = -0.125
    result = enclose(np.sqrt, low, high)
    assert np.isinf(result.low[[4, 6]]).all()
    assert np.isinf(result.high[[4, 6]]).all()
    assert np.isfinite(np.delete(result.low, [4, 6], axis=0)).all()
    assert result.why_unknown.startswith(f"On the box from {low[4].tolist()} to {high[4].tolist()}: ")
    assert "may leave its domain on this box: np.sqrt needs arguments that are at least 0; got" in result.why_unknown
    assert f"got the interval [-0.125, {float(high[4, 1, 2])!r}]" in result.why_unknown
    assert enclose(np.exp, low, high).why_unknown is None


def test_the_first_box_at_fault_is_shown():
    low, high = LOW.copy(), HIGH.copy()
    low[4, 1, 2] = low[6, 0, 0] = -0.125
    with pytest.raises(IntervalError) as caught:
        enclose(lambda x: x if (x > 0).all() else -x, low, high)
    assert str(caught.value).startswith(f"On the box from {low[4].tolist()} to {high[4].tolist()}: ")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x[:, 0], "must return the shape of its argument, (1, 2, 3); got (1, 3)."),
        (lambda x: x.sum(), "must return the shape of its argument"),
        (lambda x: np.full(x.shape, np.nan), "Intervals do not mix with NaN"),
        (lambda x: [x, x], "An interval cannot become a plain array"),
        (lambda x: "text", "got str"),
        (lambda x: None, "got NoneType"),
        (lambda x: x + 1j, "got complex"),
        (lambda x: {}["no"], "On intervals it raised KeyError: 'no'."),
        (lambda x: x if x > 0.8 else -x, "The condition is undecided on this box"),
        (np.fft.fft, "np.fft.fft is not supported on intervals."),
    ],
)
def test_functions_that_cannot_be_followed(function, message):
    with pytest.raises(IntervalError, match=re.escape(message)) as caught:
        enclose(function, LOW, HIGH)
    assert str(caught.value).startswith("On the box from [[")


def test_batches_that_are_mixed():
    def only_together(x):
        return x.imag if len(x) == 7 else x

    with pytest.raises(IntervalError, match="The function fails on 7 boxes together, though on neither half"):
        enclose(only_together, LOW, HIGH)


def test_a_broken_enclosure_is_reported(monkeypatch):
    def broken(a):
        return Ends(a.low * np.nan, a.high)

    monkeypatch.setitem(supported.ELEMENTWISE, np.exp, broken)
    with pytest.raises(IntervalError, match="Report this as a bug"):
        enclose(np.exp, LOW, HIGH)
