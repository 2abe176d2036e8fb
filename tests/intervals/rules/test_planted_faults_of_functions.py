"""Faults planted in the rules of single functions are found by the tests of those functions."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from anyformer.intervals import supported
from anyformer.intervals.ends import Ends
from anyformer.intervals.rules.arguments import Rule
from anyformer.intervals.rules.elementwise import elementary_of_two, interpolation, remainders
from anyformer.intervals.rules.elementwise import sinc as sinc_rule
from anyformer.intervals.rules.elementwise import special as special_rules
from anyformer.intervals.rules.reductions import averages, orders, quantiles, sums
from tests.intervals.rules import test_against_arb as against_arb
from tests.intervals.rules import test_exact_functions as exact
from tests.intervals.rules import test_interpolation as of_interpolation
from tests.intervals.rules import test_special_values as special_values
from tests.intervals.samples import assert_holds_members

LOW = np.random.default_rng(50).normal(size=(40, 7))
# NumPy sorts what it partitions if there are few entries.
MANY = np.random.default_rng(51).normal(size=2000)


def on_members(function):
    return lambda: assert_holds_members(function, LOW, LOW + 0.25)


def exactly(name):
    return lambda: exact.test_exact_values_lie_inside(name)


def of_two(function):
    return lambda: against_arb.test_functions_of_two_arguments(function)


def angle_without_cut(y, x):
    corners = [np.arctan2(a, b) for a in (y.low, y.high) for b in (x.low, x.high)]
    return Ends(np.min(corners, axis=0) - 1e-9, np.max(corners, axis=0) + 1e-9)


def without_infinities(result, entries, reason):
    return result


def replaced(place, **faults):
    return lambda monkeypatch: [monkeypatch.setattr(place, name, fault) for name, fault in faults.items()]


def in_table(table, key, fault):
    return lambda monkeypatch: monkeypatch.setitem(table, key, fault)


FAULTS = {
    "quantiles without rounding": (
        replaced(quantiles, LERP_ERROR=0.0, DRIFT=0.0, SMALLEST=0.0),
        exactly("quantile"),
    ),
    "quantiles at one entry": (
        replaced(quantiles, PICKING=("linear",)),
        on_members(lambda x: np.quantile(x, 0.3, axis=1)),
    ),
    "quantiles of infinities": (
        replaced(quantiles, unknown=without_infinities),
        lambda: special_values.test_functions_of_rows("quantile at an entry"),
    ),
    "averages within less than the entries": (
        replaced(averages, ULP=-0.01),
        on_members(lambda x: np.average(x, axis=1, weights=np.exp(30 * x))),
    ),
    "partitions that are sorted": (
        in_table(supported.RULES, np.partition, Rule(lambda a, kth: orders.ordered(a), ("kth",))),
        lambda: assert_holds_members(lambda x: np.partition(x, 900), MANY, MANY + 0.25),
    ),
    "remainders on an undecided piece": (
        in_table(supported.ELEMENTWISE, np.remainder, lambda a, b: Ends(a.low % b.low, a.high % b.low)),
        on_members(lambda x: x % 0.1),
    ),
    "remainders without rounding": (
        replaced(remainders, outward=Ends),
        lambda: against_arb.test_quotients_and_remainders(np.remainder),
    ),
    "floors at one end": (
        replaced(remainders, _extremes=lambda operation, a, b: (operation(a.low, b.low),) * 2),
        exactly("floor division"),
    ),
    "divisors that may be 0": (
        replaced(remainders, unknown=without_infinities),
        lambda: special_values.test_functions_of_two_arguments(np.remainder),
    ),
    "points between the ends overlooked": (
        replaced(interpolation, _greatest_between=lambda values, first, last: np.full(first.shape, -np.inf)),
        on_members(lambda x: np.interp(x, np.linspace(-2, 2, 9), np.arange(9) % 2)),
    ),
    "interpolation without rounding": (
        replaced(interpolation, _error=lambda points, values: 0.0),
        exactly("interp"),
    ),
    "interpolation between unknown values, as if known": (
        replaced(interpolation, _error=lambda points, values: 16 * 2.0**-52 * np.abs(values.low).max()),
        of_interpolation.test_large_values_among_small_ones,
    ),
    "turning points overlooked": (
        replaced(sinc_rule, _turning=lambda k: np.full(np.shape(k), np.inf)),
        lambda: against_arb.test_functions_defined_everywhere(np.sinc),
    ),
    "sinc without rounding": (
        replaced(sinc_rule, ERROR=0.0),
        lambda: against_arb.test_functions_defined_everywhere(np.sinc),
    ),
    "an angle without its cut": (
        in_table(supported.ELEMENTWISE, np.arctan2, angle_without_cut),
        of_two(np.arctan2),
    ),
    "signs of zeros": (
        in_table(supported.ELEMENTWISE, np.copysign, lambda a, b: Ends(np.copysign(a.low, b.low), np.abs(a.high))),
        of_two(np.copysign),
    ),
    "hypot at the ends": (
        in_table(supported.ELEMENTWISE, np.hypot, lambda a, b: Ends(np.hypot(a.low, b.low), np.hypot(a.high, b.high))),
        of_two(np.hypot),
    ),
    "logarithms of sums without rounding": (
        replaced(elementary_of_two, SUM_ERROR=0.0, ULP=0.0),
        of_two(np.logaddexp),
    ),
    "undecided pieces that are decided": (
        in_table(supported.DIRECT, np.piecewise, lambda x, conditions, functions: functions[0](x)),
        on_members(lambda x: np.piecewise(x, [LOW > 0], [np.square, np.negative])),
    ),
    "expit without rounding": (
        in_table(supported.SPECIAL, "expit", replace(special_rules.expit, relative=0.0, absolute=0.0)),
        lambda: against_arb.test_functions_defined_everywhere(special.expit),
    ),
    "expit that is 0": (
        in_table(supported.SPECIAL, "expit", replace(special_rules.expit, absolute=special_rules.MARGIN_BELOW)),
        lambda: against_arb.test_functions_defined_everywhere(special.expit),
    ),
    "erf without rounding": (
        replaced(special_rules, _ERF=replace(special_rules._ERF, relative=0.0, absolute=0.0)),
        lambda: against_arb.test_functions_defined_everywhere(special.erf),
    ),
    "erfc as exact as erf": (
        in_table(supported.SPECIAL, "erfc", replace(special_rules.erfc, relative=special_rules.MARGIN)),
        lambda: against_arb.test_functions_defined_everywhere(special.erfc),
    ),
    "beginnings that are left out": (
        replaced(sums, _extended=lambda a, axis, prepend, append: a),
        on_members(lambda x: np.diff(x, prepend=1.0)),
    ),
    "rounding at one end": (
        in_table(
            supported.RULES, np.round, Rule(lambda a, decimals: Ends(*[np.round(a.low, decimals)] * 2), ("decimals",))
        ),
        exactly("round"),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_found(monkeypatch, name):
    plant, check = FAULTS[name]
    check()
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        check()
