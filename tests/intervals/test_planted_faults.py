"""Enclosures with a fault planted in them are found out, each by the machinery that the other tests trust."""

import numpy as np
import pytest

from anyformer.intervals import IntervalArray, conditions, supported
from anyformer.intervals.ends import Ends
from anyformer.intervals.rules import rounding
from anyformer.intervals.rules.elementwise import arithmetic, periodic
from anyformer.intervals.rules.linear_algebra import contractions
from anyformer.intervals.rules.reductions import sums
from tests.intervals.exact import compare_function
from tests.intervals.rules import test_against_arb as against_arb
from tests.intervals.samples import assert_holds_members

COUNT = 4000


def misses(function, exact, **how):
    """How many are found; NumPy's own result outside of the enclosure counts as one."""
    try:
        return len(compare_function(function, exact, COUNT, seed=9, **how).misses)
    except AssertionError:
        return 1


@pytest.mark.parametrize("ulps", [0, -1])
def test_elementary_functions_without_padding(monkeypatch, ulps):
    assert misses(np.exp, lambda x: x.exp()) == 0
    monkeypatch.setattr(rounding, "ELEMENTARY_ULPS", ulps)
    assert misses(np.exp, lambda x: x.exp()) > 0
    assert misses(np.sin, lambda x: x.sin()) > 0


def test_arithmetic_rounded_to_nearest(monkeypatch):
    monkeypatch.setattr(arithmetic, "outward", Ends)
    monkeypatch.setattr(arithmetic, "outward_finite", Ends)
    assert misses(np.add, lambda x, y: x + y, arguments=2) > 0
    assert misses(np.divide, lambda x, y: x / y, arguments=2) > 0


def test_underflow_overlooked(monkeypatch):
    monkeypatch.setattr(arithmetic, "SMALLEST", 0.0)
    tiny = IntervalArray([1e-200], [1e-200])
    assert (tiny * tiny).high[0] == 0


def test_turning_points_overlooked(monkeypatch):
    monkeypatch.setattr(periodic, "_reaches", lambda a, shift, period: np.zeros(a.low.shape, dtype=bool))
    assert misses(np.cos, lambda x: x.cos()) > 0


def test_squares_that_forget_the_turn_at_zero(monkeypatch):
    wrong = lambda a: Ends(*np.sort([a.low**2, a.high**2], axis=0))  # noqa: E731
    monkeypatch.setitem(supported.ELEMENTWISE, np.square, wrong)
    assert misses(np.square, lambda x: x * x) > 0


def test_sums_without_padding(monkeypatch):
    monkeypatch.setattr(sums, "ULP", 0.0)
    with pytest.raises(AssertionError):
        against_arb.test_sums(17)


def test_products_without_padding(monkeypatch):
    monkeypatch.setattr(contractions, "ULP", 0.0)
    with pytest.raises(AssertionError):
        against_arb.test_sums_of_products(5, unknown_weights=False)


def test_undecided_conditions_that_take_one_branch(monkeypatch):
    def first_branch(condition, *branches):
        return conditions.branches_of(*branches)[0]

    low = np.linspace(-1, 1, 24).reshape(2, 3, 4)
    assert_holds_members(lambda x: np.where(x > 0, x, -x), low, low + 0.5)
    monkeypatch.setattr(conditions, "where", first_branch)
    with pytest.raises(AssertionError):
        assert_holds_members(lambda x: np.where(x > 0, x, -x), low, low + 0.5)
