import numpy as np
import pytest

from anyformer.errors import NetworkError
from anyformer.networks import AttentionStage, BlockShape, FeedForwardStage, Network
from anyformer.networks.digest import digest
from tests.random_networks import attention_stage, feed_forward_stage, random_network


def test_a_block_of_t_2_1_4_has_17d_plus_6_parameters():
    for width in range(1, 7):
        assert BlockShape(2, 1, 4).parameters(width) == 17 * width + 6


def test_parameter_count_is_what_is_stored():
    network = random_network(seed=0, tokens=3, width=2, positions=True)
    stored = sum(
        array.size
        for stage in network.stages
        for array in (
            (stage.W_Q, stage.b_Q, stage.W_K, stage.W_V, stage.W_O)
            if isinstance(stage, AttentionStage)
            else (stage.W_1, stage.b_1, stage.W_2, stage.b_2)
        )
    )
    assert network.parameter_count == stored + 3 * 2


def test_arrays_that_do_not_fit_are_named():
    good = feed_forward_stage(np.random.default_rng(0), layers=5, hidden=4, width=3)
    with pytest.raises(NetworkError, match=r"W_2 \[layers, width, hidden_size\].*shape \(5, 7, 4\).*width is 3"):
        FeedForwardStage("bad", good.W_1, good.b_1, np.zeros((5, 7, 4)), good.b_2)
    with pytest.raises(NetworkError, match=r"b_1 of FeedForwardStage must have the axes \[layers, hidden_size\]"):
        FeedForwardStage("bad", good.W_1, good.b_1[0], good.W_2, good.b_2)
    spoilt = good.W_1.copy()
    spoilt[2, 1, 0] = np.nan
    with pytest.raises(NetworkError, match=r"W_1 must be finite; got nan at index \(2, 1, 0\)"):
        FeedForwardStage("bad", spoilt, good.b_1, good.W_2, good.b_2)


def test_a_stage_of_another_shape_is_refused():
    stage = feed_forward_stage(np.random.default_rng(0), layers=2, hidden=5, width=3)
    with pytest.raises(NetworkError, match=r"stage 'random' has hidden_size 5, but the network's is 4"):
        Network(4, 3, BlockShape(), (stage,))


def test_positions_of_another_shape_are_refused():
    with pytest.raises(NetworkError, match=r"\(tokens, width\) = \(4, 3\); got shape \(3, 4\)"):
        Network(4, 3, BlockShape(), (), np.zeros((3, 4)))


def test_weights_cannot_be_changed_behind_our_back():
    network = random_network(seed=1, tokens=3, width=2)
    with pytest.raises(ValueError, match="read-only"):
        network.stages[0].W_1[0, 0, 0] = 1.0  # type: ignore[union-attr]


def test_blocks_pair_each_attention_layer_with_the_feed_forward_layer_after_it():
    rng = np.random.default_rng(2)
    attention, feed = attention_stage(rng, layers=3, width=2), feed_forward_stage(rng, layers=2, hidden=4, width=2)
    blocks = list(Network(3, 2, BlockShape(), (attention, feed)).blocks())
    assert len(blocks) == 4
    assert not blocks[0].feed_forward.W_2.any()
    assert np.array_equal(blocks[2].attention.W_Q, attention.W_Q[2])
    assert np.array_equal(blocks[2].feed_forward.W_1, feed.W_1[0])
    assert not blocks[3].attention.W_O.any()


def test_the_digest_changes_with_any_bit_name_or_order():
    network = random_network(seed=3, tokens=3, width=2, positions=True)
    stages = network.stages
    first = stages[0]
    assert isinstance(first, FeedForwardStage)
    flipped = first.W_1.copy()
    flipped[0, 0, 0] = np.nextafter(flipped[0, 0, 0], np.inf)
    changed = [
        (FeedForwardStage(first.name, flipped, first.b_1, first.W_2, first.b_2), *stages[1:]),
        (FeedForwardStage("other", first.W_1, first.b_1, first.W_2, first.b_2), *stages[1:]),
        stages[::-1],
        stages[:-1],
    ]
    digests = {digest(Network(3, 2, network.shape, some, network.positional_encoding)) for some in changed}
    digests |= {digest(network), digest(Network(3, 2, network.shape, stages))}
    assert len(digests) == 6


def test_networks_show_their_stages_and_not_their_numbers():
    ones = np.ones((50_000, 4, 2))
    stage = FeedForwardStage("value map", ones, ones[..., 0], ones.swapaxes(1, 2), ones[:, 0])
    assert repr(stage) == (
        "FeedForwardStage(name='value map', activation=ReLU(), role=Role.OTHER, layers=50000, hidden_size=4, width=2)"
    )
    shown = repr(Network(3, 2, BlockShape(), (stage,), positional_encoding=np.ones((3, 2))))
    assert repr(stage) in shown
    assert "positional_encoding" in shown
    assert "array" not in shown
