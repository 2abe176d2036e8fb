"""Functions become programs that give the same values; `trace` itself compares them on samples."""

from collections import Counter

import numpy as np
import pytest

from anyformer.errors import NotTraceable
from anyformer.programs.steps import Apply, Attend, Gate, Mean, Mix, TokenMaximum
from anyformer.programs.tracing import trace, traced_program
from anyformer.programs.values import evaluate
from anyformer.targets import Box, target
from anyformer.targets.catalogue import CATALOGUE, ready_made
from anyformer.targets.target import Symmetry
from tests.programs.user_functions import FUNCTIONS

WIDTH = 4


def target_of(function, tokens, width=WIDTH, **declared):
    return target(function, tokens=tokens, width=width, symmetry=Symmetry.NONE, **declared)


def steps_of(program):
    return Counter(type(node.step).__name__ for node in program.nodes)


@pytest.mark.parametrize("name", list(CATALOGUE))
@pytest.mark.parametrize(("tokens", "width"), [(2, 1), (3, 2), (5, 3), (20, 1)])
def test_every_ready_made_target_is_traced(name, tokens, width):
    chosen = ready_made(name, tokens, width)
    program = trace(chosen)
    x = np.random.default_rng(tokens).random((7, tokens, width))
    allowed = 2 * chosen.evaluation_error * (1 + np.abs(chosen(x)))
    assert (np.abs(evaluate(program, x) - chosen(x)) <= allowed).all()


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("tokens", [2, 3, 7])
def test_users_functions_are_traced(function, tokens):
    chosen = target_of(function, tokens)
    program = trace(chosen)
    x = np.random.default_rng(tokens).random((11, tokens, WIDTH))
    values = chosen(x)
    assert (np.abs(evaluate(program, x) - values) <= 1e-11 * (1 + np.abs(values))).all()


def test_softmax_is_one_exponential_of_a_difference():
    program = trace(ready_made("softmax", tokens=3, width=1))
    assert [node.step for node in program.nodes[1:]] == [Apply("exp"), Mean(), Apply("log"), Apply("exp")]


@pytest.mark.parametrize("tokens", [3, 40])
def test_attention_is_a_softmax_head(tokens):
    program = trace(ready_made("attention", tokens=tokens, width=3))
    assert steps_of(program) == {"Input": 3, "Attend": 3}
    assert 1 <= program.nodes[-1].step.size <= 3


def test_heads_keep_their_own_size():
    program = trace(target_of(next(f for f in FUNCTIONS if f.__name__ == "multi_head_attention"), 3))
    heads = [node.step for node in program.nodes if isinstance(node.step, Attend)]
    assert [head.size for head in heads] == [2] * 4


def test_masks_hide_keys():
    program = trace(target_of(next(f for f in FUNCTIONS if f.__name__ == "causal_attention"), 5))
    head = next(node.step for node in program.nodes if isinstance(node.step, Attend))
    assert np.array_equal(np.isneginf(head.offsets.values), ~np.tri(5, dtype=bool))


def test_large_negative_masks_are_masks():
    program = trace(target_of(next(f for f in FUNCTIONS if f.__name__ == "alibi_attention"), 4))
    head = next(node.step for node in program.nodes if isinstance(node.step, Attend))
    assert np.array_equal(np.isneginf(head.offsets.values), ~np.tri(4, dtype=bool))
    assert not head.offsets.doubts[~np.tri(4, dtype=bool)].any()


def test_a_maximum_that_is_taken_away_leaves_no_step():
    def stable(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    assert not any(isinstance(node.step, TokenMaximum) for node in trace(target_of(stable, 3)).nodes)


def test_the_same_step_is_one_node():
    program = trace(target_of(lambda x: np.tanh(x) * np.tanh(x) + np.tanh(x) + np.tanh(x[..., ::-1][..., ::-1]), 3))
    assert steps_of(program) == {"Input": 4, "Apply": 8}


def test_affine_steps_are_no_nodes():
    weights = np.arange(16.0).reshape(4, 4)
    program = trace(target_of(lambda x: (2 * x - 1) @ weights + x[..., ::-1] / 3 + np.arange(3)[:, None], 3))
    assert steps_of(program) == {"Input": 4}


def test_linear_maps_over_tokens_are_mixings_and_means():
    assert steps_of(trace(target_of(lambda x: x - x.mean(axis=1, keepdims=True), 3))) == {"Input": 4, "Mean": 4}
    mixed = trace(target_of(lambda x: np.tri(3) @ x, 3))
    assert steps_of(mixed) == {"Input": 4, "Mix": 4, "Gate": 4}
    kinds = {type(node.step) for node in trace(target_of(lambda x: np.roll(x, 1, axis=1), 3)).nodes[4:]}
    assert kinds == {Mix}


def test_positions_are_constants_and_gates():
    program = trace(target_of(lambda x: np.arange(1.0, 4.0)[:, None] * x + np.arange(3.0)[:, None], 3))
    assert [type(node.step) for node in program.nodes[4:]] == [Gate] * 4


def test_functions_of_one_sequence():
    def alone(x):
        assert x.shape == (3, 4)
        rows = [row * row.sum() for row in x]
        return np.stack(rows) - x.sum() + x @ x.T @ x

    trace(target_of(alone, 3, vectorised=False))


def test_functions_may_use_shapes():
    def padded(x):
        batch, tokens, width = x.shape
        return x + np.zeros((batch, tokens, width)) + np.ones(x.shape[1:]) * x.ndim + x.size * 0.0

    trace(target_of(padded, 3))


def test_the_domain_is_the_target_s():
    program = trace(target_of(np.square, 2, width=2, domain=Box(low=(-1.0, 0.0), high=(2.0, 3.0))))
    assert (program.low.tolist(), program.high.tolist()) == ([-1.0, 0.0], [2.0, 3.0])


def test_a_constant_function_has_no_nodes():
    program = trace(target_of(lambda x: np.full((x.shape[0], 3, 4), 0.25), 3))
    assert not program.nodes
    assert np.array_equal(evaluate(program, np.zeros((2, 3, 4))), np.full((2, 3, 4), 0.25))


def test_steps_that_nothing_needs_are_left_out():
    def wasteful(x):
        np.sinh(np.sort(x, axis=1))
        return x + 0 * np.exp(x)

    assert steps_of(trace(target_of(wasteful, 3))) == {"Input": 4}
    nodes = trace(target_of(lambda x: np.tanh(x[..., [1, 1, 1, 1]]), 3)).nodes
    assert [node.number for node in nodes] == [0, 1]


@pytest.mark.parametrize("tokens", [128, 512])
def test_many_tokens(tokens):
    for name in ("softmax", "running-maximum", "moving-average", "centroid-distance"):
        assert len(traced_program(ready_made(name, tokens, 2)).nodes) < 50
    for function in FUNCTIONS:
        if function.__name__ in ("causal_attention", "transformer_block", "rbf_smoothing", "token_shift"):
            assert len(traced_program(target_of(function, tokens)).nodes) < 50


def test_functions_of_pairs_need_few_tokens():
    def ranks(x):
        return np.tanh(x[:, :, None] - x[:, None]).sum(axis=2)

    trace(target_of(ranks, 16, width=1))
    with pytest.raises(NotTraceable, match=r"np.tanh of an array over pairs of tokens needs a step for each of 17"):
        trace(target_of(ranks, 17, width=1))


@pytest.mark.parametrize("seed", range(12))
def test_random_contractions(seed):
    """Random weights and asymmetric sizes: a swapped axis or a transposed weight shows."""
    rng = np.random.default_rng(seed)
    tokens, width, heads = int(rng.integers(2, 6)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
    weights = rng.normal(size=(3, heads, width, 2))
    out, table = rng.normal(size=(heads, 2, width)), rng.normal(size=(tokens, tokens))

    def heads_and_table(x):
        q, k, v = (np.einsum("btw,hwd->bhtd", x, w) for w in weights)
        s = q @ k.transpose(0, 1, 3, 2) + table
        p = np.exp(s - s.max(axis=3, keepdims=True))
        mixed = np.einsum("bhjk,bhkd->bjhd", p / p.sum(axis=3, keepdims=True), v)
        return np.tensordot(mixed, out, axes=2) + np.einsum("jk,bkw->bjw", table, x)

    trace(target_of(heads_and_table, tokens, width))
