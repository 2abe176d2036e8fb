import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anyformer.networks import FeedForwardStage
from anyformer.networks.runs import _FirstBelow, runs
from tests.random_networks import feed_forward_stage

finite = st.floats(-1e6, 1e6)


@given(st.lists(finite | st.just(np.inf) | st.just(-np.inf), min_size=1, max_size=40), st.data())
def test_the_tree_finds_what_a_walk_finds(thresholds, data):
    start = data.draw(st.integers(0, len(thresholds)))
    value = data.draw(finite | st.sampled_from(thresholds) | st.just(np.nan))
    value_seen = np.inf if np.isnan(value) else value
    # An infinite value is above everything: that is how tokens of which nothing is known are kept awake.
    found = (k for k in range(start, len(thresholds)) if thresholds[k] < value_seen or value_seen == np.inf)
    expected = next(found, len(thresholds))
    assert _FirstBelow(np.array(thresholds)).first(np.array([start]), np.array([value])).tolist() == [expected]


def parallel_stage(rng: np.random.Generator, layers: int, width: int) -> FeedForwardStage:
    """Layers in runs: three directions, units in both senses, some units idle, some layers with a shift."""
    directions = rng.normal(size=(3, width)).round(2)[np.sort(rng.integers(0, 3, layers))]
    factors = rng.choice([-2.0, -1.0, 0.0, 1.0, 4.0], size=(layers, 4))
    W_2 = rng.normal(size=(layers, width, 4)) * rng.integers(0, 2, (layers, 1, 4))
    b_2 = rng.normal(size=(layers, width)) * (rng.random((layers, 1)) < 0.1)
    return FeedForwardStage(
        "runs", factors[:, :, None] * directions[:, None, :], rng.normal(size=(layers, 4)) - 1, W_2, b_2
    )


@given(st.integers(0, 10**6))
def test_no_layer_that_changes_a_token_is_skipped(seed):
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 4))
    stage = parallel_stage(rng, 17, width) if seed % 2 else feed_forward_stage(rng, 17, 4, width)
    x = rng.normal(size=(9, width)) * 2
    for run in runs(stage):
        for layer in range(run.start, run.stop):
            low, high = run.reading(x, x)
            skipped = run.next_awake(np.full(9, layer), low, high) != layer
            one = stage[layer]
            change = np.maximum(x @ one.W_1.T + one.b_1, 0) @ one.W_2.T + one.b_2
            assert not change[skipped].any()


def test_runs_cover_every_layer_once_and_keep_one_direction_together():
    stage = parallel_stage(np.random.default_rng(0), 23, 3)
    found = runs(stage)
    assert [run.start for run in found] == [0, *(run.stop for run in found)][:-1]
    assert found[-1].stop == 23
    descending = FeedForwardStage(
        "one", np.full((50, 4, 2), 3.0), -np.arange(200.0).reshape(50, 4), np.ones((50, 2, 4)), np.zeros((50, 2))
    )
    assert len(runs(descending)) == 1
