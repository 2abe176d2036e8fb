"""Cells by number, in chunks that fit in memory, with sums that do not depend on how they were done."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates import Evidence, Grid, derive_bound
from anyformer.certificates.bounds import interval_bound, job
from anyformer.certificates.bounds.cells import cells_between, count_cells
from anyformer.certificates.bounds.interval_bound import interval_sums
from anyformer.certificates.bounds.job import Job, together
from anyformer.certificates.propagation.enclosures import Arithmetic, Enclosure
from anyformer.certificates.propagation.feed_forward import enclose_feed_forward
from anyformer.construction import Averaging, Construction, Request
from anyformer.networks.runs import Layers
from tests.random_networks import feed_forward_stage


def grid_of(counts: tuple[int, ...]) -> Grid:
    edges = [np.linspace(0, 1, count + 1) for count in counts]
    return Grid(tuple(edge[:-1] for edge in edges), tuple(edge[1:] - 1e-3 for edge in edges))


@pytest.mark.parametrize("counts", [(1,), (5,), (2, 3), (1, 4, 2)])
@pytest.mark.parametrize("tokens", [1, 2, 3, 4])
def test_cells_are_numbered_as_itertools_lists_them(counts, tokens):
    columns = math.prod(counts)
    grid = grid_of(counts)
    for up_to_order, codes in (
        (True, itertools.combinations_with_replacement(range(columns), tokens)),
        (False, itertools.product(range(columns), repeat=tokens)),
    ):
        listed = np.array(list(codes))
        assert count_cells(columns, tokens, up_to_order) == len(listed)
        batch = cells_between(grid, tokens, up_to_order, 0, len(listed))
        assert np.array_equal(batch.choice, grid.columns[listed])
        assert batch.multiplicity.sum() == columns**tokens
        assert batch.coinciding.tolist() == [len(set(row)) < tokens for row in listed.tolist()]
        middle = cells_between(grid, tokens, up_to_order, len(listed) // 3, len(listed) // 2)
        assert np.array_equal(middle.choice, batch.choice[len(listed) // 3 : len(listed) // 2])


def test_many_cells_are_numbered_without_listing_them():
    grid = grid_of((300,))
    count = count_cells(300, 5, True)
    assert cells_between(grid, 5, True, count - 2, count).choice[..., 0].tolist() == [
        [298, 299, 299, 299, 299],
        [299, 299, 299, 299, 299],
    ]


@pytest.mark.parametrize(("tokens", "counts", "positions"), [(2, (70,), True), (3, (31,), False), (5, (9,), False)])
def test_chunks_cover_every_cell_once(tokens, counts, positions):
    one = Job(None, af.targets.mean_scale(tokens=tokens), grid_of(counts), 2.0, not positions)  # type: ignore[arg-type]
    chunks = one.chunks()
    assert chunks[0][0] == 0
    assert chunks[-1][1] == one.count
    assert all(left[1] == right[0] for left, right in itertools.pairwise(chunks))
    assert max(stop - start for start, stop in chunks) * (1 if positions else math.factorial(tokens)) <= job.MOST


def table_of(request: Request, count: int) -> Construction:
    return Averaging().build(Averaging().plan_with(request, (count,)))


@pytest.fixture(scope="module")
def small_job():
    built = table_of(Request(target=af.targets.softmax(tokens=3), tolerance=0.2), 5)
    return Job(built.network, built.plan.target, built.grid, 2.0, up_to_order=True)


def test_a_lower_threshold_goes_on_to_what_it_would_find_from_the_start(small_job):
    chunk = (3, 17)
    interval_bound.forget()
    stepwise = [interval_sums(small_job, (chunk, threshold)) for threshold in (np.inf, 1e-4, 1e-6)]
    interval_bound.forget()
    at_once = interval_sums(small_job, (chunk, 1e-6))
    assert stepwise[-1].parts == at_once.parts
    assert stepwise[-1].lower == at_once.lower
    assert stepwise[0].upper > stepwise[1].upper > stepwise[2].upper >= stepwise[2].lower
    assert stepwise[0].lower <= stepwise[1].lower <= stepwise[2].lower
    assert stepwise[2].gap_per_box <= 1e-6


def test_chunks_add_up_to_the_whole(small_job):
    parts = [interval_sums(small_job, ((start, min(start + 6, 35)), 1e-5)) for start in range(0, 35, 6)]
    whole = interval_sums(small_job, ((0, 35), 1e-5))
    both = together(parts)
    # The same numbers, added in another order: 35 · 6 cells lose a few ulps.
    assert math.isclose(both.upper, whole.upper, rel_tol=1e-12)
    assert math.isclose(both.lower, whole.lower, rel_tol=1e-12)
    assert both.boxes == whole.boxes
    assert np.array_equal(both.f_low, whole.f_low)
    assert np.array_equal(both.f_high, whole.f_high)


def test_skipping_encloses_what_walking_every_layer_encloses():
    stage = feed_forward_stage(np.random.default_rng(0), layers=12, hidden=4, width=3)
    low = np.random.default_rng(1).normal(size=(20, 3))
    boxes = Enclosure.box(low, low + np.linspace(0, 1e-3, 20)[:, None])
    awake, everything = (enclose_feed_forward(stage, boxes, Arithmetic.FLOAT64_AND_REAL, which) for which in Layers)
    assert np.array_equal(awake.low, everything.low)
    assert np.array_equal(awake.high, everything.high)


def peak_memory(count: int) -> int:
    """While proving, beyond the weights and what is made of them once."""
    built = table_of(Request(target=af.targets.mean_scale(tokens=2), tolerance=0.5), count)

    def prove() -> None:
        derive_bound(
            built.network, built.plan.target, built.grid, 2.0, 0.5, tightness=1e9, evidence=Evidence.UNCONDITIONAL
        )

    prove()
    tracemalloc.start()
    prove()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_cells(monkeypatch):
    monkeypatch.setattr(job, "MOST", 1 << 8)
    monkeypatch.setattr(job, "LEAST", 1 << 8)
    monkeypatch.setattr(interval_bound, "CHUNK_BOXES", 1 << 10)
    few, many = peak_memory(50), peak_memory(100)  # 1,275 and 5,050 cells, 50 and 100 columns
    assert many < 2 * few
    monkeypatch.setattr(job, "MOST", 1 << 15)
    monkeypatch.setattr(job, "LEAST", 1 << 15)
    assert peak_memory(100) > 4 * many  # all cells at once: this test can fail
