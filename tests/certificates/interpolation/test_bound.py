"""The bound of an interpolation error holds wherever one looks, whatever it was derived from."""

import math

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates import Evidence
from anyformer.certificates.interpolation.bound import cell_count, interpolation_bound
from anyformer.certificates.interpolation.error_bound import interpolation_evidence, knowledge_of
from anyformer.certificates.interpolation.knowledge import KnownFormula, KnownModulus, KnownSteps
from anyformer.errors import NotShown
from anyformer.programs.kuhn import interpolant, program_of
from anyformer.programs.tracing import trace
from anyformer.programs.values import evaluate
from anyformer.targets.domains import Box
from anyformer.targets.moduli import EntrywiseLipschitz, Lipschitz, Tightest
from anyformer.targets.target import Symmetry
from tests.programs.kuhn_samples import SAMPLES, points_of


def hats(x):
    """Its slopes are ±1, and it is least known where it is steepest."""
    return np.abs(x - 0.37) + 0.5 * np.abs(x.mean(axis=1, keepdims=True) - 0.61)


def uneven(x):
    return np.maximum(x[:, ::-1] - 0.4, 0.0) * np.array([1.0, 0.25])[:, None] + x


MODULI = {
    "in the max norm": Lipschitz(1.5),
    "by entries": EntrywiseLipschitz((np.eye(2) + 0.25)[:, None, :, None]),
    "the tightest": Tightest((Lipschitz(1.5), Lipschitz(9.0))),
}


def measured(target, table, count=4000):
    """The largest error of the table, at random points and close to kinks and corners."""
    x = points_of(target, count)
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    grid = np.linspace(low, high, 2 * table.cells + 1)
    x[: count // 2] = np.stack(
        [np.random.default_rng(1).choice(grid[:, k], x[: count // 2, :, k].shape) for k in range(target.width)], axis=2
    )
    x = np.clip(x + 1e-3 * np.random.default_rng(2).normal(size=x.shape), low, high)
    return float(np.abs(evaluate(program_of(table), x) - target(x)).max())


@pytest.mark.parametrize("name", SAMPLES)
def test_with_derivatives_it_is_above_and_near_the_truth(name):
    target, cells = SAMPLES[name]
    table = interpolant(target, cells)
    seen = measured(target, table)
    found = interpolation_bound(table, KnownSteps(trace(target)), 1.25 * seen, tightness=1.5)
    assert seen <= found.upper <= 1.25 * seen
    assert found.lower <= found.upper


@pytest.mark.parametrize("name", MODULI)
def test_with_a_modulus_it_is_above_the_truth(name):
    target = af.target(hats, tokens=2, lipschitz=MODULI[name])
    table = interpolant(target, 3)
    knowledge = KnownModulus(target, MODULI[name])
    coarse = interpolation_bound(table, knowledge, math.inf, tightness=1e9)
    fine = interpolation_bound(table, knowledge, 1.25 * measured(target, table), tightness=2.0)
    assert measured(target, table) <= fine.upper <= 1.25 * measured(target, table) < coarse.upper


def test_the_departure_by_a_modulus():
    """Three quarters of a side in the max norm; half of every side if each has its own constant."""
    sides = np.ones((1, 2, 1))
    target = af.target(hats, tokens=2, lipschitz=Lipschitz(1.0))
    departure = KnownModulus(target, Lipschitz(1.0)).departures(0 * sides, sides)
    assert (departure >= 0.75).all()
    assert (departure < 0.75 * (1 + 1e-9)).all()
    entrywise = EntrywiseLipschitz(np.ones((2, 1, 2, 1)))
    departure = KnownModulus(target, entrywise).departures(0 * sides, sides)
    assert (departure >= 1.0).all()
    assert (departure < 1 + 1e-9).all()


def test_no_function_departs_further_than_its_modulus_allows():
    """What a simplex weighs the distances to its corners with, and their products, at random points of it."""
    rng = np.random.default_rng(5)
    for axes in (1, 2, 3, 5):
        t = -np.sort(-rng.random((4000, axes)), axis=1)
        corners = np.tril(np.ones((axes + 1, axes)), -1)
        edges = np.concatenate([np.ones((4000, 1)), t, np.zeros((4000, 1))], axis=1)
        weights = -np.diff(edges, axis=1)
        apart = np.abs(t[:, None] - corners)
        assert (weights * apart.max(axis=2)).sum(axis=1).max() <= 0.75
        assert np.einsum("bi,bik->bk", weights, apart).max() <= 0.5
        assert np.einsum("bi,bik,biq->bkq", weights, apart, apart).max() <= 0.25


@pytest.mark.parametrize("symmetry", Symmetry)
def test_with_intervals_alone_it_is_above_the_truth(symmetry):
    target = af.target(hats if symmetry is Symmetry.EQUIVARIANT else uneven, tokens=2, symmetry=symmetry)
    table = interpolant(target, 3)
    found = interpolation_bound(table, KnownFormula(target), 1.3 * measured(target, table), tightness=2.0)
    assert measured(target, table) <= found.upper <= 1.3 * measured(target, table)


@pytest.mark.parametrize("node", [0, 5, 13])
def test_a_wrong_value_at_a_node_is_seen(node):
    target, cells = SAMPLES["one number a token"]
    table = interpolant(target, cells)
    table.values[node] += 0.07
    found = interpolation_bound(table, KnownSteps(trace(target)), math.inf, tightness=1.5)
    assert found.upper >= found.lower >= 0.06


def test_a_function_that_only_claims_to_be_equivariant_is_looked_at_in_every_order():
    target = af.target(uneven, tokens=2, domain=Box(0.0, 1.0))
    table = interpolant(target, 4)
    for knowledge in (KnownSteps(trace(target)), KnownFormula(target)):
        assert not knowledge.is_symmetric
        assert interpolation_bound(table, knowledge, math.inf, tightness=1.5).upper >= 0.4


def test_one_order_stands_for_all_if_the_steps_show_it():
    target, cells = SAMPLES["four tokens"]
    assert KnownSteps(trace(target)).is_symmetric
    assert cell_count(interpolant(target, cells), True) == 5 < cell_count(interpolant(target, cells), False) == 16


def test_too_many_cells_are_not_begun():
    target, cells = SAMPLES["positions"]
    with pytest.raises(NotShown, match="27 cells, and 20 are allowed"):
        interpolation_bound(interpolant(target, cells), KnownSteps(trace(target)), 0.1, 1.5, most_boxes=20)


def test_what_a_proof_relies_on():
    assert interpolation_evidence(SAMPLES["positions"][0]) is Evidence.INTERPOLATED
    looped = af.target(
        lambda x: np.array([[float(v) for v in row] for row in x]), tokens=2, lipschitz=1.0, vectorised=False
    )
    assert interpolation_evidence(looped) is Evidence.INTERPOLATED_MODULUS
    assert isinstance(knowledge_of(looped, Evidence.INTERPOLATED_MODULUS), KnownModulus)
    with pytest.raises(NotShown, match="none is declared"):
        knowledge_of(SAMPLES["positions"][0], Evidence.INTERPOLATED_MODULUS)
