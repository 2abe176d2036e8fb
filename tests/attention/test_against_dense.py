"""Equal to dense masked attention, forward and backward, whatever the pattern, the sizes and the strides."""

import numpy as np
import pytest
import torch

from anyformer.attention import sparse_attention
from anyformer.patterns import (
    CATALOGUE,
    BigBird,
    Causal,
    Full,
    Longformer,
    Multihead,
    Random,
    Ring,
    SlidingWindow,
    Star,
    Strided,
    from_edges,
    from_matrix,
    named,
)
from tests.attention.comparing import Sizes, assert_close, differences, padding, random_inputs

BACKENDS = ("numba", "gather")
FLOAT64 = 1e-13  # a few hundred products of numbers around 1, each rounded by 1.1e-16


@pytest.fixture(params=BACKENDS)
def backend(request) -> str:
    return request.param


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_pattern_of_the_catalogue(name, backend):
    sizes, pattern = Sizes(), named(name)
    for layer in range(min(3, pattern.at(sizes.tokens).period)):
        assert_close(random_inputs(sizes), pattern, padding(sizes), layer=layer, backend=backend)
        assert_close(random_inputs(sizes), pattern, layer=layer, backend=backend)


@pytest.mark.parametrize("seed", range(12))
def test_random_patterns(seed, backend):
    rng = np.random.default_rng(seed)
    sizes = Sizes(batch=1 + seed % 3, heads=1 + seed % 4, tokens=int(rng.integers(1, 120)))
    dense = rng.random((2, 1 + seed % 2, sizes.tokens, sizes.tokens)) < rng.random((sizes.tokens, 1)) ** 3
    pattern = from_matrix(dense)
    mask = padding(sizes) if seed % 2 else None
    assert_close(random_inputs(sizes, seed=seed), pattern, mask, layer=seed % 2, backend=backend)


@pytest.mark.parametrize(
    ("batch", "heads", "tokens"), [(1, 1, 1), (1, 1, 31), (1, 2, 32), (5, 1, 33), (1, 3, 101), (2, 7, 65), (1, 1, 257)]
)
def test_lengths_and_batches(batch, heads, tokens, backend):
    sizes = Sizes(batch, heads, tokens)
    for pattern in (Longformer(7, 2), Random(keys=3), Full()):
        assert_close(random_inputs(sizes), pattern, padding(sizes), backend=backend)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("head_size", [8, 10, 16, 24, 32, 48, 64, 80, 96, 128])
def test_head_sizes(head_size, dtype, backend):
    sizes = Sizes(head_size=head_size)
    within = 2e-6 if dtype == torch.float32 else FLOAT64
    assert_close(random_inputs(sizes, dtype), BigBird(9, 2, 3), padding(sizes), within=within, backend=backend)


@pytest.mark.slow
def test_a_long_sequence_with_hubs(backend):
    """A tile or row of more keys than are held at once."""
    sizes = Sizes(batch=1, heads=2, tokens=1111, head_size=64)
    assert_close(random_inputs(sizes), Longformer(40, 37), backend=backend)
    assert_close(random_inputs(sizes), Longformer(40, 3), padding(sizes), backend=backend)


def test_many_keys_that_come_in_several_chunks(backend):
    """The largest score comes last, so that everything before it is measured again."""
    sizes = Sizes(batch=1, heads=1, tokens=600)
    q, k, v, back = random_inputs(sizes)
    k[:, :, -5:] *= 6
    assert_close((q, k, v, back), Full(), within=4e-6, backend=backend)


def test_heads_use_their_own_lists(backend):
    pattern = Multihead((Ring(), SlidingWindow(9), Star()))
    for heads in (1, 2, 3, 7):  # fewer than lists, as many, and a number that is no multiple
        sizes = Sizes(heads=heads, tokens=50)
        assert_close(random_inputs(sizes), pattern, padding(sizes), backend=backend)


def test_layers_use_their_own_lists(backend):
    pattern, sizes = Strided(stride=8, arrangement="sequential"), Sizes(tokens=70)
    inputs = random_inputs(sizes)
    first, second, third = (sparse_attention(*inputs[:3], pattern, layer=layer, backend=backend) for layer in range(3))
    assert torch.equal(first, third)
    assert not torch.allclose(first, second)


def test_strides(backend):
    sizes = Sizes(tokens=40)
    q, k, v, back = random_inputs(sizes)
    turned = q.transpose(1, 2).contiguous().transpose(1, 2)
    spaced = torch.stack([k, k], dim=-1).flatten(-2)[..., ::2]
    repeated = v[:, :1].expand_as(v)
    assert not any(x.is_contiguous() for x in (turned, spaced, repeated))
    assert_close((turned, spaced, repeated, back.transpose(1, 2).contiguous().transpose(1, 2)), Star(), backend=backend)


def test_gradients_by_differences(backend):
    sizes = Sizes(batch=2, heads=2, tokens=9, head_size=4)
    inputs = [x.requires_grad_() for x in random_inputs(sizes, torch.float64)[:3]]
    for pattern in (Longformer(2, 1), Multihead((Star(), Random(keys=2))), from_edges([(0, 3), (5, 5)], 9)):
        for mask in (None, padding(sizes)):

            def function(q, k, v, pattern=pattern, mask=mask):
                return sparse_attention(q, k, v, pattern, mask, backend=backend)

            assert torch.autograd.gradcheck(function, inputs)


def test_a_scale_of_its_own(backend):
    assert_close(random_inputs(Sizes()), Causal(SlidingWindow(12)), scale=0.3, backend=backend)


@pytest.mark.slow
def test_numba_needs_no_more_than_16_or_32_bytes_in_a_register(monkeypatch):
    from anyformer.attention import compiled
    from anyformer.attention.kernels.compiling import shape_for

    for register in (16, 32):
        monkeypatch.setattr(
            compiled, "shape_for", lambda width, size, register=register: shape_for(width, size, register)
        )
        assert_close(random_inputs(Sizes(tokens=70)), BigBird(9, 2, 3), padding(Sizes(tokens=70)), backend="numba")


def test_one_thread_and_two(monkeypatch):
    """One head is cut into slices where threads would have nothing to do."""
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            for heads in (1, 5):
                sizes = Sizes(batch=1, heads=heads, tokens=200)
                assert_close(random_inputs(sizes), BigBird(9, 2, 3), backend="numba")
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("fault", ["a pair too many", "a pair too few", "a wrong key"])
def test_the_comparison_sees_faults(fault, backend):
    """Another pattern by a single pair of 33,000 is seen."""
    sizes = Sizes(tokens=183)
    pattern = Full().at(sizes.tokens)
    dense = np.ones((sizes.tokens, sizes.tokens), dtype=bool)
    dense[100, 7] = False
    if fault == "a wrong key":
        dense[100, 8], dense[100, 7] = False, True
    other = from_matrix(dense)
    inputs = random_inputs(sizes)
    one, two = (other, pattern) if fault == "a pair too few" else (pattern, other)
    ours = sparse_attention(*inputs[:3], one, backend=backend)
    theirs = sparse_attention(*inputs[:3], two, backend=backend)
    assert (ours - theirs).abs().max() > 100 * 2e-6


def test_float64_is_computed_in_float64(backend):
    output, gradient = differences(random_inputs(Sizes(), torch.float64), BigBird(9, 2, 3), backend=backend)
    assert output <= FLOAT64
    assert gradient <= FLOAT64
