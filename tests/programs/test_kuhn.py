"""Interpolants: the table, the program and the definition agree."""

import numpy as np
import pytest

import anyformer as af
from anyformer.errors import NotTraceable
from anyformer.programs.kuhn import MOST_NODES, interpolant, interpolant_program, node_count, program_of
from anyformer.programs.values import evaluate
from tests.programs.kuhn_samples import SAMPLES, interpolated, points_of

# Values are below 16, sums have fewer than 300 terms, and every hat is computed from numbers below 8.
ROUNDING = 300 * 16 * 8 * 2.0**-52


@pytest.fixture(params=SAMPLES)
def sample(request):
    return SAMPLES[request.param]


def test_the_program_is_the_interpolation(sample):
    target, cells = sample
    x = points_of(target, 25)
    expected = np.array([interpolated(target, cells, one) for one in x])
    assert np.abs(evaluate(interpolant_program(target, cells), x) - expected).max() < ROUNDING


def test_the_table_is_the_interpolation_between_the_nodes(sample):
    target, cells = sample
    points = np.random.default_rng(1).integers(0, 4 * cells + 1, (25, target.tokens, target.width))
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    x = np.clip(low + points / (4 * cells) * (high - low), low, high)
    expected = np.array([interpolated(target, cells, one) for one in x])
    table = interpolant(target, cells)
    # The points themselves are rounded; the interpolants' slopes are below 16.
    assert np.abs(table.at(points, 4) - expected).max() < ROUNDING + table.rounding


def test_at_its_nodes_it_has_the_values_of_the_target(sample):
    target, cells = sample
    points = np.random.default_rng(2).integers(0, cells + 1, (40, target.tokens, target.width))
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    x = np.clip(low + points / cells * (high - low), low, high)
    assert np.abs(interpolant(target, cells).at(points, 1) - target(x)).max() < ROUNDING


def test_these_tests_can_fail():
    target, cells = SAMPLES["one number a token"]
    table = interpolant(target, cells)
    table.values[17] += 1e-3
    x = points_of(target, 400)
    wrong = evaluate(program_of(table), x) - evaluate(interpolant_program(target, cells), x)
    assert 1e-4 < np.abs(wrong).max() <= 1e-3 * (1 + 1e-9)


def test_other_tokens_of_an_equivariant_function_are_interchangeable():
    target, cells = SAMPLES["two numbers a token"]
    table = interpolant(target, cells)
    points = np.random.default_rng(3).integers(0, 8 * cells + 1, (30, 2, 2))
    assert np.abs(table.at(points, 8)[:, ::-1] - table.at(points[:, ::-1], 8)).max() <= 2 * table.rounding


def test_sorted_others_need_few_nodes():
    assert node_count(af.targets.softmax(tokens=4), 4) == 5 * 35
    assert node_count(SAMPLES["positions"][0], 3) == 64


def test_large_tables_are_refused():
    with pytest.raises(NotTraceable, match=f"at most {MOST_NODES:,} nodes; asked for were 40 cells"):
        interpolant_program(af.targets.softmax(tokens=3), 40)
    with pytest.raises(NotTraceable, match="cells an axis on 3 axes"):
        interpolant_program(af.targets.softmax(tokens=3), 10**4000)
    with pytest.raises(NotTraceable, match="12 axes"):
        interpolant_program(af.targets.softmax(tokens=12), 1)
