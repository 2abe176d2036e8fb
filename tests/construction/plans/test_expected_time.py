"""The time expected is that of a small proof on a few cells, times the number of cells."""

from types import SimpleNamespace

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates.bounds.effort import WORK_BOXES
from anyformer.construction.plans import expected_time
from anyformer.construction.plans.expected_time import cutting_seconds


def seconds_at(monkeypatch, target, tolerance, **asked):
    """What is expected if every look at a clock is a second after the last."""
    plan = af.plan(target, tolerance, method="averaging", **asked)
    clock = iter(range(10_000))
    monkeypatch.setattr(expected_time, "time", SimpleNamespace(perf_counter=lambda: float(next(clock))))
    return plan, cutting_seconds(plan.request, plan.lattice, plan.ramp)


def test_the_sample_stands_for_all_cells(monkeypatch):
    plan, seconds = seconds_at(monkeypatch, af.targets.centre(tokens=2), 0.02)
    assert seconds == pytest.approx(plan.cells / expected_time.SAMPLED_CELLS)


def test_what_the_sample_could_not_finish_is_added(monkeypatch):
    monkeypatch.setattr(expected_time, "MOST_BOXES", 64)
    plan, seconds = seconds_at(monkeypatch, af.targets.softmax(tokens=3), 0.05)
    assert seconds > 2 * plan.cells / expected_time.SAMPLED_CELLS
    assert seconds <= WORK_BOXES


def test_with_a_modulus_nothing_is_cut():
    own = af.target(lambda x: x / 2, tokens=2, lipschitz=0.5, vectorised=False)
    plan = af.plan(own, 0.3, method="averaging")
    assert cutting_seconds(plan.request, plan.lattice, plan.ramp) == 0.0
    assert plan.expected_seconds == plan.cost.following_seconds


def test_the_cells_are_those_of_the_grid():
    plan = af.plan(af.target(lambda x: x * np.array([1.0, 0.3]), tokens=2, width=2), 0.2, method="averaging")
    job = expected_time._SampledCells.of(plan.request, plan.lattice, plan.ramp)
    assert plan.lattice.counts[0] != plan.lattice.counts[1]
    batch, boxes, values = job.followed((0, len(job.codes)))
    assert np.array_equal(batch.choice, plan.lattice.column_table()[job.codes])
    centres = plan.lattice.centres(job.codes)
    assert ((boxes.low <= centres) & (centres <= boxes.high)).all()
    assert np.allclose(values.low, plan.target(centres))
