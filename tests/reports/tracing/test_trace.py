from dataclasses import replace

import numpy as np
import pytest

import anyformer as af
from anyformer import plan
from anyformer.certificates import Certificate, Grid, MeasuredError
from anyformer.certificates.bounds.evidence import Evidence
from anyformer.certificates.claims.declaration import Declaration
from anyformer.construction.contexts.selective_shifts import SelectiveShifts
from anyformer.errors import CertificateError, NetworkError
from anyformer.labels.tables.codes import Window
from anyformer.networks.evaluate import add_positions, apply_attention, apply_feed_forward
from anyformer.networks.layers import AttentionLayer
from anyformer.reports import trace
from anyformer.runtime import run
from tests.random_networks import random_network

NAMES = ["mean-scale", "sort", "centre", "bump"]


@pytest.fixture(params=NAMES)
def model(request, small_models):
    return next(model for model in small_models if model.certificate.target.name == request.param)


def sequences_in_cells(model, count=24, seed=3):
    """Random sequences inside cells, in the order of their codes, with those codes."""
    lattice, grid = model.construction.plan.lattice, model.certificate.grid
    rng = np.random.default_rng(seed)
    for _ in range(count):
        codes = np.sort(rng.choice(lattice.columns, size=lattice.tokens, replace=False))
        cells = lattice.column_table()[codes]
        low = np.stack([grid.lows[i][cells[:, i]] for i in range(lattice.width)], axis=1)
        high = np.stack([grid.highs[i][cells[:, i]] for i in range(lattice.width)], axis=1)
        yield low + rng.random(low.shape) * (high - low), codes, cells


def followed(model, x):
    return trace(model.network, model.certificate, x)


def test_outputs_are_those_of_the_model_bit_for_bit(model):
    rng = np.random.default_rng(5)
    for x in rng.uniform(-0.5, 1.5, size=(20, model.network.tokens, model.network.width)):
        assert np.array(followed(model, x).output).tobytes() == model(x).tobytes()


def test_cells_codes_and_ids_are_those_of_the_construction(model):
    lattice = model.construction.plan.lattice
    for x, codes, cells in sequences_in_cells(model):
        seen = followed(model, x)
        assert seen.cells == tuple(map(tuple, cells.tolist()))
        assert seen.columns == tuple(codes.tolist())
        assert seen.unit == lattice.cell_width
        by_name = {stage.name: stage for stage in seen.stages}
        assert by_name["quantise"].codes == tuple((codes + lattice.slot_codes).tolist())
        assert seen.context_ids == by_name["global shift"].codes
        assert seen.context_ids == tuple(SelectiveShifts(lattice).ids(codes[None])[0].tolist())
        assert all(isinstance(one, int) for one in seen.context_ids)


def test_every_layer_that_changes_something_is_recorded_and_no_other(model):
    for x, _, _ in sequences_in_cells(model, count=4):
        state = add_positions(model.network, x[None])
        for stage, seen in zip(model.network.stages, followed(model, x).stages, strict=True):
            expected = []
            for k in range(len(stage)):
                layer = stage[k]
                apply = apply_attention if isinstance(layer, AttentionLayer) else apply_feed_forward
                after = apply(layer, state)
                for token in np.flatnonzero((after != state)[0].any(axis=1)).tolist():
                    expected.append((k, token, tuple(state[0, token].tolist()), tuple(after[0, token].tolist())))
                state = after
            assert [(move.layer, move.token, move.before, move.after) for move in seen.moves] == expected
            assert seen.values == tuple(map(tuple, state[0].tolist()))


def test_a_shifted_token_was_inside_the_window_of_its_layer(model):
    radices = np.array(model.construction.plan.lattice.radices)
    for x, _, _ in sequences_in_cells(model, count=6):
        sweep = next(stage for stage in followed(model, x).stages if stage.name == "selective shifts")
        assert {move.token for move in sweep.moves} == set(range(model.network.tokens))
        for move in sweep.moves:
            assert isinstance(move.window, Window)
            assert move.window.lower < radices @ np.array(move.before) < move.window.upper
            assert move.window.upper - move.window.lower == model.construction.plan.lattice.cell_width


def test_the_value_map_gives_each_token_its_output_in_one_layer(model):
    x, _, _ = next(sequences_in_cells(model))
    seen = followed(model, x)
    values = next(stage for stage in seen.stages if stage.name == "value map")
    assert sorted(move.token for move in values.moves) == list(range(model.network.tokens))
    assert {move.token: move.after for move in values.moves} == dict(enumerate(seen.output))


def test_the_target_is_compared_with_if_it_is_ready_made(model):
    x, _, _ = next(sequences_in_cells(model))
    seen = followed(model, x)
    assert np.array(seen.expected).tobytes() == model.target(x).tobytes()
    assert seen.largest_difference == np.abs(model.target(x) - model(x)).max()


def test_somebodys_own_target_is_not_guessed():
    built = af.construct(
        af.target(lambda x: x / 2, tokens=2, lipschitz=0.5, name="half"), tolerance=0.4, method="averaging"
    )
    seen = followed(built, [[0.1], [0.9]])
    assert seen.expected is None
    assert seen.largest_difference is None


def test_between_the_cells_and_outside_there_is_no_cell(small_models):
    built = small_models[0]
    between = float(built.certificate.grid.highs[0][0] + built.certificate.grid.lows[0][1]) / 2
    seen = followed(built, [[between], [1.5]])
    assert seen.cells == ((None,), (None,))
    assert seen.columns == (None, None)
    assert seen.leaves_domain
    assert not followed(built, [[between], [0.5]]).leaves_domain
    assert np.array(seen.output).tobytes() == built(np.array([[between], [1.5]])).tobytes()


def test_a_certificate_with_compact_support_speaks_of_every_input(small_models):
    bump = next(model for model in small_models if model.certificate.target.name == "bump")
    assert not followed(bump, np.full((bump.network.tokens, bump.network.width), 7.0)).leaves_domain


def test_positions_are_part_of_the_way(small_models):
    positional, equivariant = small_models[1], small_models[0]
    seen = followed(positional, [[0.1], [0.9]])
    encoding = positional.network.positional_encoding
    assert seen.positioned == ((0.1 + encoding[0, 0],), (0.9 + encoding[1, 0],))
    assert followed(equivariant, [[0.1], [0.9]]).positioned is None


@pytest.mark.parametrize("positions", [False, True])
def test_any_network_can_be_walked(positions, small_models):
    network = random_network(seed=7, tokens=3, width=2, positions=positions)
    certificate = replace(
        small_models[2].certificate, target=replace(small_models[2].certificate.target, is_ready_made=False)
    )
    for x in np.random.default_rng(1).normal(size=(5, 3, 2)):
        seen = trace(network, certificate, x)
        assert np.array(seen.output).tobytes() == run(network, x[None])[0].tobytes()
        assert seen.unit is None
        assert all(stage.codes is None for stage in seen.stages)


def test_a_network_of_ten_thousands_of_layers():
    target = af.targets.reverse(tokens=2)
    planned = plan(target, tolerance=0.01, method="selective-shift")
    construction = planned.method.build(planned)
    assert construction.network.layer_count > 8000
    nothing = MeasuredError(0.0, 0.0, 0.0, 0)
    declared = Declaration.of(target)
    claim = Certificate(Evidence.MODULUS, declared, 2.0, 0.01, 0.01, {}, "", nothing, {}, construction.grid)
    seen = trace(construction.network, claim, [[0.15], [0.8]])
    assert seen.output == tuple(map(tuple, run(construction.network, [[[0.15], [0.8]]])[0].tolist()))


def test_hard_networks_are_refused(small_models):
    built = small_models[0]
    with pytest.raises(NetworkError, match="only softmax and ReLU networks are traced"):
        trace(built.construction.hard_network, built.certificate, [[0.1], [0.9]])


def test_networks_with_an_embedding_are_refused(small_models):
    built = small_models[0]
    network = replace(built.network, W_E=np.eye(1), W_R=np.eye(1), b_R=np.zeros(1))
    with pytest.raises(NetworkError, match=r"only networks without an embedding are traced; .* a stream of width 1"):
        trace(network, built.certificate, [[0.1], [0.9]])


@pytest.mark.parametrize("x", [[[0.1]], [[0.1, 0.2], [0.3, 0.4]], [0.1, 0.2]])
def test_wrong_shapes_are_refused(small_models, x):
    with pytest.raises(NetworkError, match=r"must have shape \(batch, tokens, width\)"):
        followed(small_models[0], x)


def test_infinite_inputs_and_overflow_are_refused(small_models):
    with pytest.raises(NetworkError, match="must be finite"):
        followed(small_models[0], [[np.nan], [0.5]])
    with pytest.raises(NetworkError, match="must stay finite; after stage 'selective shifts'"):
        followed(small_models[0], [[1e300], [-1e308]])


def test_a_grid_of_another_width_is_refused(small_models):
    flat = small_models[2].certificate.grid
    claim = replace(small_models[2].certificate, grid=Grid(flat.lows[:1], flat.highs[:1]))
    with pytest.raises(CertificateError, match="one row per coordinate of a token, 2; got 1"):
        trace(small_models[2].network, claim, [[0.1, 0.2], [0.3, 0.4]])
