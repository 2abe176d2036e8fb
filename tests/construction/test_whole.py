"""Whole constructions by both methods: bit for bit the table, hard equal to soft, vanishing where they must."""

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates import Evidence, derive_bound
from anyformer.construction import Averaging, SelectiveShift
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.grids.sequences import all_sequences
from anyformer.construction.grids.tables import cell_values
from anyformer.construction.plans.layout import MERGE_SHARE, ROUNDING_SHARE
from anyformer.networks import BlockShape, evaluate
from anyformer.networks.roles import Role
from anyformer.targets import Box, CompactSupport, EntrywiseLipschitz, Lipschitz, Symmetry


def own(function, **declared):
    return af.target(function, name="own", **declared)


def hat(x):
    """Vanishes with slope 1 towards the boundary of [0.1, 0.8]^n, which lies within the other box too."""
    inside = np.clip(np.minimum(x - 0.1, 0.8 - x).min(axis=(1, 2), keepdims=True), 0, None)
    return inside * (1 + x * (inside > 0))


def tilted(x):
    return x * np.array([1.0, -0.5]) + x.mean(axis=1, keepdims=True)


TARGETS = {
    "equivariant": (af.targets.mean_scale(tokens=2), 0.2, 2.0),
    "three tokens": (af.targets.softmax(tokens=3), 0.5, 2.0),
    "four tokens": (af.targets.power_sums(tokens=4), 1.2, 1.0),
    "positional": (af.targets.sort(tokens=2), 0.1, 2.0),
    "positional, three": (af.targets.reverse(tokens=3), 0.3, 1.0),
    "width 2": (af.targets.mean_scale(tokens=2, width=2), 0.4, 2.0),
    "width 2, positional": (af.targets.running_maximum(tokens=2, width=2), 0.5, 4.5),
    "support": (af.targets.bump(tokens=2), 0.2, 2.0),
    "support, width 2": (af.targets.bump(tokens=2, width=2), 0.5, 3.0),
    "own support": (own(hat, tokens=2, lipschitz=3.0, domain=CompactSupport(0.1, 0.8)), 0.3, 2.0),
    "own support, width 2": (
        own(hat, tokens=2, width=2, lipschitz=3.0, domain=CompactSupport((0.0, -0.3), 1.3)), 6.0, 1.0
    ),
    "own box": (own(np.cos, tokens=2, lipschitz=1.0, domain=Box(-1.0, 0.7)), 0.8, 2.0),
    "own box, positional": (
        own(np.cos, tokens=2, lipschitz=1.0, domain=Box(0.1, 1.7), symmetry=Symmetry.NONE), 0.3, 2.0
    ),
    "unequal sides": (own(tilted, tokens=2, width=2, lipschitz=2.0, domain=Box((0.0, -1.0), (1.0, -0.5))), 0.9, 1.0),
    "large outputs": (own(lambda x: 1000 * x, tokens=2, lipschitz=1000.0, symmetry=Symmetry.NONE), 300.0, 2.0),
}  # fmt: skip


def averaging_table(plan, codes):
    """What the plan's runs of ids give to the cells of the given sequences."""
    ids = Averaging().context(plan.request, plan.lattice).ids(codes)
    # Runs go downwards: the first whose lowest id is at or below the id holds it.
    return plan.values.values[np.searchsorted(-plan.values.lowest, -ids)]


METHODS = ["selective-shift", "averaging"]
TABLES = {SelectiveShift(): SelectiveShift().table, Averaging(): averaging_table}
SEQUENCES = {SelectiveShift(): Lattice.sequence_codes, Averaging(): all_sequences}


def plan(name, method):
    target, tolerance, p = TARGETS[name]
    return af.plan(target, tolerance, p=p, method=method)


@pytest.fixture(scope="module", params=[(name, method) for name in TARGETS for method in METHODS], ids="-".join)
def construction(request):
    planned = plan(*request.param)
    return planned.method.build(planned)


def test_what_is_built_is_what_was_planned(construction):
    planned, network = construction.plan, construction.network
    assert [(s.name, s.role, s.kind, s.layers) for s in planned.stages] == [
        (s.name, s.role, s.kind, len(s)) for s in network.stages
    ]
    assert Role.OTHER not in {stage.role for stage in planned.stages}
    assert planned.layers == network.layer_count
    assert planned.attention_layers == network.attention_layer_count
    assert planned.parameters == network.parameter_count
    assert network.shape == BlockShape(2, 1, 4)
    assert network.is_soft


def cell_points(construction, rng, per_cell):
    """Random points of every cell that has ids: (cells·per_cell, tokens, width), and the table's values there."""
    lattice, grid = construction.plan.lattice, construction.grid
    codes = SEQUENCES[construction.plan.method](lattice)
    if len(codes) > 700:
        codes = codes[np.sort(rng.choice(len(codes), 700, replace=False))]
    values = TABLES[construction.plan.method](construction.plan, codes)
    boxes = grid.boxes(lattice.column_table()[codes])
    low, high = np.repeat(boxes.low, per_cell, axis=0), np.repeat(boxes.high, per_cell, axis=0)
    points = np.clip(low + rng.random(low.shape) * (high - low), low, high)
    edges = rng.integers(0, 8, size=points.shape)
    points = np.where(edges == 0, low, np.where(edges == 1, high, points))
    return points, np.repeat(values, per_cell, axis=0)


def test_the_softmax_network_is_the_table_bit_for_bit_on_every_cell(construction):
    points, values = cell_points(construction, np.random.default_rng(0), per_cell=3)
    assert np.array_equal(af.runtime.run(construction.network, points), values)


def test_the_faithful_table_is_the_target_up_to_its_quantum():
    planned = plan("width 2", "selective-shift")
    codes = planned.lattice.sequence_codes()[:500]
    error = np.abs(SelectiveShift().table(planned, codes) - planned.target(planned.lattice.centres(codes)))
    finest = planned.output_bound * 2.0**-50
    assert error[..., 0].max() <= max(planned.output_quantum, finest) / 2
    assert error[..., 1].max() <= finest / 2


def test_the_averaging_table_is_the_mean_over_cells_up_to_merging_and_rounding():
    planned = plan("three tokens", "averaging")
    codes = all_sequences(planned.lattice)
    error = np.abs(averaging_table(planned, codes) - cell_values(planned.target, planned.lattice, codes))
    share = MERGE_SHARE + ROUNDING_SHARE
    # The tolerance is a norm over three entries of the unit cube, the shares are meant for each of them.
    assert error.max() <= share * planned.request.tolerance / 3**0.5


def test_hard_and_soft_agree_on_ten_thousand_random_inputs(construction):
    target = construction.plan.target
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    x = low + np.random.default_rng(1).random((10_050, target.tokens, target.width)) * (high - low)
    grid = construction.grid
    inside = np.ones(x.shape, dtype=bool)
    for row in range(target.width):
        slot = np.clip(np.searchsorted(grid.lows[row], x[..., row], side="right") - 1, 0, None)
        inside[..., row] = (x[..., row] >= grid.lows[row][slot]) & (x[..., row] <= grid.highs[row][slot])
    x = x[inside.all(axis=(1, 2))]
    assert len(x) >= 10_000
    soft = af.runtime.run(construction.network, x)
    assert np.array_equal(evaluate(construction.hard_network, x), soft)


def test_the_proof_reaches_the_tolerance(construction):
    planned = construction.plan
    # Paper A's grids were planned with the modulus: prove them with it too, which is quick in any dimension.
    evidence = Evidence.MODULUS if planned.method == SelectiveShift() else None
    asked = planned.request
    bound = derive_bound(
        construction.network, asked.target, construction.grid, asked.p, asked.tolerance, evidence=evidence
    )
    measured = af.proving.certify(construction, bound).measured
    assert measured.low <= bound.upper <= asked.tolerance
    assert bound.lower <= measured.high
    # Where the modulus is attained the bound is the truth itself, and the estimate may lie above it by its own noise.
    assert measured.error <= bound.upper + (measured.high - measured.low) / 2


@pytest.mark.parametrize("far", [1e-3, 0.3, 1.0, 1e3, 1e17, 1e60, 1e300])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["support", "support, width 2", "own support", "own support, width 2"])
def test_outside_the_support_float64_gives_exactly_zero(name, method, far):
    target = TARGETS[name][0]
    planned = plan(name, method)
    network = planned.method.build(planned).network
    rng = np.random.default_rng(2)
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    x = low + (high - low) * rng.random((200, target.tokens, target.width))
    outside = rng.random(x.shape) < 0.4
    outside[np.arange(200), rng.integers(0, 2, 200), 0] = True
    x = np.where(outside, np.where(rng.random(x.shape) < 0.5, low - far, high + far), x)
    assert not af.runtime.run(network, x).any()


def test_positions_and_compact_support_are_refused_with_the_reason():
    target = own(lambda x: 0 * x, tokens=2, lipschitz=1.0, domain=CompactSupport(), symmetry=Symmetry.NONE)
    with pytest.raises(af.AnyformerError, match=r"its value at X with the tokens permuted"):
        af.plan(target, 0.5)


def test_a_shift_that_lands_in_a_later_slot_would_be_shifted_again():
    """Why slots are two grids apart: with the paper's spacing, a token at code 7 of 8 lands on code 15, a window."""
    columns, codes = 8, np.array([7, 8])
    landed = codes[0] + columns * (codes[1] - codes[0])
    assert landed == 15 < 2 * columns
    lattice = plan("positional", "selective-shift").lattice
    least = lattice.slot_codes[1] - (lattice.columns - 1)
    last_code = lattice.slot_codes[1] + lattice.columns - 1
    assert lattice.columns - 1 + lattice.columns * least > last_code


def test_moduli_are_compared_by_what_they_allow():
    bounds = np.full((2, 1, 2, 1), 0.5)
    assert Lipschitz(1.0).largest_deviation(np.ones((2, 1))).max() == 1.0
    assert EntrywiseLipschitz(bounds).largest_deviation(np.ones((2, 1))).max() == 1.0
