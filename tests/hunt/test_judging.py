"""The hunt can convict: faults planted in the checker, in its enclosures and in the cases themselves are caught."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq

from anyformer.certificates.propagation.enclosures import Enclosure
from anyformer.networks.evaluate import evaluate
from anyformer.networks.probability_maps import Entmax, Softmax, Sparsemax
from tests.hunt import claims, enclosures
from tests.hunt.build import VANISH, bump, clip, scalar_network
from tests.hunt.enclosures import EnclosureCase
from tests.hunt.floats import float_outputs, fused
from tests.hunt.hunting import hunt, judge_one
from tests.hunt.piecewise import distance, line, of_network
from tests.hunt.planted import FAMILIES
from tests.hunt.programs import ProgramCase
from tests.hunt.real import exact, real_outputs, weigh
from tests.hunt.rulings import Ruling
from tests.hunt.scalars import linear, scalar_claim
from tests.hunt.small_networks import ORDINARY, some_network
from tests.random_networks import random_network

HALF = scalar_network([[[(1.0, 0.0, -0.5)]]])


def half_of_x(share: float):
    """x/2 against x: the distance in L² over the unit square is √(2·1/12)."""
    return scalar_claim("x/2", HALF, linear(1.0, 0.0), 2.0, share)


def test_an_honest_claim_is_proved_and_one_below_the_truth_is_not():
    assert half_of_x(4.0).judge().ruling is Ruling.PROVED
    assert half_of_x(0.5).judge().ruling is Ruling.REFUTED


@pytest.mark.parametrize(("end", "factor"), [("upper", 1e-3), ("lower", 1e3)])
def test_a_checker_with_a_wrong_bound_is_caught(monkeypatch, end, factor):
    honest = claims.verify

    def wrong(*args, **options):
        result = honest(*args, **options)
        return replace(result, bound=replace(result.bound, **{end: getattr(result.bound, end) * factor}))

    monkeypatch.setattr(claims, "verify", wrong)
    assert half_of_x(4.0 if end == "upper" else 0.5).judge().ruling is Ruling.FALSE


def test_a_checker_that_always_says_yes_is_caught(monkeypatch):
    honest = claims.verify
    monkeypatch.setattr(
        claims, "verify", lambda *args, **more: replace(honest(*args, **more), verdict=claims.Verdict.PROVED)
    )
    assert half_of_x(0.5).judge().ruling is Ruling.FALSE
    assert half_of_x(4.0).judge().ruling is Ruling.PROVED


def a_box(seed: int = 3) -> EnclosureCase:
    network = random_network(seed, tokens=3, width=2)
    low = np.random.default_rng(seed).normal(size=(3, 2))
    return EnclosureCase("random", network, low, low + 2.0**-20)


def test_an_honest_enclosure_holds():
    assert a_box().judge().ruling is Ruling.PROVED


@pytest.mark.parametrize("fault", ["shifted", "narrow", "no slack for rounding"])
def test_a_wrong_enclosure_is_caught(monkeypatch, fault):
    honest = enclosures.propagate

    def wrong(network, box):
        found = honest(network, box)
        if fault == "shifted":
            far = 1 + found.high - found.low
            return Enclosure(found.low + far, found.high + far, found.slack)
        if fault == "narrow":
            middle = (found.low + found.high) / 2
            return Enclosure(middle, middle, found.slack)
        values = evaluate(network, (box.low + box.high) / 2)
        return Enclosure(values, values, np.zeros_like(values))

    monkeypatch.setattr(enclosures, "propagate", wrong)
    assert a_box().judge().ruling is Ruling.FALSE


def test_what_overflows_contradicts_finite_ends(monkeypatch):
    network = scalar_network([[[(1e308, 0.0, 1e10)]]])
    case = EnclosureCase("overflow", network, np.ones((2, 1)), np.ones((2, 1)))
    assert case.judge().ruling is not Ruling.FALSE
    finite = Enclosure(np.full((1, 2, 1), -1.7e308), np.full((1, 2, 1), 1.7e308), np.full((1, 2, 1), np.inf))
    monkeypatch.setattr(enclosures, "propagate", lambda *args: finite)
    assert case.judge().ruling is Ruling.FALSE


def test_a_misread_function_is_caught():
    # Intervals are told one thing, points another.
    def function(x):
        return 2 * x if type(x) is np.ndarray else 0 * x

    case = ProgramCase("", function, np.full((1, 2, 1), 0.25), np.full((1, 2, 1), 0.5), 0)
    assert case.judge().ruling in (Ruling.FALSE, Ruling.REFUSED)
    assert ProgramCase("", lambda x: 2 * x, case.low, case.high, 0).judge().ruling is not Ruling.FALSE


@pytest.mark.parametrize(
    ("name", "ruling"),
    [
        ("good", Ruling.PROVED),
        ("refusing", Ruling.REFUSED),
        ("crashing", Ruling.CRASH),
        ("hanging", Ruling.HANG),
        ("greedy", Ruling.GREEDY),
        ("endless", Ruling.CRASH),
    ],
)
def test_whatever_a_case_does_is_counted_and_the_hunt_goes_on(name, ruling):
    count = hunt(name, range(2), table="tests.hunt.planted")
    assert count.tried == 2
    assert count.rulings[ruling.value] == 2


def test_a_case_is_the_same_for_the_same_seed():
    assert judge_one(FAMILIES["good"], "good", 1) == judge_one(FAMILIES["good"], "good", 1)


@pytest.mark.parametrize("seed", range(6))
def test_real_and_float_evaluation_agree_on_ordinary_networks(seed):
    rng = np.random.default_rng(seed)
    network = some_network(rng, ("plain",), "af")
    x = rng.normal(size=(network.tokens, network.width))
    real = np.array([[float(arb(value).mid()) for value in token] for token in real_outputs(network, x)])
    floats = float_outputs(network, x, rng)
    # Sums of some twenty products: rounding stays far below this.
    size = (
        1 + np.abs(real).max() + max(np.abs(stage.W_1).max() for stage in network.stages if stage.kind != "attention")
    )
    assert np.allclose(real, floats, rtol=0, atol=1e-9 * size**4)
    assert np.allclose(evaluate(network, x[None])[0], floats, rtol=0, atol=1e-9 * size**4)


def test_piecewise_linear_networks_are_what_rational_evaluation_says():
    rng = np.random.default_rng(0)
    layers = [[tuple(rng.normal(size=3)) for _ in range(3)] for _ in range(4)]
    network = scalar_network([layers[:2], layers[2:], [clip(-1.0, 1.0)]], shift=0.5)
    g = of_network(network)
    for t in [-1e3, *rng.normal(size=40), *(float(k) for k in map(Fraction, (5, 7))), 1e9]:
        assert g(exact(t)) == real_outputs(network, np.full((2, 1), t))[0][0]


def test_distances_are_those_one_computes_by_hand():
    zero, identity = line(fmpq(0), fmpq(0)), line(fmpq(1), fmpq(0))
    for p in (1.0, 2.0, 7.5, 1e5):
        by_hand = (arb(2) / (arb(p) + 1)).log() / arb(p)
        assert distance(zero, identity, fmpq(0), fmpq(1), p, 2).overlaps(by_hand.exp())
    # A triangle of height 1 over half of the line, for one of two tokens at a time.
    g = of_network(scalar_network([[bump(0.25, 0.5, 1.0)]]))
    assert distance(identity, g, fmpq(0), fmpq(1), 1.0, 2).overlaps(arb(0.5))
    assert distance(zero, of_network(scalar_network([[VANISH]])), fmpq(-3), fmpq(9), 2.0, 3) == 0


def test_probability_maps_follow_their_definitions():
    scores = [exact(v) for v in (0.25, -1.0, 0.125, 0.25)]
    for probability_map in (Softmax(), Sparsemax(), Entmax(1.5), Entmax(1.25)):
        weights = [float(arb(w).mid()) for w in weigh(probability_map, scores)]
        assert np.allclose(weights, probability_map(np.array([0.25, -1.0, 0.125, 0.25])), rtol=0, atol=1e-12)


def test_a_fused_product_is_rounded_once():
    a = 1 + 2.0**-30
    assert fused(a, a, -1 - 2.0**-29) == 2.0**-60
    assert fused(1e308, 10.0, 0.0) == np.inf
    assert fused(1e308, -10.0, 0.0) == -np.inf


def test_styles_have_only_finite_numbers():
    rng = np.random.default_rng(0)
    for seed in range(40):
        network = some_network(rng, ORDINARY if seed % 2 else ("huge", "wide", "subnormal"), "fa")
        assert network.is_soft
