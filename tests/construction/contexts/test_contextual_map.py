"""Paper A's contextual map, exhaustively on small sizes, as integers and as the network computes it."""

import itertools

import numpy as np
import pytest

import anyformer as af
from anyformer import check_contextual_map
from anyformer.construction.contexts.selective_shifts import SelectiveShifts, largest_shifted, shifted_codes
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.stages.quantise import quantise
from anyformer.networks import BlockShape, Network, evaluate
from anyformer.targets import Box, Symmetry

SIZES = [(2, 1, 4), (2, 1, 8), (2, 2, 2), (2, 2, 4), (2, 3, 2), (3, 1, 4), (3, 1, 8), (3, 2, 4), (4, 1, 4), (5, 1, 8)]


def lattice(tokens: int, width: int, count: int, positions: bool) -> Lattice:
    # Coordinates of different length, so that a swapped axis cannot hide: the last one has one cell less.
    highs = (1.0,) * (width - 1) + ((1.0 if width == 1 else 1.0 - 1 / count),)
    symmetry = Symmetry.NONE if positions else Symmetry.EQUIVARIANT
    target = af.target(np.cos, tokens=tokens, width=width, lipschitz=1.0, domain=Box(0.0, highs), symmetry=symmetry)
    return Lattice.dyadic(target, 1 / count)


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize(("tokens", "width", "count"), SIZES)
def test_ids_are_a_contextual_map(tokens, width, count, positions):
    grid = lattice(tokens, width, count, positions)
    if grid.sequences > 20_000:
        pytest.skip("too many sequences to list")
    codes = grid.sequence_codes()
    ids = SelectiveShifts(grid).ids(codes)
    symmetry = Symmetry.NONE if positions else Symmetry.EQUIVARIANT
    report = check_contextual_map(codes, ids, symmetry)
    assert report.is_contextual, report
    assert ids.max() <= SelectiveShifts(grid).largest_id
    x = shifted_codes(codes + grid.slot_codes, grid.columns)
    assert x.max() == largest_shifted(grid)
    assert (np.diff(x, axis=1) > 0).all()


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize(("tokens", "width", "count"), [(2, 1, 8), (2, 2, 2), (3, 1, 4), (3, 2, 4), (4, 1, 4)])
def test_the_hard_network_computes_these_ids(tokens, width, count, positions):
    grid = lattice(tokens, width, count, positions)
    stages = tuple(
        draft.stage for draft in (*quantise(grid, ramp=2.0**-20), *SelectiveShifts(grid).stages(grid, slots=2))
    )
    network = Network(tokens, width, BlockShape(2, 1, 1), stages, grid.positional_encoding)
    codes = grid.sequence_codes()
    readings = evaluate(network, grid.centres(codes)) @ np.array(grid.radices)
    assert np.array_equal(readings / grid.cell_width, SelectiveShifts(grid).ids(codes))


@pytest.mark.parametrize(
    ("tokens", "width", "count"), [(2, 1, 8), (2, 2, 4), (3, 1, 8), (3, 2, 4), (4, 1, 4), (5, 1, 8)]
)
def test_sequences_with_equal_columns_stay_below_every_id(tokens, width, count):
    grid = lattice(tokens, width, count, positions=False)
    stages = tuple(
        draft.stage for draft in (*quantise(grid, ramp=2.0**-20), *SelectiveShifts(grid).stages(grid, slots=2))
    )
    network = Network(tokens, width, BlockShape(2, 1, 1), stages)
    rows = [
        row for row in itertools.combinations_with_replacement(range(grid.columns), tokens) if len(set(row)) < tokens
    ]
    readings = evaluate(network, grid.centres(np.array(rows))) @ np.array(grid.radices) / grid.cell_width
    # Half a cell is what the value map's ramp leaves; thirds are not floats, so the readings may be a little off.
    assert readings.max() < SelectiveShifts(grid).ids(grid.sequence_codes()).min() - 0.6


def test_planted_faults_are_found_with_a_witness():
    sequences = np.array([[0, 1, 2], [0, 1, 3], [2, 1, 0]])
    good = np.array([[10, 11, 12], [20, 21, 22], [12, 11, 10]])
    assert check_contextual_map(sequences, good).is_contextual
    twice = good.copy()
    twice[1, 2] = 20
    report = check_contextual_map(sequences, twice)
    assert (report.is_contextual, report.witness) == (False, ((1, 0), (1, 2)))
    shared = good.copy()
    shared[1, 1] = 11
    report = check_contextual_map(sequences, shared)
    assert report.witness == ((0, 1), (1, 1))
    assert "are different but share an id" in report.reason
    crossed = good.copy()
    crossed[2] = [10, 11, 12]
    assert "not permuted alike" in check_contextual_map(sequences, crossed).reason
    assert not check_contextual_map(sequences, good, Symmetry.NONE).is_contextual


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(Exception, match=r"ids must have shape \(count, tokens\).*got \(2, 2\) and \(2, 3\)"):
        check_contextual_map([[0, 1, 2], [0, 1, 3]], [[1, 2], [3, 4]])


def test_hardmax_cannot_count():
    """Why sequences with equal columns are lost: {a, a, b} and {a, b, b} get the same ids."""
    grid = lattice(3, 1, 4, positions=False)
    stages = tuple(
        draft.stage for draft in (*quantise(grid, ramp=2.0**-20), *SelectiveShifts(grid).stages(grid, slots=2))
    )
    ids = evaluate(Network(3, 1, BlockShape(2, 1, 1), stages), grid.centres(np.array([[0, 0, 3], [0, 3, 3]])))
    assert set(ids[0].ravel()) == set(ids[1].ravel())
