"""The averaging method's own parts: codes, multipliers, runs of ids, hidden units; and what it must reach."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anyformer as af
from anyformer import check_contextual_map, plan
from anyformer.certificates import Evidence
from anyformer.construction import Averaging
from anyformer.construction.codes.multipliers import multiset_multiplier, positional_codes, positional_multiplier
from anyformer.construction.codes.sidon import (
    bose_chowla_codes,
    collision_free_codes,
    erdos_turan_codes,
    greedy_codes,
)
from anyformer.construction.codes.sums import sum_codes
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.grids.sequences import all_sequences, id_count
from anyformer.construction.stages.value_runs import find_runs
from anyformer.errors import PlanError
from anyformer.networks import BlockShape, evaluate
from anyformer.targets import Symmetry

SIZES = [(2, 4), (2, 8), (2, 16), (3, 4), (3, 8), (4, 4), (4, 6), (5, 4)]


def sums_are_different(codes: np.ndarray, order: int) -> bool:
    sums = [sum(row) for row in itertools.combinations_with_replacement(codes.tolist(), order)]
    return len(set(sums)) == len(sums)


@pytest.mark.parametrize(("order", "count"), [(2, 12), (3, 10), (4, 7), (5, 6)])
def test_sums_of_codes_never_collide(order, count):
    for codes in (greedy_codes(count, order), bose_chowla_codes(count, order), collision_free_codes(count, order)):
        assert len(codes) == count
        assert codes[0] == 0
        assert (np.diff(codes) > 0).all()
        assert sums_are_different(codes, order)
    assert sums_are_different(erdos_turan_codes(count), 2)


def test_the_greedy_set_for_two_is_mian_and_chowlas():
    assert greedy_codes(10, 2).tolist() == [0, 1, 3, 7, 12, 20, 30, 44, 65, 80]


def test_this_check_can_fail():
    assert not sums_are_different(np.array([0, 1, 2]), 2)


def first_that_separates(own: np.ndarray, total: np.ndarray) -> int:
    return next(k for k in itertools.count(1) if len(np.unique(own + k * total)) == len(own))


@pytest.mark.parametrize(("tokens", "columns"), SIZES)
def test_the_multiplier_is_the_smallest_that_separates(tokens, columns):
    codes, factor = collision_free_codes(columns, tokens), 1 if tokens in (2, 4) else tokens
    pairs = [
        (factor * codes[c], codes[list(row)].sum())
        for row in itertools.combinations_with_replacement(range(columns), tokens)
        for c in set(row)
    ]
    assert multiset_multiplier(codes, tokens, factor) == first_that_separates(*np.array(pairs).T)


@pytest.mark.parametrize(("tokens", "columns"), SIZES)
def test_so_it_is_with_positions(tokens, columns):
    codes, factor = positional_codes(columns, tokens), 1 if tokens in (2, 4) else tokens
    rows = np.array(list(itertools.product(range(columns), repeat=tokens)))
    own = codes[np.arange(tokens), rows]
    total = np.broadcast_to(own.sum(axis=1, keepdims=True), own.shape)
    assert positional_multiplier(codes, factor) == first_that_separates((factor * own).ravel(), total.ravel())


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize(("tokens", "columns"), SIZES)
def test_ids_are_a_contextual_map_on_every_sequence(tokens, columns, positions):
    symmetry = Symmetry.NONE if positions else Symmetry.EQUIVARIANT
    lattice = Lattice.with_counts(af.target(np.cos, tokens=tokens, symmetry=symmetry), (columns,))
    sequences = all_sequences(lattice)
    ids = sum_codes(lattice).ids(sequences)
    assert len(np.unique(ids)) == id_count(lattice)
    assert ids.max() <= sum_codes(lattice).largest_id
    different = np.array([len(set(row)) == tokens for row in sequences.tolist()])
    chosen = different if not positions else np.ones(len(sequences), dtype=bool)
    assert check_contextual_map(
        sequences[chosen] + 100 * np.arange(tokens) * positions, ids[chosen], symmetry
    ).is_contextual


def test_averages_count_where_maxima_do_not():
    lattice = Lattice.with_counts(af.target(np.cos, tokens=3), (4,))
    ids = sum_codes(lattice).ids(np.array([[0, 0, 3], [0, 3, 3]]))
    assert not set(ids[0]) & set(ids[1])


@given(
    st.lists(st.tuples(st.integers(1, 9), st.floats(-1, 1)), min_size=1, max_size=30),
    st.floats(0, 1),
    st.integers(1, 4),
)
def test_runs_hold_ids_with_like_values_and_groups_reach_no_further_than_allowed(steps, spread, slots):
    ids = np.cumsum([gap for gap, _ in steps])
    outputs = np.array([[value, -value] for _, value in steps])
    runs = find_runs(ids, outputs, spread, slots, widest=12)
    place = np.searchsorted(-runs.lowest, -ids)
    assert (runs.lowest[place] <= ids).all()
    assert (ids <= runs.highest[place]).all()
    assert np.abs(runs.values[place] - outputs).max() <= spread / 2 * (1 + 1e-12)
    assert runs.widest <= 12
    assert np.bincount(runs.group).max() <= slots


@pytest.mark.parametrize("hidden_size", [4, 8, 30])
def test_more_hidden_units_make_shallower_networks_with_the_same_values(hidden_size):
    target = af.targets.softmax(tokens=3)
    narrow = af.construct(target, 0.15, method="averaging")
    wide = af.construct(target, 0.15, method="averaging", hidden_size=hidden_size)
    x = np.random.default_rng(0).random((300, 3, 1))
    # Values may be merged differently; both stay within their shares of the tolerance of the same table.
    assert np.abs(wide(x) - narrow(x)).max() <= 2 * 0.15 * (2.0**-6 + 2.0**-12)
    assert wide.network.shape.hidden_size == hidden_size
    assert wide.network.layer_count <= narrow.network.layer_count
    assert wide.verify().verdict is af.Verdict.PROVED


def test_runs_equal_the_reference_bit_for_bit(averaged_models):
    for model in averaged_models:
        x = np.random.default_rng(1).random((400, model.network.tokens, model.network.width))
        assert np.array_equal(model(x), evaluate(model.network, x))


def test_all_are_proved_without_any_declaration(averaged_models):
    for model in averaged_models:
        assert model.certificate.kind is Evidence.UNCONDITIONAL
        assert model.certificate.construction["method"] == "averaging"
        assert model.verify().verdict is af.Verdict.PROVED
        assert model.network.attention_layer_count == 1
        assert model.certificate.measured.low <= model.certificate.certified_error
        # The bound is tight, not only true.
        assert model.certificate.certified_error <= 2 * model.certificate.measured.error


def test_what_needs_half_a_billion_layers_by_selective_shifts():
    target = af.targets.mean_scale(tokens=3)
    planned = plan(target, 0.05, method="averaging")
    assert planned.method == Averaging()
    assert planned.layers < 600
    with pytest.raises(PlanError, match=r"5\d\d,\d{3},\d{3} layers"):
        plan(target, 0.05, method="selective-shift")


def test_a_refusal_names_a_tolerance_that_fits():
    target = af.targets.softmax(tokens=3)
    with pytest.raises(PlanError, match="layers where 200 are allowed") as refusal:
        plan(target, 0.01, method="averaging", max_layers=200)
    tolerance = refusal.value.refusal.fit.tolerance
    assert tolerance > 0.01
    assert plan(target, tolerance, method="averaging", max_layers=200).layers <= 200


@pytest.mark.parametrize("method", ["averaging", "selective-shift"])
@pytest.mark.parametrize(("name", "least"), [("hidden_size", 4), ("heads", 2)])
def test_blocks_smaller_than_those_of_tables_are_refused(method, name, least):
    target = af.targets.mean_scale(tokens=2)
    with pytest.raises(PlanError, match=f"{name} must be at least {least} for {method}; got {least - 1}"):
        plan(target, 0.3, method=method, **{name: least - 1})
    assert plan(target, 0.3, method=method, **{name: least}).shape == BlockShape(2, 1, 4)
    assert plan(target, 0.3, method=method).shape == BlockShape(2, 1, 4)


def test_coordinates_that_matter_more_get_more_cells():
    def lopsided(x):
        return x * np.array([1.0, 0.1])

    planned = plan(af.target(lopsided, tokens=2, width=2), 0.1, method="averaging")
    assert planned.lattice.counts[0] > planned.lattice.counts[1]


def test_a_plain_numpy_function_needs_no_constant():
    def own(x):
        weights = np.exp(-np.sort(x, axis=1))
        return np.where(x > 0.5, x, 0.5) * weights.sum(axis=1, keepdims=True) / 3

    model = af.construct(af.target(own, tokens=2), 0.2, method="averaging")
    assert model.certificate.kind is Evidence.UNCONDITIONAL
    assert model.verify().verdict is af.Verdict.PROVED


def test_a_function_that_intervals_cannot_follow_asks_for_a_constant():
    def fourier(x):
        return np.abs(np.fft.fft(x, axis=1)) / 4

    with pytest.raises(af.AnyformerError, match=r"fft.*declare a Lipschitz constant"):
        af.construct(af.target(fourier, tokens=2, symmetry=Symmetry.NONE), 0.5, method="averaging")
    model = af.construct(af.target(fourier, tokens=2, lipschitz=0.5, symmetry=Symmetry.NONE), 0.5, method="averaging")
    assert model.certificate.kind is Evidence.MODULUS
