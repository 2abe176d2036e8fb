"""Interpolation as a method: from a request to a certified network, for functions that nothing else can follow."""

import math

import numpy as np
import pytest

import anyformer as af
from anyformer.construction import METHODS, Request
from anyformer.construction.planning import plan, plans
from anyformer.construction.refusal import Refusal, Resource
from anyformer.errors import PlanError
from anyformer.networks.probability_maps import Sparsemax
from anyformer.targets.domains import Box, CompactSupport
from anyformer.targets.target import Symmetry

INTERPOLATION = METHODS["interpolation"]


def bisected(x):
    """The u with u + sin(u)/4 = x_j + mean(x)/2, found by halving: neither intervals nor tracing can follow."""
    found = np.zeros_like(x)
    for token in range(len(x)):
        low, high, goal = -1.0, 3.0, float(x[token, 0]) + 0.5 * float(x.mean())
        while high - low > 2.0**-44:
            middle = (low + high) / 2
            low, high = (middle, high) if middle + 0.25 * math.sin(middle) < goal else (low, middle)
        found[token, 0] = low
    return found


# u moves by at most 1/(1 − 1/4) of its goal, and the goal by 3/2 of the largest change.
BISECTED = af.target(bisected, tokens=2, lipschitz=2.0, vectorised=False)
PLACED = af.target(lambda x: np.cumsum(np.sin(x), axis=1), tokens=2, domain=Box(-0.7, 2.0), symmetry=Symmetry.NONE)
PAIRS = af.target(lambda x: x * x.mean(axis=(1, 2), keepdims=True), tokens=2, width=2, domain=Box((-1.0, 0.0), 0.5))


def built(target, tolerance, p=math.inf):
    return af.construct(target, tolerance, p=p, method="interpolation")


@pytest.mark.parametrize(
    ("target", "tolerance", "p"),
    [
        (af.targets.softmax(tokens=3), 0.03, math.inf),
        (af.targets.softmax(tokens=3), 0.1, 2.0),
        (BISECTED, 0.06, math.inf),
        (PLACED, 0.1, 4.0),
        (PAIRS, 0.2, math.inf),
    ],
)
def test_what_is_built_is_proved_saved_and_proved_again(target, tolerance, p, tmp_path):
    model = built(target, tolerance, p)
    assert model.certificate.measured.error <= model.certificate.certified_error <= tolerance
    again = af.load(model.save(tmp_path / "model")).verify(target)
    assert again.verdict is af.Verdict.PROVED
    assert again.bound.upper == model.certificate.certified_error


def test_the_sizes_of_softmax():
    """Copies, one comparison, chains of maxima and a hat for each node, in one attention and four other layers."""
    model = built(af.targets.softmax(tokens=3), 0.0145)
    assert (model.construction.cells, model.network.hidden_unit_count) == (3, 131)
    assert (model.network.layer_count, model.network.attention_layer_count) == (5, 1)


def test_only_a_modulus_is_trusted_where_nothing_else_is_known():
    model = built(BISECTED, 0.06)
    assert model.certificate.kind is af.certificates.Evidence.INTERPOLATED_MODULUS
    assert model.certificate.target.modulus == BISECTED.modulus
    assert built(PLACED, 0.4).certificate.target.modulus is None


def test_a_false_modulus_is_refuted():
    model = built(BISECTED, 0.06)
    steep = af.target(lambda x: np.where(x > 0.5, 1.0, 0.0) * x, tokens=2, lipschitz=2.0, name="bisected")
    assert model.verify(steep).verdict is af.Verdict.REFUTED


def test_planning_takes_the_coarsest_grid_that_will_do():
    sizes = [
        plan(Request(target=PLACED, tolerance=e, p=math.inf, method=INTERPOLATION)).cells for e in (0.4, 0.1, 0.03)
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_a_finer_plan_has_more_cells_and_a_smaller_error():
    first = plan(Request(target=PLACED, tolerance=0.1, p=math.inf, method=INTERPOLATION))
    second = INTERPOLATION.finer(first)
    assert second.cells > first.cells


def test_too_many_nodes_are_refused_with_a_tolerance_that_fits():
    request = Request(target=PAIRS, tolerance=1e-5, p=math.inf, method=INTERPOLATION)
    with pytest.raises(PlanError, match="nodes of a grid where 2,048 are allowed") as error:
        plan(request)
    refusal = error.value.refusal
    assert isinstance(refusal, Refusal)
    assert refusal.shortage.resource is Resource.NODES
    assert plan(request.but(tolerance=refusal.fit.tolerance)).planned_error <= refusal.fit.tolerance


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"target": af.targets.softmax(tokens=12)}, "at most 10 numbers a sequence"),
        ({"probability_map": Sparsemax()}, "builds softmax networks"),
        ({"target": af.target(lambda x: 0 * x, tokens=2, domain=CompactSupport())}, "needs a box as the domain"),
    ],
)
def test_what_it_cannot_do_is_said(changes, words):
    request = Request(**{"target": PLACED, "tolerance": 0.1, "method": INTERPOLATION, **changes})
    with pytest.raises(PlanError, match=words):
        plan(request)


def test_auto_looks_at_it_where_the_function_cannot_be_compiled():
    assert "interpolation" in [one.method.name for one in plans(Request(target=BISECTED, tolerance=0.1, p=math.inf))]


def test_a_quick_look_is_only_taken_at_small_tables():
    assert INTERPOLATION.surely_fits(Request(target=af.targets.softmax(tokens=2), tolerance=0.1, p=math.inf))
    for tokens, tolerance in ((2, 1e-3), (8, 0.1), (64, 0.1)):
        request = Request(target=af.targets.softmax(tokens=tokens), tolerance=tolerance, p=math.inf)
        assert not INTERPOLATION.surely_fits(request)
