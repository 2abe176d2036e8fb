"""The contextual map: ids are the network's own, and collisions are seen."""

from dataclasses import replace

import numpy as np
import pytest

import anyformer as af
from anyformer.contextuality.models.grids import number_of_contexts
from anyformer.networks.layers import AttentionStage
from anyformer.reports.figures.context_ids import NEIGHBOURS, context_ids_of, draw_context_ids, plates
from anyformer.reports.figures.subject import LeftOut, Subject
from anyformer.reports.tracing.trace import trace


@pytest.mark.parametrize("name", ["table", "bump", "sparse", "shifts"])
def test_ids_are_those_of_the_trace_and_never_collide(name, request):
    subject = request.getfixturevalue(name)
    network, certificate = subject.network, subject.certificate
    shown = context_ids_of(network, certificate.grid)
    assert shown.found.is_contextual
    assert shown.closest >= 1
    assert len(shown.ids) == shown.total
    assert len(np.unique(shown.ids)) == shown.ids.size
    for context in (0, len(shown.ids) - 1):
        low, high = certificate.grid.lows[0], certificate.grid.highs[0]
        x = ((low + high) / 2)[shown.cells[context]][:, None]
        assert trace(network, certificate, x).context_ids == tuple(shown.ids[context].tolist())


def colliding(subject: Subject) -> af.Network:
    """Attention that adds nothing: a token's id is then its own cell's."""
    stages = [
        replace(stage, W_V=0 * stage.W_V) if isinstance(stage, AttentionStage) else stage
        for stage in subject.network.stages
    ]
    return replace(subject.network, stages=tuple(stages))


def test_a_collision_is_seen(shifts):
    network = colliding(shifts)
    shown = context_ids_of(network, shifts.certificate.grid)
    assert not shown.found.is_contextual
    assert shown.closest == 0
    (plate,) = plates(Subject(af.Model(network, shifts.certificate), None, None))
    assert "some collide: " in plate.caption


def test_many_contexts_are_sampled(table):
    shown = context_ids_of(table.network, table.certificate.grid, most=2)
    assert len(shown.ids) <= 2 < shown.total == 4
    again = context_ids_of(table.network, table.certificate.grid, most=2)
    np.testing.assert_array_equal(shown.ids, again.ids)


def test_very_many_contexts_are_not_counted(table):
    grid = table.certificate.grid
    ends = np.linspace(0, 1, 10**5 + 1)
    fine = replace(grid, lows=(ends[:-1],), highs=(ends[1:],))
    assert number_of_contexts(10**5, 3, False) == 10**15
    assert number_of_contexts(10**11, 3, True) is None
    assert len(context_ids_of(table.network, fine, most=5).cells) <= 5


def test_every_id_is_drawn_at_its_place(shifts, sparse):
    few = context_ids_of(shifts.network, shifts.certificate.grid)
    many = context_ids_of(sparse.network, sparse.certificate.grid)
    assert many.ids.size > NEIGHBOURS
    line, near = draw_context_ids(many).axes
    (drawn,) = line.collections
    assert [segment[0][0] for segment in drawn.get_segments()] == sorted(many.ids.ravel().tolist())
    assert len(near.texts) == NEIGHBOURS
    if few.ids.size <= NEIGHBOURS:
        (only,) = draw_context_ids(few).axes
        assert len(only.texts) == few.ids.size


def test_names_tell_cell_and_context(table):
    shown = context_ids_of(table.network, table.certificate.grid)
    (panel,) = draw_context_ids(shown).axes
    order = np.argsort(shown.ids.ravel())
    context, token = divmod(int(order[0]), 3)
    cells = shown.cells[context].tolist()
    assert panel.texts[0].get_text() == f"{cells[token]} in ({', '.join(map(str, cells))})"


def test_only_tables_have_ids(softmax, interpolant):
    assert plates(softmax) == plates(interpolant) == []


def test_without_different_tokens_there_is_no_context(table):
    one = replace(table.certificate.grid, lows=(np.array([0.0]),), highs=(np.array([1.0]),))
    assert context_ids_of(table.network, one) is None
    certificate = replace(table.certificate, grid=one)
    (found,) = plates(Subject(af.Model(table.network, certificate), None, None))
    assert isinstance(found, LeftOut)
