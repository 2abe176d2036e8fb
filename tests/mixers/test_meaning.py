"""Each mixer against the formula of its docstring, written as loops."""

import math

import pytest
import torch

from anyformer.mixers import Attention, Average, Bilinear, Convolution, MixerError, PlainConvolution
from anyformer.mixers.convolution import by_image, by_matrices
from tests.mixers.samples import MIXERS, WIDTH, batch, rounding


def compare(got, wanted, hidden, mask):
    terms = hidden.shape[1] + 2 * hidden.shape[2]
    real = mask.bool()
    assert (got - wanted)[real].abs().max() <= rounding(terms, max(1.0, float(wanted.abs().max())))


@torch.no_grad()
def test_attention_is_softmax_over_kept_tokens():
    hidden, mask = batch()
    mixer = Attention(heads=2).build(WIDTH).double()
    query, key, value = (part(hidden) for part in (mixer.query, mixer.key, mixer.value))
    wanted = torch.zeros_like(hidden)
    for row, length in enumerate(mask.sum(dim=1).tolist()):
        for head in (slice(0, 3), slice(3, 6)):
            for token in range(length):
                scores = [float(query[row, token, head] @ key[row, k, head]) / math.sqrt(3) for k in range(length)]
                shares = torch.tensor([math.exp(s - max(scores)) for s in scores], dtype=hidden.dtype)
                wanted[row, token, head] = (shares / shares.sum()) @ value[row, :length, head]
    compare(mixer(hidden, mask), wanted, hidden, mask)


@torch.no_grad()
def test_attention_weights_are_those_that_mix():
    hidden, mask = batch()
    mixer = Attention(heads=2).build(WIDTH).double()
    weights = mixer.weights(hidden, mask)
    assert weights.shape == (4, 2, 5, 5)
    assert not weights[2].any()
    assert not weights[1, :, :, 2:].any()
    value = mixer.value(hidden).unflatten(-1, (2, 3)).transpose(1, 2)
    compare(mixer(hidden, mask), (weights @ value).transpose(1, 2).flatten(2), hidden, mask)
    assert torch.equal(mixer.weights(hidden), mixer.weights(hidden, torch.ones_like(mask)))


@torch.no_grad()
def test_average_is_the_mean_of_kept_tokens():
    hidden, mask = batch()
    wanted = torch.stack([hidden[row, : max(1, n)].mean(dim=0) for row, n in enumerate(mask.sum(dim=1).tolist())])
    compare(Average().build(WIDTH)(hidden, mask), wanted[:, None].expand_as(hidden), hidden, mask)


@torch.no_grad()
def test_bilinear_is_the_corner_of_w_p():
    hidden, mask = batch()
    mixer = Bilinear(max_length=7).build(WIDTH).double()
    wanted = torch.zeros_like(hidden)
    for row, length in enumerate(mask.sum(dim=1).tolist()):
        for j in range(length):
            wanted[row, j] = sum(mixer.W_P[i, j] * hidden[row, i] for i in range(length))
    compare(mixer(hidden, mask), wanted, hidden, mask)


@pytest.mark.parametrize("kind", [Convolution, PlainConvolution])
@pytest.mark.parametrize(("kernel", "filters"), [(1, 6), (4, 3), (5, 2), (40, 1)])
@torch.no_grad()
def test_convolution_is_its_sum(kernel, filters, kind):
    hidden, mask = batch()
    mixer, read = kind(kernel, filters).build(WIDTH).double(), hidden
    if kind is Convolution:
        twice = mixer.gate(hidden)
        read = twice[..., :WIDTH] * torch.sigmoid(twice[..., WIDTH:])
    wanted = torch.zeros_like(hidden)
    for row, length in enumerate(mask.sum(dim=1).tolist()):
        for j in range(length):
            for tap in range(kernel):
                at = j + tap - kernel // 2
                for channel in range(WIDTH if 0 <= at < length else 0):
                    wanted[row, j, channel] += mixer.W_C[channel * filters // WIDTH, tap] * read[row, at, channel]
    compare(mixer(hidden, mask), wanted, hidden, mask)


@pytest.mark.parametrize("kernel", [1, 2, 7, 10, 24, 40])
@pytest.mark.parametrize("tokens", [1, 5, 11])
@pytest.mark.parametrize("is_causal", [False, True])
def test_convolution_by_image_and_by_matrices_is_the_same(kernel, tokens, is_causal):
    generator = torch.Generator().manual_seed(kernel)
    real = torch.randn(2, tokens, WIDTH, dtype=torch.float64, generator=generator, requires_grad=True)
    filters = torch.randn(3, kernel, dtype=torch.float64, generator=generator, requires_grad=True)
    results = []
    for way in (by_image, by_matrices):
        mixed = way(real, filters, kernel - 1 if is_causal else kernel // 2)
        results.append((mixed, *torch.autograd.grad(mixed.pow(2).sum(), (real, filters))))
    for one, other in zip(*results, strict=True):
        # The mixed and their gradients add at most tokens · (2 · 2 + kernel) products.
        largest = max(1.0, float(one.detach().abs().max()))
        assert (one - other).abs().max() <= rounding(tokens * (4 + kernel), largest)


def test_convolution_reads_its_input_without_a_copy():
    hidden, _ = batch()
    image = hidden.transpose(1, 2).unsqueeze(2)
    assert image.data_ptr() == hidden.data_ptr()
    assert image.is_contiguous(memory_format=torch.channels_last)


def test_mean_then_project_sends_one_token_a_sequence_through_the_projection():
    hidden, mask = batch()
    seen = []
    projection = torch.nn.Linear(WIDTH, 7).double()
    projection.register_forward_hook(lambda module, given, result: seen.append(given[0].shape))
    assert Average().build(WIDTH).projected(hidden, mask, projection).shape == (4, 5, 7)
    assert seen == [(4, 1, WIDTH)]


@pytest.mark.parametrize("name", MIXERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_masks_of_any_type_mean_the_same_and_types_are_kept(name, dtype):
    hidden, mask = batch()
    mixer, hidden = MIXERS[name].build(WIDTH).to(dtype), hidden.to(dtype)
    mixed = mixer(hidden, mask)
    assert mixed.dtype == dtype
    for other in (mask.bool(), mask.float()):
        assert torch.equal(mixer(hidden, other), mixed)


def test_dropout_is_attention_s_and_only_in_training():
    hidden, mask = batch()
    mixer = Attention(heads=2).build(WIDTH, dropout=0.5).double()
    assert not torch.equal(mixer(hidden, mask), mixer(hidden, mask))
    mixer.eval()
    assert torch.equal(mixer(hidden, mask), mixer(hidden, mask))


@pytest.mark.parametrize(
    ("hidden", "mask", "message"),
    [
        ((4, 6), None, r"hidden must have the shape \(batch, tokens, 6\); got \(4, 6\)"),
        ((2, 4, 5), None, r"got \(2, 4, 5\)\. Build the mixer for the width"),
        ((2, 4, 6), (2, 5), r"attention_mask must have the shape .* \(2, 4\); got \(2, 5\)"),
        ((2, 4, 6), (2, 1, 1, 4), r"Give the tokenizer's mask"),
        ((2, 14, 6), None, r"at most max_length = 13 tokens.*got 14.*Bilinear\(max_length=14\)"),
    ],
)
def test_wrong_inputs_are_refused_by_name(hidden, mask, message):
    mixer = MIXERS["bilinear"].build(WIDTH)
    with pytest.raises(MixerError, match=message):
        mixer(torch.zeros(hidden), None if mask is None else torch.ones(mask))
