"""Networks with an embedding and stages of different sizes, as data: what they hold, refuse, count and mean."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from anyformer.errors import NetworkError
from anyformer.networks import AttentionStage, BlockShape, Network, evaluate
from anyformer.networks.digest import digest
from anyformer.networks.evaluate import apply_attention, apply_feed_forward
from tests.random_networks import attention_stage, embedded_network, feed_forward_stage, random_network


@pytest.fixture
def network() -> Network:
    return embedded_network(0, tokens=5, width=3, stream=11)


def test_its_sizes(network):
    assert (network.tokens, network.width, network.stream_width) == (5, 3, 11)
    assert network.has_embedding
    table = random_network(0, tokens=5, width=3)
    assert (table.stream_width, table.has_embedding) == (3, False)


def test_the_embedding_is_given_as_a_whole(network):
    for missing in ("W_E", "W_R", "b_R"):
        with pytest.raises(NetworkError, match=f"W_E, W_R, b_R must be given together or not at all; {missing} is mis"):
            replace(network, **{missing: None})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("W_E", np.zeros((11, 2)), r"W_E must be .* \(stream_width, width\) = \(11, 3\); got shape \(11, 2\)"),
        ("W_E", 1.0, r"W_E must be .* = \(1, 3\); got shape \(\)"),
        ("W_R", np.zeros((11, 3)), r"W_R must be .* \(width, stream_width\) = \(3, 11\); got shape \(11, 3\)"),
        ("W_R", np.full((3, 11), np.inf), r"W_R must be finite .*; got shape \(3, 11\) and inf at index \(0, 0\)"),
        ("b_R", np.array([0.0, 1.0, np.nan]), r"b_R must be finite .*; got shape \(3,\) and nan at index \(2,\)"),
        ("b_R", np.zeros((3, 1)), r"b_R must be finite and of shape \(width\) = \(3\); got shape \(3, 1\)"),
        ("positional_encoding", np.zeros((5, 3)), r"\(tokens, stream_width\) = \(5, 11\); got shape \(5, 3\)"),
        ("W_E", np.zeros((12, 3)), r"W_R must be finite and of shape \(width, stream_width\) = \(3, 12\)"),
        ("shape", BlockShape(3, 3, 13), r"stage 'mix' has heads 4, but the network's is 3, the most that a stage may"),
        ("shape", BlockShape(4, 2, 13), r"stage 'mix' has head_size 3, but the network's is 2"),
        ("shape", BlockShape(4, 3, 12), r"stage 'feed' has hidden_size 13, but the network's is 12"),
    ],
)
def test_wrong_arrays_are_refused(network, name, value, message):
    with pytest.raises(NetworkError, match=message):
        replace(network, **{name: value})


def test_a_stage_has_the_width_of_the_stream(network):
    stage = feed_forward_stage(np.random.default_rng(0), 1, 4, 3)
    with pytest.raises(NetworkError, match="stage 'random' has width 3, but the network's is 11"):
        replace(network, stages=(stage,))


def test_arrays_are_frozen_in_copies_too(network):
    for one in (network, copy.deepcopy(network), pickle.loads(pickle.dumps(network)), copy.copy(network)):
        for name in ("W_E", "W_R", "b_R", "positional_encoding"):
            array = getattr(one, name)
            assert np.array_equal(array, getattr(network, name))
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0
        assert digest(one) == digest(network)


def test_the_digest_knows_everything(network):
    other = {
        "W_E": network.W_E + 1,
        "W_R": network.W_R + 1,
        "b_R": network.b_R + 1,
        "shape": BlockShape(4, 3, 14),
        "positional_encoding": None,
    }
    digests = {digest(replace(network, **{name: value})) for name, value in other.items()}
    assert len(digests | {digest(network)}) == 6


def test_digests_without_an_embedding_are_what_they_always_were():
    assert digest(random_network(7, tokens=5, width=3, positions=True)) == DIGEST


# Computed before networks could have an embedding.
DIGEST = "5d9bd472715a395cbf063d191d6a303cf7b17d4f959706c493fcf9b4918d4037"


def test_parameters_are_the_numbers_stored(network):
    # By hand, at width 11: 2 layers of 7 units, one of 13, one of 4; heads of size 3, four, and of size 2, in 2 layers.
    feed_forward = 2 * (7 * 23 + 11) + (13 * 23 + 11) + (4 * 23 + 11)
    attention = 4 * 3 * (4 * 11 + 1) + 2 * 1 * 2 * (4 * 11 + 1)
    assert network.parameter_count == feed_forward + attention + 5 * 11 + 11 * 3 + 3 * 11 + 3
    assert network.hidden_unit_count == 2 * 7 + 13 + 4


def test_parameters_of_a_table_network_follow_from_its_shape():
    table = random_network(0, tokens=5, width=3, positions=True)
    one = table.shape.attention_parameters(3), table.shape.feed_forward_parameters(3)
    assert table.parameter_count == 2 * one[0] + 8 * one[1] + 5 * 3


def test_blocks_have_one_shape_and_the_same_meaning(network):
    x = np.random.default_rng(1).normal(size=(4, 5, 11))
    by_blocks, by_stages = x, x
    blocks = list(network.blocks())
    for block in blocks:
        assert block.attention.sizes == {"heads": 4, "head_size": 3, "width": 11}
        assert block.feed_forward.sizes == {"hidden_size": 13, "width": 11}
        by_blocks = apply_feed_forward(block.feed_forward, apply_attention(block.attention, by_blocks))
    for stage in network.stages:
        for k in range(len(stage)):
            by_stages = (apply_attention if isinstance(stage, AttentionStage) else apply_feed_forward)(
                stage[k], by_stages
            )
    assert len(blocks) == 5
    assert np.array_equal(by_blocks + 0.0, by_stages + 0.0)


def test_it_means_embedding_positions_stages_and_read_out():
    """Against plain matrix products, which round otherwise."""
    rng = np.random.default_rng(4)
    stage = feed_forward_stage(rng, layers=1, hidden=6, width=7)
    W_E, W_R, b_R, E = (rng.normal(size=shape) for shape in ((7, 3), (3, 7), (3,), (5, 7)))
    network = Network(5, 3, BlockShape(1, 1, 6), (stage,), E, None, W_E, W_R, b_R)
    x = rng.normal(size=(4, 5, 3))
    state = x @ W_E.T + E
    state = state + np.maximum(state @ stage.W_1[0].T + stage.b_1[0], 0) @ stage.W_2[0].T + stage.b_2[0]
    # Sums of at most 7 products through 4 maps: by the absolute values, a few hundred roundings at most.
    size = np.abs(x) @ np.abs(W_E.T) + np.abs(E)
    size = size + (size @ np.abs(stage.W_1[0].T) + np.abs(stage.b_1[0])) @ np.abs(stage.W_2[0].T) + np.abs(stage.b_2[0])
    size = size @ np.abs(W_R.T) + np.abs(b_R)
    assert (np.abs(evaluate(network, x) - (state @ W_R.T + b_R)) <= 200 * 2**-53 * size).all()


def test_an_embedding_that_changes_nothing():
    table = random_network(2, tokens=5, width=3, positions=True)
    around = replace(table, W_E=np.eye(3), W_R=np.eye(3), b_R=np.zeros(3))
    x = np.random.default_rng(0).normal(size=(4, 5, 3))
    assert np.array_equal(evaluate(around, x), evaluate(table, x))
    assert digest(around) != digest(table)


def test_a_line_a_stage_and_one_for_the_stream(network):
    lines = repr(network).splitlines()
    assert lines[1:4] == [
        "  tokens=5, width=3, BlockShape(heads=4, head_size=3, hidden_size=13)",
        "  stream_width=11",
        "  positional_encoding: 5 × 11",
    ]


def test_smaller_stages_need_no_embedding():
    rng = np.random.default_rng(0)
    stages = feed_forward_stage(rng, 2, 3, 2), attention_stage(rng, 1, 2, heads=1), feed_forward_stage(rng, 1, 4, 2)
    network = Network(3, 2, BlockShape(2, 1, 4), stages)
    assert {tuple(block.feed_forward.sizes.values()) for block in network.blocks()} == {(4, 2)}
    padded = [block.feed_forward for block in network.blocks()]
    assert not padded[0].W_2[:, 3].any()
