"""Jets enclose functions and their derivatives; curves know their range, how steep they are, and their leaps."""

from collections.abc import Callable

import numpy as np
import pytest

from anyformer.errors import LeavesDomain
from anyformer.programs import jets
from anyformer.programs.curves import Curve
from anyformer.programs.functions import FUNCTIONS
from anyformer.programs.jets import Jet
from anyformer.programs.numbers import Number
from anyformer.programs.values import FUNCTIONS as VALUES

PARAMETERS = {"power": (3.0, 4.0, 2.5, 0.5, -1.5, 0.1, 7.0)}
# Differences of float64 values are off by about √ε relatively; enclosures that are wrong are wrong by far more.
COARSE = 1e-5


def _mp(name: str, parameter: float | None) -> Callable[[object], object]:
    import mpmath

    others = {"reciprocal": lambda u: 1 / u, "square": lambda u: u * u, "sigmoid": lambda u: 1 / (1 + mpmath.exp(-u))}
    others |= {"arctan": mpmath.atan, "arcsinh": mpmath.asinh, "power": lambda u: u**parameter}
    return others.get(name) or getattr(mpmath, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jets_hold_the_function_and_two_derivatives(name: str) -> None:
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(len(name))
    for parameter in PARAMETERS.get(name, (None,)):
        function = _mp(name, parameter)
        low = rng.uniform(0.2, 3.0, 12)
        if FUNCTIONS[name].least == -np.inf and name not in ("reciprocal", "power"):
            low = rng.uniform(-3.0, 3.0, 12)
        high = low + 10.0 ** rng.uniform(-9, 0, 12)
        value, slope, bend = FUNCTIONS[name].jet(jets.IntervalArray(low, high), parameter)
        with mpmath.workdps(50):
            for k in range(12):
                for u in (low[k], high[k], low[k] + 0.3 * (high[k] - low[k])):
                    exact = [mpmath.diff(function, mpmath.mpf(float(u)), n) for n in range(3)]
                    for enclosure, number in zip((value, slope, bend), exact, strict=True):
                        # mpmath differentiates by differences, at 50 digits right to far more than 16.
                        slack = mpmath.mpf(10) ** -25 * (1 + abs(number))
                        assert enclosure.low[k] - slack <= number <= enclosure.high[k] + slack


def test_the_chain_rule_agrees_with_differences() -> None:
    at = np.linspace(0.3, 1.7, 9)

    def jet(u: Jet) -> Jet:
        return (u.apply("exp") * u.apply("sin").plus(Number(2.0))).apply("log") - u.times(Number(0.3)).apply("tanh")

    def value(u: np.ndarray) -> np.ndarray:
        return np.log(np.exp(u) * (np.sin(u) + 2)) - np.tanh(0.3 * u)

    made, h = Curve(jet, 0.0, 2.0).at(at, at), 1e-4
    slope = (value(at + h) - value(at - h)) / (2 * h)
    bend = (value(at + h) - 2 * value(at) + value(at - h)) / h**2
    for enclosure, close in ((made.value, value(at)), (made.slope, slope), (made.bend, bend)):
        assert (enclosure.low - COARSE <= close).all()
        assert (close <= enclosure.high + COARSE).all()
        assert (enclosure.high - enclosure.low < 1e-9).all()


def _elu(u: Jet) -> Jet:
    return u.chosen(u, u.apply("expm1"))


def _jump(u: Jet) -> Jet:
    return u.chosen(u.apply("exp").plus(Number(1.0)), u.apply("exp"))


def test_a_choice_that_meets_has_no_leap_and_one_that_jumps_has() -> None:
    meeting, jumping = Curve(_elu, -1.0, 1.0), Curve(_jump, -1.0, 1.0)
    assert meeting.leap < 1e-14
    assert meeting.steepness < 1.1
    assert jumping.leap >= 1.0
    assert jumping.range[1] >= np.e + 1


def test_a_jump_at_a_point_shows_in_its_value() -> None:
    at = np.zeros(1)
    value = Curve(_jump, -1.0, 1.0).at(at, at).value
    assert value.low[0] <= 1.0 <= 2.0 <= value.high[0]


def test_where_a_condition_is_zero_the_other_branch_counts() -> None:
    """max(u, 0) > 0 is false for u ≤ 0: there the function is `no`, on whole intervals."""

    def jet(u: Jet) -> Jet:
        return u.relu().chosen(u, u.times(Number(-2.0)))

    low, high = np.array([-1.0, -1.0, 0.5]), np.array([-0.5, 1.0, 1.0])
    value = Curve(jet, -1.0, 1.0).at(low, high).value
    assert value.low[0] <= 1.0 <= 2.0 <= value.high[0]
    assert value.low[1] <= 0.0 <= 2.0 <= value.high[1]
    assert value.low[2] == 0.5
    assert value.high[2] == 1.0


def test_a_curve_goes_on_no_steeper_than_it_says() -> None:
    """relu(u² − 1) is flat on [−1, 1], but at 1 its other branch has slope 2."""
    curve = Curve(lambda u: u.apply("square").plus(Number(-1.0)).relu(), -1.0, 1.0)
    for end in (-1.0, 1.0):
        assert max(map(abs, curve.end_slope(end))) <= curve.steepness


@pytest.mark.parametrize(("low", "high"), [(-0.1, 0.3), (0.1, 0.7), (-1 / 3, 1e-9), (5.0, 5.0), (-1e308, 1e308)])
def test_cuts_reach_both_ends(low: float, high: float) -> None:
    rng = np.random.default_rng(0)
    for shift in [0.0, *rng.normal(size=200)]:
        a, b = low + shift, high + shift
        cuts = Curve(lambda u: u, a, b).cuts(512)
        assert cuts[0] == a
        assert cuts[-1] == b
        assert np.isfinite(cuts).all()
        assert (cuts[1:] >= cuts[:-1]).all()


def test_range_and_steepness_bound_samples() -> None:
    rng = np.random.default_rng(3)
    for name, function in VALUES.items():
        low = 0.3
        curve = Curve(lambda u, name=name: u.times(Number(1.3)).apply(name), low, 2.2)
        u = np.sort(rng.uniform(low, 2.2, 400))
        f = function(1.3 * u)
        assert (curve.range[0] <= f + 1e-14).all()
        assert (f <= curve.range[1] + 1e-14 * np.abs(f)).all()
        assert (np.abs(np.diff(f)) <= curve.steepness * np.diff(u) + 1e-14 * np.abs(f[1:])).all()


def test_a_pole_is_refused() -> None:
    with pytest.raises(LeavesDomain):
        _ = Curve(lambda u: u.apply("reciprocal"), -1.0, 1.0).range


def test_a_root_at_zero_is_infinitely_steep_and_goes_on_flat() -> None:
    curve = Curve(lambda u: u.apply("sqrt"), 0.0, 2.0)
    assert curve.steepness == np.inf
    assert curve.end_slope(0.0) == (0.0, 0.0)
    assert curve.range[0] == 0.0
