"""Masks are structural: what is not seen has no influence at all, and what sees nothing gives zeros."""

import pytest
import torch

from anyformer.attention import sparse_attention
from anyformer.patterns import BigBird, Causal, Longformer, Random, SlidingWindow, Star, from_edges
from tests.attention.comparing import Sizes, assert_close, padding, random_inputs

BACKENDS = ("numba", "gather")


@pytest.fixture(params=BACKENDS)
def backend(request) -> str:
    return request.param


@pytest.mark.parametrize("pattern", [SlidingWindow(5), Random(keys=4), Causal(BigBird(4, 1, 2))], ids=str)
@pytest.mark.parametrize("size", [1e6, -1e6])
def test_logits_outside_of_the_pattern_leak_nothing(pattern, size, backend):
    sizes = Sizes(batch=1, heads=2, tokens=90)
    q, k, v, _ = random_inputs(sizes)
    seen = set(pattern.at(90).layer(0).keys_of(40).tolist())
    hidden = torch.tensor([key not in seen for key in range(90)])
    before = sparse_attention(q, k, v, pattern, backend=backend)[:, :, 40]
    # The score of query 40 and each of these keys is now `size`, up to rounding.
    direction = q[:, :, 40:41] / q[:, :, 40:41].square().sum(-1, keepdim=True)
    k = torch.where(hidden[:, None], size * sizes.head_size**0.5 * direction, k)
    v = torch.where(hidden[:, None], size, v)
    assert torch.equal(sparse_attention(q, k, v, pattern, backend=backend)[:, :, 40], before)


def test_large_logits_inside_of_the_pattern(backend):
    """One key takes all, and nothing overflows."""
    q, k, v, back = random_inputs(Sizes(tokens=60))
    for size in (1e6, -1e6):
        k[:, :, 17] = size
        out = sparse_attention(q.abs(), k, v, Longformer(3, 2), backend=backend)
        assert out.isfinite().all()
    assert_close((30 * q, k * 1e-6, v, back), Longformer(3, 2), backend=backend)


def test_padding_changes_nothing_on_real_tokens(backend):
    sizes = Sizes(batch=4, tokens=77)
    mask = padding(sizes)
    real = mask.bool()[:, None, :, None]
    inputs = random_inputs(sizes)
    others = [torch.where(real, x, 1e6 * torch.randn_like(x)) for x in inputs[:3]]
    for pattern in (Longformer(6, 2), Star(), Random(keys=5)):
        one = sparse_attention(*inputs[:3], pattern, mask, backend=backend)
        two = sparse_attention(*others, pattern, mask, backend=backend)
        assert torch.equal(one.where(real, 0.0), two.where(real, 0.0))


def test_padding_gets_no_gradient(backend):
    sizes = Sizes(batch=4, tokens=60)
    mask = padding(sizes)
    q, k, v = (x.requires_grad_() for x in random_inputs(sizes)[:3])
    sparse_attention(q, k, v, Longformer(6, 2), mask, backend=backend).square().sum().backward()
    for gradient in (k.grad, v.grad):
        assert gradient.isfinite().all()
        assert not gradient.transpose(1, 2)[mask == 0].any()
        assert gradient.transpose(1, 2)[mask == 1].any()


def test_what_sees_nothing_gives_zeros(backend):
    pattern = from_edges([(k, (7 * k) % 50) for k in range(50) if k % 3], 50)
    q, k, v = (x.requires_grad_() for x in random_inputs(Sizes(tokens=50))[:3])
    out = sparse_attention(q, k, v, pattern, backend=backend)
    assert not out[:, :, ::3].any()
    assert out[:, :, 1::3].any()
    out.sum().backward()
    assert all(x.grad.isfinite().all() for x in (q, k, v))
    assert not q.grad[:, :, ::3].any()


def test_nobody_sees_anything(backend):
    inputs = random_inputs(Sizes(tokens=20))[:3]
    assert not sparse_attention(*inputs, from_edges([], 20), backend=backend).any()
    nothing = torch.zeros(2, 20, dtype=torch.bool)
    assert not sparse_attention(*inputs, Star(), nothing, backend=backend).any()


@pytest.mark.parametrize("kind", [torch.bool, torch.long, torch.float32, torch.uint8], ids=str)
def test_masks_of_any_kind(kind, backend):
    sizes = Sizes(batch=3)
    assert_close(random_inputs(sizes), Longformer(6, 2), padding(sizes).to(kind), backend=backend)
