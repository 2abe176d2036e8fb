"""Interval arrays behave as arrays do: attributes, indices, views, in-place operators, comparisons."""

import numpy as np
import pytest

from anyformer.intervals import IntervalArray, IntervalError
from anyformer.intervals.arrays import Tristate

LOW = np.arange(24.0).reshape(2, 3, 4)


@pytest.fixture
def x():
    return IntervalArray(LOW, LOW + 0.5)


def test_attributes(x):
    assert (x.shape, x.ndim, x.size, len(x), x.dtype) == ((2, 3, 4), 3, 24, 2, np.dtype(float))
    assert x.T.shape == (4, 3, 2)
    assert [row.shape for row in x] == [(3, 4), (3, 4)]
    assert not hasattr(x, "tobytes")
    assert repr(x[0, 0, :2]) == "IntervalArray(low=[0.0, 1.0], high=[0.5, 1.5])"


def test_the_ends_are_copies():
    low = LOW.copy()
    x = IntervalArray(low, low)
    x[0] = 7.0
    assert np.array_equal(low, LOW)


def test_operators_take_plain_operands_on_both_sides(x):
    for plain in (2, 2.0, np.float64(2), np.int32(2), np.full(4, 2.0), [2, 2, 2, 2], True, np.bool_(True)):
        number = np.asarray(plain, dtype=float)
        for result, exact in [
            (x + plain, LOW + number),
            (plain + x, LOW + number),
            (x - plain, LOW - number),
            (x * plain, LOW * number),
            (plain * x, LOW * number),
            (x / plain, LOW / number),
            (x**plain, LOW**number),
        ]:
            assert isinstance(result, IntervalArray)
            assert (result.low <= exact).all()
            assert (exact <= result.high).all()
        assert ((plain - x).high >= number - LOW).all()
        assert ((plain / (x + 1)).high >= number / (LOW + 1)).all()
        assert ((plain**x).low <= number**LOW).all()


def test_huge_integers_are_enclosed():
    one = IntervalArray([1.0], [1.0])
    for huge in (2**60 + 1, 10**30 + 1, np.array([2**60 + 1])):
        result = one * huge
        assert int(result.low[0]) < np.ravel(huge)[0] < int(result.high[0])


def test_views_are_shared_as_in_numpy(x):
    row = x[0]
    row += 100.0
    assert x.low[0, 0, 0] <= 100.0 <= x.high[0, 0, 0]
    alias = x
    alias *= 2
    assert alias is x
    x[..., 1:] = x[..., :-1].copy()
    x[1, [0, 2]] = IntervalArray(np.zeros(4), np.ones(4))
    x[LOW > 21] = -1
    assert x.low[1, 2].tolist() == [0.0, 0.0, -1.0, -1.0]
    assert x.high[1, 2].tolist() == [1.0, 1.0, -1.0, -1.0]


def test_numbers_are_replaced_as_in_numpy(x):
    first = x[0, 0, 0]
    kept = first
    first += 5.0
    assert (kept.low, x.low[0, 0, 0]) == (0.0, 0.0)
    assert first.high >= 5.5


@pytest.mark.parametrize("operator", ["+=", "-=", "*=", "/=", "**=", "@="])
def test_in_place_operators(operator):
    names = {"x": IntervalArray(np.eye(3), 2 * np.eye(3)), "y": 2 * np.eye(3) + 1, "z": np.eye(3) * 1.5}
    before = names["x"]
    exec(f"x {operator} y; z {operator} y" if operator != "@=" else "x @= y; z = z @ y", {}, names)
    assert names["x"] is before
    assert (before.low <= names["z"]).all()
    assert (names["z"] <= before.high).all()


def test_point_results_have_two_ends_in_memory(x):
    same = np.where(x > -1, x, x)
    parts = np.broadcast_arrays(x[:1], LOW)
    zeros = np.zeros_like(x)
    zeros[0] = x[0]
    for array in (same, zeros, +x, np.clip(x, None, None), parts[0]):
        assert not np.may_share_memory(array.low, array.high)
    assert type(parts[1]) is np.ndarray


def test_unfilled_entries_are_unknown(x):
    empty = np.empty_like(x)
    assert np.isinf(empty.low).all()
    assert np.isinf(empty.high).all()


def test_decided_comparisons(x):
    for outcome, expected in [(x > -1, True), (x < -1, False), (x >= -1, True), (x <= -1, False), (x == -1, False)]:
        assert isinstance(outcome, np.ndarray)
        assert (outcome == expected).all()
    assert (x != -1).all()
    assert (IntervalArray(LOW, LOW) == LOW).all()
    assert np.array_equal(x[x > -1].low, LOW.ravel())


def test_undecided_comparisons(x):
    outcome = x > 0.25
    assert isinstance(outcome, Tristate)
    assert repr(outcome[0, 0, :1]) == "Tristate(low=[False], high=[True])"
    assert outcome[0, 1].all()
    assert isinstance(outcome.all(), Tristate)
    assert outcome.any()
    assert (outcome | (x < 100)).all()
    assert not (outcome & False).any()
    assert isinstance(outcome ^ True, Tristate)
    assert isinstance(~outcome, Tristate)
    assert outcome.astype(float).high.max() == 1.0
    assert isinstance(outcome.astype(bool), Tristate)
    assert (outcome.reshape(4, 6).shape, outcome.T.shape) == ((4, 6), (4, 3, 2))


def test_conditions_do_not_change(x):
    outcome = x > 0.25
    for change in ("outcome |= True", "outcome &= LOW > 3", "outcome ^= outcome", "outcome[0] = True"):
        with pytest.raises(IntervalError, match="Write c = c & d instead of c &= d"):
            exec(change, {}, {"outcome": outcome, "LOW": LOW})
    number = outcome[0, 0, 0]
    kept = number
    number |= True
    assert number
    assert not kept.low


def test_conditions_add_up_as_numpy_adds_booleans(x):
    outcome = x > 0.25
    assert isinstance(outcome + outcome, Tristate)
    assert isinstance(outcome * (x > -1), Tristate)
    assert (np.maximum(outcome, True)).all()
    assert ((outcome + 1.0).low <= 1 + (LOW > 0.25)).all()
    assert ((outcome + 1.0).high >= 1 + (LOW + 0.5 > 0.25)).all()
    assert (outcome / True).high.max() <= 1 + 2.0**-51


def test_infinite_ends():
    everything = IntervalArray([-np.inf, 0.0], [np.inf, np.inf])
    zero = IntervalArray([0.0, 0.0], [0.0, 0.0])
    for result in (everything - everything, everything + everything, everything * everything, everything / everything):
        assert result.low[0] == -np.inf
        assert result.high[0] == np.inf
    assert (everything * zero).high.tolist() == [np.inf, np.inf]  # 0·∞ is no number
    assert (np.exp(everything).low >= 0).all()
    assert np.sin(everything).high.tolist() == [np.inf, np.inf]
    assert np.exp(IntervalArray([-np.inf], [-np.inf])).high[0] < 1e-300


def test_overflow_keeps_the_exact_value_inside():
    result = IntervalArray([1e200], [1e200]) * 1e200
    assert (np.isfinite(result.low[0]), result.high[0]) == (True, np.inf)
    assert np.isfinite(np.exp(IntervalArray([1000.0], [1000.0])).low[0])
    assert (1 / result).low[0] == 0.0


def test_division_by_what_may_be_zero():
    result = 1 / IntervalArray([-1.0, 0.0, 1.0], [1.0, 1.0, 2.0])
    assert result.low.tolist()[:2] == [-np.inf, -np.inf]
    assert result.high.tolist()[:2] == [np.inf, np.inf]
    assert 0.4 < result.low[2] < result.high[2] < 1.1


def test_zero_stays_zero():
    zero, x = IntervalArray([0.0], [0.0]), IntervalArray([-1.0], [1.0])
    for result in (zero * x, zero + zero, np.sqrt(zero), np.tanh(zero), np.square(zero), zero.sum(), zero / 3):
        assert (result.low, result.high) == (0.0, 0.0)
    assert np.square(x).low[0] == 0.0
    assert np.sqrt(np.square(x) @ np.ones(1)).low == 0.0
    assert (x**2).low[0] == 0.0
    assert (x**4).low[0] == 0.0


def test_logarithms_at_the_edge_of_their_domain():
    result = np.log(IntervalArray([0.0, -1.0], [1.0, 1.0]))
    assert result.low.tolist() == [-np.inf, -np.inf]
    assert (result.high >= 0).all()
    assert result.high[1] == np.inf
    assert np.log1p(IntervalArray([-2.0], [0.0])).low[0] == -np.inf


def test_products_that_overflow_on_the_way():
    result = np.prod(IntervalArray([1e200, 1e200, 1e-200], [1e200, 1e200, 1e-200]))
    assert (result.low, result.high) == (-np.inf, np.inf)


def test_masked_scores():
    scores = np.where(np.array([True, False]), IntervalArray([1.0, 1.0], [2.0, 2.0]), -np.inf)
    weights = np.exp(scores - scores.max())
    assert weights.high[1] < 1e-300
