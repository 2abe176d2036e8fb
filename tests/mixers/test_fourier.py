"""The Fourier mixer: what it computes, wherever the padding stands and whichever way it is computed."""

import math
import warnings

import pytest
import torch

from anyformer.mixers import Fourier
from tests.mixers.samples import WIDTH, batch, rounding


def by_definition(hidden: torch.Tensor) -> torch.Tensor:
    """Re Σ_i Σ_k x[i, k] exp(−2πi(ij/n + kl/d)) / √(n·d), term by term."""
    tokens, width = hidden.shape
    mixed = torch.zeros_like(hidden)
    for j in range(tokens):
        for l in range(width):  # noqa: E741
            for i in range(tokens):
                for k in range(width):
                    mixed[j, l] += hidden[i, k] * math.cos(2 * math.pi * (i * j / tokens + k * l / width))
    return mixed / math.sqrt(tokens * width)


def holes() -> tuple[torch.Tensor, torch.Tensor]:
    """Padding on the right, on the left, in between, everywhere."""
    hidden, mask = batch((7, 4, 0, 6, 5))
    mask[0, 0] = mask[3, 2] = mask[3, 3] = mask[4, 0] = 0
    return hidden, mask


def test_kept_tokens_are_transformed_as_if_they_were_alone():
    hidden, mask = holes()
    mixed = Fourier().build(WIDTH).double()(hidden, mask)
    for row in (0, 1, 3, 4):
        kept = mask[row].bool()
        wanted = by_definition(hidden[row, kept])
        away = (mixed[row, kept] - wanted).abs().max()
        assert away <= rounding(int(kept.sum()) * WIDTH, float(hidden.abs().max()))
    assert not mixed[2].any()


def test_both_ways_agree_with_their_gradients():
    """The fast transform where nothing is padded, and the sums where something is."""
    hidden, _ = batch((7, 7, 7))
    mixer = Fourier().build(WIDTH).double()
    whole = hidden.clone().requires_grad_()
    beside = torch.cat([hidden, hidden[:1]]).requires_grad_()
    mask = torch.ones(4, 7, dtype=torch.long)
    mask[3, 4:] = 0
    fast, sums = mixer(whole), mixer(beside, mask)[:3]
    weights = torch.randn(fast.shape, dtype=fast.dtype, generator=torch.Generator().manual_seed(3))
    (fast * weights).sum().backward()
    (sums * weights).sum().backward()
    tolerance = rounding(7 * WIDTH, float(hidden.abs().max()))
    assert (fast - sums).abs().max() <= tolerance
    assert (whole.grad - beside.grad[:3]).abs().max() <= tolerance
    assert torch.autograd.gradcheck(mixer, (hidden[:1].clone().requires_grad_(),), fast_mode=True)


def test_it_keeps_the_size_of_tokens():
    """F_n X F_d has the norm of X, and the real part of white noise half of its square."""
    hidden = torch.randn(3, 64, 48, generator=torch.Generator().manual_seed(4))
    mixed = Fourier().build(48)(hidden)
    assert float(mixed.square().mean()) == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_every_type_of_float_comes_back(dtype):
    hidden, mask = holes()
    wanted = Fourier().build(WIDTH)(hidden, mask)
    mixed = Fourier().build(WIDTH).to(dtype)(hidden.to(dtype), mask)
    assert mixed.dtype == dtype
    away = (mixed.double() - wanted).abs()[mask.bool()].max()
    assert away <= rounding(hidden.shape[1] + WIDTH, float(hidden.abs().max()), dtype)


def test_it_has_no_parameters():
    assert not list(Fourier().build(WIDTH).parameters())


@pytest.mark.slow
def test_a_compiled_graph_gives_the_same_without_complex_numbers():
    hidden, mask = holes()
    mixer = Fourier().build(WIDTH).double()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what PyTorch says about itself
        warnings.filterwarnings("error", message=".*complex")
        compiled = torch.compile(mixer)
        for given in (None, mask):
            away = (compiled(hidden, given) - mixer(hidden, given)).abs()
            kept = away if given is None else away * given[..., None]
            assert kept.max() <= rounding(hidden.shape[1] * WIDTH, float(hidden.abs().max()))


def test_angles_of_long_sequences_are_as_exact_as_of_short_ones():
    """A padded text is transformed by another way than a whole one; both have 4,096 tokens here."""
    built = Fourier().build(8)
    hidden = torch.randn(1, 4097, 8, generator=torch.Generator().manual_seed(0))
    mask = torch.ones(1, 4097, dtype=torch.long)
    mask[0, -1] = 0
    # Sums of 4,096 terms: angles rounded once give 6e-6, angles of large products 1.6e-3.
    assert (built(hidden, mask)[:, :4096] - built(hidden[:, :4096])).abs().max() < 1e-4
