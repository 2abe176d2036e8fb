"""Polylines from weights: their values, and how far they are from curves, with room beyond."""

from fractions import Fraction

import numpy as np
import pytest

from anyformer.certificates.programs import polylines
from anyformer.certificates.programs.circle import off_circle
from anyformer.certificates.programs.polylines import Deviation, ReluSum, deviation
from anyformer.construction.compiling.knots import anchored, polyline
from anyformer.programs.curves import Curve
from anyformer.programs.jets import Jet
from anyformer.programs.numbers import Number


def _random_sum(rng: np.random.Generator, units: int) -> ReluSum:
    return ReluSum(
        float(rng.normal()),
        float(rng.normal()),
        rng.choice([-1.0, 1.0], units),
        rng.normal(size=units) * 10.0 ** rng.integers(-3, 4, units),
        rng.normal(size=units) * 10.0 ** rng.integers(-3, 4, units),
    )


def _exact(line: ReluSum, u: float) -> Fraction:
    total = Fraction(line.slope) * Fraction(u) + Fraction(line.constant)
    for sign, offset, weight in zip(line.signs.tolist(), line.offsets.tolist(), line.weights.tolist(), strict=True):
        total += Fraction(weight) * max(Fraction(sign) * Fraction(u) + Fraction(offset), Fraction(0))
    return total


def test_values_are_within_their_error() -> None:
    rng = np.random.default_rng(0)
    for units in (0, 1, 7, 60):
        line, at = _random_sum(rng, units), np.sort(rng.normal(size=11) * 3)
        values, error = line.values(at)
        for u, value in zip(at.tolist(), values.tolist(), strict=True):
            assert abs(Fraction(value) - _exact(line, u)) <= Fraction(error)


def _curves() -> dict[str, Curve]:
    return {
        "exp": Curve(lambda u: u.apply("exp"), -1.0, 1.3),
        "square": Curve(lambda u: u.apply("square"), -1.0, 2.0),
        "log": Curve(lambda u: u.apply("log"), 0.3, 2.0),
        "sqrt": Curve(lambda u: u.apply("sqrt"), 0.0, 2.0),
        "elu": Curve(lambda u: u.chosen(u, u.apply("expm1")), -1.0, 1.0),
        "kink": Curve(lambda u: u.apply("square").plus(Number(-0.4)).absolute(), -1.0, 1.5),
        "flat": Curve(lambda u: u.apply("square").plus(Number(-1.0)).relu(), -1.0, 1.0),
    }


VALUES = {
    "exp": np.exp,
    "square": np.square,
    "log": np.log,
    "sqrt": np.sqrt,
    "elu": lambda u: np.where(u > 0, u, np.expm1(u)),
    "kink": lambda u: np.abs(u**2 - 0.4),
    "flat": lambda u: np.maximum(u**2 - 1.0, 0.0),
}


def _measured(line: ReluSum, name: str, room: tuple[float, float]) -> tuple[float, float]:
    """Curve minus polyline on many points, with the curve continued by its end slopes."""
    curve = _curves()[name]
    u = np.sort(np.concatenate([np.linspace(curve.low - room[0], curve.high + room[1], 4001), line.kinks]))
    u = u[(u >= curve.low - room[0]) & (u <= curve.high + room[1])]
    inside = np.clip(u, curve.low, curve.high)
    f = VALUES[name](inside)
    for end in (curve.low, curve.high):
        beyond = (u < end) if end == curve.low else (u > end)
        f = f + np.where(beyond, (u - end) * sum(curve.end_slope(end)) / 2, 0.0)
    apart = f - line.values(u)[0]
    return float(apart.min()), float(apart.max())


@pytest.mark.parametrize("room", [(0.0, 0.0), (0.2, 0.05), (1e-20, 1.0)])
@pytest.mark.parametrize("name", VALUES)
def test_deviations_hold_all_points(name: str, room: tuple[float, float]) -> None:
    curve, rng = _curves()[name], np.random.default_rng(4)
    for damage in (0.0, 1e-6, 1e-2):
        knots = np.unique(np.concatenate([[curve.low, curve.high], rng.uniform(curve.low, curve.high, 9)]))
        line = anchored(knots, VALUES[name](knots) + damage * rng.normal(size=len(knots)))
        found, (least, most) = deviation(line, curve, room), _measured(line, name, room)
        assert found.least <= least + 1e-13
        assert most <= found.most + 1e-13
        assert found.absolute < 3  # it is a bound, not a refusal


def test_tight_polylines_are_seen_as_tight() -> None:
    for name, curve in _curves().items():
        if name not in ("sqrt", "flat"):
            found = deviation(polyline(curve, 1e-4), curve, (0.0, 0.0))
            assert found.absolute <= 1.001e-4


def test_a_jump_is_never_bridged() -> None:
    """A polyline through both sides of a jump at a knot is far from the function just before it."""
    curve = Curve(lambda u: u.chosen(u.apply("exp").plus(Number(1.0)), u.apply("exp")), -1.0, 1.0)
    knots = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    for at_zero in (1.0, 1.5, 2.0):
        values = np.where(knots > 0, np.exp(knots) + 1, np.exp(knots))
        values[2] = at_zero
        assert deviation(anchored(knots, values), curve, (0.0, 0.0)).absolute >= 0.5


def test_room_counts() -> None:
    """A unit that wakes just beyond the end, with a large weight."""
    curve = Curve(Jet.relu, 1.0, 2.0)
    line = ReluSum(1.0, 0.0, np.ones(1), np.full(1, -2.0), np.full(1, 1e9))
    assert deviation(line, curve, (0.0, 0.0)).absolute < 1e-4
    assert deviation(line, curve, (0.0, 1e-3)).absolute >= 1e6 * (1 - 1e-9)


def test_nan_is_unknown() -> None:
    assert Deviation(np.nan, 1.0, 0.0).absolute == np.inf
    assert Deviation(-1.0, np.nan, 0.0).absolute == np.inf
    line = ReluSum(np.nan, 0.0, np.ones(1), np.zeros(1), np.ones(1))
    with np.errstate(all="ignore"):
        assert deviation(line, Curve(Jet.relu, -1.0, 1.0), (0.1, 0.1)).absolute == np.inf
        far = ReluSum(0.0, 0.0, np.ones(1), np.full(1, -1.05), np.full(1, 1e308))
        assert deviation(far, Curve(Jet.relu, -1.0, 1.0), (0.1, 1e9)).absolute == np.inf


def test_the_test_sees_gaps_without_arches(monkeypatch: pytest.MonkeyPatch) -> None:
    def gaps(curve: Curve, knots: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        apart = curve.points(knots) - values
        return np.minimum(apart[:-1], apart[1:]), np.maximum(apart[:-1], apart[1:])

    monkeypatch.setattr(polylines, "gaps", gaps)
    with pytest.raises(AssertionError):
        test_deviations_hold_all_points("exp", (0.0, 0.0))


# The circle


def _on_circle(vectors: np.ndarray, weights: np.ndarray, slopes: np.ndarray) -> float:
    turns = np.linspace(0, 2 * np.pi, 20001)
    points = np.stack([np.cos(turns), np.sin(turns)])
    return float(np.abs(weights @ np.maximum(vectors @ points, 0.0) + slopes @ points - 1).max())


@pytest.mark.parametrize("units", [0, 1, 2, 3, 8])
def test_the_distance_from_a_norm_holds_all_directions(units: int) -> None:
    rng = np.random.default_rng(units)
    for _ in range(60):
        vectors, weights = rng.normal(size=(units, 2)), rng.normal(size=units)
        slopes = rng.normal(size=2) * rng.integers(0, 2)
        found, seen = off_circle(vectors, weights, slopes), _on_circle(vectors, weights, slopes)
        assert seen <= found
        assert found <= seen + 1e-3


def test_a_coordinate_is_no_norm() -> None:
    """Without units one arc is the whole circle, and the least value lies inside it."""
    assert off_circle(np.zeros((0, 2)), np.zeros(0), np.array([1.0, 0.0])) >= 2


def test_a_unit_that_points_against_its_slope() -> None:
    vectors, weights = np.array([[1.0, 0.0]]), np.ones(1)
    assert off_circle(vectors, weights, np.array([-3.0, 0.0])) >= 3
