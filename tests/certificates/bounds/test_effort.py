"""What a proof costs is known before it starts, and what costs too much is not started."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates import Effort, Grid
from anyformer.certificates.bounds.effort import (
    ORDINARY,
    Cost,
    TooMuch,
    Visits,
    _most_orders,
    check_cost,
    cost_of_proof,
)
from anyformer.certificates.bounds.interval_bound import distinct_orders
from anyformer.errors import PlanError


def test_the_cost_counts_cells_in_every_order():
    cost = cost_of_proof((3, 5), 4, Visits.TARGET_IN_EVERY_ORDER)
    assert (cost.columns, cost.cells) == (15, 15**4)
    assert cost_of_proof((3, 5), 4, Visits.ONCE).cells == math.comb(18, 4)
    for visits in Visits:
        assert cost_of_proof((2,) * 60, 4000, visits).cells > 2**100


@pytest.mark.parametrize(("columns", "tokens"), [(2, 5), (3, 4), (5, 3), (7, 2), (1, 6)])
def test_memory_counts_the_cell_with_most_orders(columns, tokens):
    cells = itertools.combinations_with_replacement(range(columns), tokens)
    most = max(len(set(itertools.permutations(cell))) for cell in cells)
    assert _most_orders(columns, tokens) == most


def test_many_orders_cost_memory():
    assert cost_of_proof((2,), 25, Visits.TARGET_IN_EVERY_ORDER).memory > ORDINARY.memory
    assert cost_of_proof((2,), 18, Visits.TARGET_IN_EVERY_ORDER).memory < ORDINARY.memory / 8


def test_following_costs_time():
    few, many = (cost_of_proof((8,), 5, visits, 10, 4000) for visits in (Visits.ONCE, Visits.EVERY_ORDER))
    assert few.seconds < 1000 < many.seconds
    with pytest.raises(TooMuch, match="seconds of one core"):
        check_cost(many, Effort(seconds=1000.0))


@pytest.mark.parametrize(
    ("cost", "what"),
    [(Cost(2, 101, 10, 1.0, 0.1), "cells"), (Cost(2, 10, 1001, 1.0, 0.1), "bytes of memory")],
    ids=["cells", "memory"],
)
def test_too_much_is_refused_with_the_numbers(cost, what):
    check_cost(cost, Effort(cells=101, memory=1001))
    with pytest.raises(TooMuch, match=what) as refusal:
        check_cost(cost, Effort(cells=100, memory=1000))
    assert (refusal.value.needed, refusal.value.allowed) in ((101, 100), (1001, 1000))


def greedy(model: af.Model, tokens: int, cells: int) -> tuple[af.Network, af.Certificate]:
    """The model's claim, blown up: so many tokens, and so many cells for each."""
    declared = replace(model.certificate.target, tokens=tokens)
    edges = np.linspace(0, 1, cells + 1)
    grid = Grid((edges[:-1],), (edges[1:],))
    return replace(model.network, tokens=tokens), replace(model.certificate, target=declared, grid=grid)


@pytest.mark.parametrize(("tokens", "cells"), [(12, 8), (20, 4), (1000, 2), (2, 1 << 15)])
def test_claims_that_would_eat_the_machine_are_undecided_at_once(averaged_models, tokens, cells, monkeypatch):
    monkeypatch.setattr("anyformer.certificates.checker.derive_bound", None)  # it is not even called
    network, certificate = greedy(averaged_models[0], tokens, cells)
    result = af.verify(network, certificate)
    assert result.verdict is af.Verdict.UNDECIDED
    assert "cells, and 33,554,432 are allowed" in result.reason


def test_the_limit_is_adjustable(averaged_models):
    model = averaged_models[0]
    cells = 4**2
    assert model.certificate.grid.cells_per_axis == (4,)
    assert model.verify(effort=Effort(cells=cells)).verdict is af.Verdict.PROVED
    assert model.verify(effort=Effort(cells=cells - 1)).verdict is af.Verdict.UNDECIDED
    with pytest.raises(PlanError, match="16 cells to visit where 15 are allowed"):
        af.construct(af.targets.mean_scale(tokens=2), 0.1, method="averaging", effort=Effort(cells=15))


@pytest.mark.parametrize("tokens", [30, 500, 4000])
def test_plans_for_many_tokens_are_refused(tokens):
    function = af.target(lambda x: x, tokens=tokens, name="same")
    with pytest.raises(PlanError, match=f"about 2\\^{min(tokens, 128)} cells to visit|1,073,741,824 cells to visit"):
        af.plan(function, 0.5, method="averaging")


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6])
def test_every_order_is_visited_once(length):
    for repeats in itertools.product([False, True], repeat=length - 1):
        row = np.cumsum([0, *(not same for same in repeats)])
        orders = distinct_orders(repeats)
        assert sorted(map(tuple, row[orders].tolist())) == sorted(set(itertools.permutations(row.tolist())))
        assert (np.sort(orders, axis=1) == np.arange(length)).all()


def test_many_tokens_in_few_cells_need_no_permutations():
    assert len(distinct_orders((True,) * 15)) == 1
    assert len(distinct_orders((*[True] * 7, False, *[True] * 7))) == 11440 + 1430


def test_nine_tokens_are_built_and_proved():
    # Just below what whole cells prove, so that some are cut; tighter bounds than that take long for nine tokens.
    model = af.construct(af.targets.mean_scale(tokens=9), 0.35, method="averaging", tightness=2.0)
    assert model.certificate.grid.cells_per_axis == (2,)
    assert model.verify().verdict is af.Verdict.PROVED
