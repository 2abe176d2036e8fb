import numpy as np
import pytest

from anyformer.errors import NetworkError
from anyformer.networks import AttentionStage, BlockShape, Hardmax, Network, PiecewiseLinear, ReLU, Softmax, evaluate
from anyformer.networks.activations import pieces, step
from tests.random_networks import attention_stage, feed_forward_stage, random_network


def paper_formula(network: Network, X: np.ndarray) -> np.ndarray:
    """One sequence as the d×n matrix of the papers, with explicit sums."""
    if network.positional_encoding is not None:
        X = X + network.positional_encoding.T
    for stage in network.stages:
        for k in range(len(stage)):
            if isinstance(stage, AttentionStage):
                total = np.zeros_like(X)
                for h in range(network.shape.heads):
                    scores = (stage.W_K[k, h] @ X).T @ (stage.W_Q[k, h] @ X + stage.b_Q[k, h][:, None])
                    weights = np.exp(scores) / np.exp(scores).sum(axis=0)
                    total += stage.W_O[k, h] @ (stage.W_V[k, h] @ X) @ weights
                X = X + total
            else:
                hidden = np.maximum(stage.W_1[k] @ X + stage.b_1[k][:, None], 0)
                X = X + stage.W_2[k] @ hidden + stage.b_2[k][:, None]
    return X


@pytest.mark.parametrize("positions", [False, True])
def test_evaluation_is_the_papers_formula(positions):
    network = random_network(seed=4, tokens=5, width=3, positions=positions)
    x = np.random.default_rng(5).normal(size=(7, 5, 3))
    ours = evaluate(network, x)
    for sequence, output in zip(x, ours, strict=True):
        # Seven layers of sums of at most 12 products: relative errors of a few hundred ulps at most.
        np.testing.assert_allclose(output, paper_formula(network, sequence.T).T, rtol=1e-12, atol=1e-12)


def test_evaluation_is_equivariant_without_positions_and_not_with():
    x = np.random.default_rng(6).normal(size=(4, 5, 3))
    order = np.array([3, 0, 4, 1, 2])
    plain = random_network(seed=7, tokens=5, width=3)
    np.testing.assert_allclose(evaluate(plain, x[:, order]), evaluate(plain, x)[:, order], rtol=1e-12, atol=1e-12)
    placed = random_network(seed=7, tokens=5, width=3, positions=True)
    assert np.abs(evaluate(placed, x[:, order]) - evaluate(placed, x)[:, order]).max() > 1e-3


def test_hardmax_shares_ties():
    scores = np.array([[1.0, 3.0, 3.0, 2.0]])
    assert Hardmax()(scores).tolist() == [[0.0, 0.5, 0.5, 0.0]]


def test_softmax_of_large_scores_is_hardmax_bit_for_bit():
    scores = np.random.default_rng(8).permuted(np.arange(12.0).reshape(3, 4), axis=1) * 746
    assert np.array_equal(Softmax()(scores), Hardmax()(scores))


def test_softmax_does_not_overflow():
    assert np.isfinite(Softmax()(np.array([[1e308, -1e308, 0.0]]))).all()


def test_pieces_are_closed_on_the_left():
    fall = pieces((0.0, 0.5), (0, 0), (-1, 0), (0, 2))
    assert fall(np.array([-0.1, 0.0, 0.25, 0.5, 3.0])).tolist() == [0.0, 0.0, -0.25, 2.0, 2.0]
    assert step(3.0)(np.array([-1e-300, 0.0])).tolist() == [0.0, 3.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((0.0, 1.0, 2.0), (0.0,) * 4, (0.0,) * 4), "at most three pieces"),
        (((1.0, 0.0), (0.0,) * 3, (0.0,) * 3), "must increase"),
        (((0.0,), (1.0, 2.0), (0.0, 0.0)), "must be constant"),
    ],
)
def test_activations_outside_the_modified_class_are_refused(arguments, message):
    with pytest.raises(NetworkError, match=message):
        PiecewiseLinear(*arguments)


def test_soft_and_hard_are_told_apart():
    rng = np.random.default_rng(9)
    soft = feed_forward_stage(rng, layers=2, hidden=4, width=3)
    hard = attention_stage(rng, layers=2, width=3)
    hard = AttentionStage("hard", hard.W_Q, hard.b_Q, hard.W_K, hard.W_V, hard.W_O, Hardmax())
    assert Network(2, 3, BlockShape(), (soft,)).is_soft
    assert not Network(2, 3, BlockShape(), (soft, hard)).is_soft
    assert ReLU()(np.array([-2.0, 3.0])).tolist() == [0.0, 3.0]


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros((3, 5)), r"\(batch, 5, 3\); got \(3, 5\)"),
        (np.zeros((2, 3, 5)), r"\(batch, 5, 3\); got \(2, 3, 5\)"),
        (np.full((2, 5, 3), np.nan), "must be finite; batch element 0"),
    ],
)
def test_sequences_that_do_not_fit_are_refused(x, message):
    with pytest.raises(NetworkError, match=message):
        evaluate(random_network(seed=0, tokens=5, width=3), x)
