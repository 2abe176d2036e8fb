"""Causal mixers against their formulas, the promise that they see no later token, and who has no causal form."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import pytest
import torch
from torch import Tensor, nn

from anyformer.mixers import (
    Attention,
    Average,
    Bilinear,
    CausalAttention,
    CausalConvolution,
    CausalPlainConvolution,
    Convolution,
    CumulativeAverage,
    Fourier,
    Mixer,
    MixerError,
    PatternAttention,
    PlainConvolution,
    Promise,
    TokenMixer,
    check_mixer,
)
from anyformer.mixers.mixer import causal_form, is_causal
from anyformer.patterns import Causal, SlidingWindow
from tests.mixers.samples import MIXERS, WIDTH, batch
from tests.mixers.test_meaning import compare

FORMS = {
    Attention(heads=2): CausalAttention(heads=2),
    PatternAttention(2, SlidingWindow(3)): PatternAttention(2, Causal(SlidingWindow(3))),
    Convolution(kernel=5, filters=3): CausalConvolution(kernel=5, filters=3),
    PlainConvolution(kernel=5, filters=3): CausalPlainConvolution(kernel=5, filters=3),
    Average(): CumulativeAverage(),
}


@pytest.mark.parametrize("mixer", FORMS, ids=str)
def test_the_causal_form_is_its_own(mixer):
    assert mixer.causal() == FORMS[mixer]
    assert mixer.causal().causal() == FORMS[mixer]
    assert not is_causal(mixer)
    assert is_causal(mixer.causal())


@pytest.mark.parametrize("mixer", [Attention(heads=2), PatternAttention(2)], ids=str)
def test_what_a_token_may_see_has_no_weights(mixer):
    assert mixer.causal().same_weights_as() == Attention(heads=2)


class Own(Mixer):
    def build(self, width, dropout=0.0):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("mixer", "reason"),
    [
        (Bilinear(9), r"Bilinear\(max_length=9\) has none: W_P gives each token a share of all others"),
        (Fourier(), r"Fourier\(\) has none: a Fourier transform gives each token a share of all tokens"),
        (Own(), r"it defines no .* earlier ones\. Take attention, .* or define `causal` in a mixer of your own"),
    ],
)
def test_who_has_no_causal_form_says_why(mixer, reason):
    with pytest.raises(MixerError, match=reason):
        mixer.causal()
    assert not is_causal(mixer)


@pytest.mark.parametrize("form", [Average(), "average", Attention(heads=2)], ids=str)
def test_a_form_that_is_not_causal_is_refused(form):
    class Careless(Own):
        def causal(self):
            return form

    with pytest.raises(MixerError, match=r"own causal form; that of .*Careless.* gave .*(Average|average|Attention)"):
        causal_form(Careless())


def test_a_token_reaches_fewer_taps_of_a_causal_convolution():
    assert Convolution(200, 4).useful(90) == {"kernel": 179}
    for kind in (CausalConvolution, CausalPlainConvolution):
        assert kind(200, 4).useful(90) == {"kernel": 90}


@torch.no_grad()
def test_causal_attention_is_softmax_over_kept_tokens_so_far():
    hidden, mask = batch()
    mixer = CausalAttention(heads=2).build(WIDTH).double()
    query, key, value = (part(hidden) for part in (mixer.query, mixer.key, mixer.value))
    wanted = torch.zeros_like(hidden)
    for row, length in enumerate(mask.sum(dim=1).tolist()):
        for head in (slice(0, 3), slice(3, 6)):
            for token in range(length):
                scores = [float(query[row, token, head] @ key[row, k, head]) / math.sqrt(3) for k in range(token + 1)]
                shares = torch.tensor([math.exp(s - max(scores)) for s in scores], dtype=hidden.dtype)
                wanted[row, token, head] = (shares / shares.sum()) @ value[row, : token + 1, head]
    compare(mixer(hidden, mask), wanted, hidden, mask)
    weights = mixer.weights(hidden, mask)
    value = value.unflatten(-1, (2, 3)).transpose(1, 2)
    compare((weights @ value).transpose(1, 2).flatten(2), wanted, hidden, mask)
    assert not weights.triu(1).any()


@torch.no_grad()
def test_cumulative_average_is_the_mean_of_kept_tokens_so_far():
    hidden, mask = batch()
    mask[0, 1] = 0
    wanted = torch.zeros_like(hidden)
    for row, token in mask.nonzero().tolist():
        kept = [k for k in range(token + 1) if mask[row, k]]
        wanted[row, token] = hidden[row, kept].mean(dim=0)
    compare(CumulativeAverage().build(WIDTH)(hidden, mask), wanted, hidden, mask)


@torch.no_grad()
def test_cumulative_average_adds_in_float32_at_least():
    """In bfloat16 itself, sums of ones would stop growing at 256."""
    ones = torch.ones(1, 3000, 2, dtype=torch.bfloat16)
    assert torch.equal(CumulativeAverage().build(2)(ones), ones)


@pytest.mark.parametrize(("kernel", "filters"), [(1, 6), (4, 3), (5, 2), (40, 3)])
@pytest.mark.parametrize("kind", [CausalConvolution, CausalPlainConvolution])
@torch.no_grad()
def test_the_last_tap_of_a_causal_convolution_is_on_the_token_itself(kernel, filters, kind):
    hidden, mask = batch()
    mixer, read = kind(kernel, filters).build(WIDTH).double(), hidden
    if kind is CausalConvolution:
        twice = mixer.gate(hidden)
        read = twice[..., :WIDTH] * torch.sigmoid(twice[..., WIDTH:])
    wanted = torch.zeros_like(hidden)
    for row, length in enumerate(mask.sum(dim=1).tolist()):
        for j in range(length):
            for tap in range(max(0, kernel - 1 - j), kernel):
                for channel in range(WIDTH):
                    weight = mixer.W_C[channel * filters // WIDTH, tap]
                    wanted[row, j, channel] += weight * read[row, j + tap - kernel + 1, channel]
    compare(mixer(hidden, mask), wanted, hidden, mask)


@pytest.mark.parametrize("name", [name for name in MIXERS if is_causal(MIXERS[name])])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@torch.no_grad()
def test_later_tokens_change_no_bit_at_other_sizes_and_types(name, dtype):
    """Longer than a block of PyTorch's attention, whose kernels for these types are others than for float64."""
    generator = torch.Generator().manual_seed(5)
    mixer = MIXERS[name].build(24).to(dtype).eval()
    hidden, other = torch.randn(2, 2, 150, 24, generator=generator).to(dtype)
    for first in (1, 64, 149):
        changed = torch.cat([hidden[:, :first], other[:, first:]], dim=1)
        assert torch.equal(mixer(hidden)[:, :first], mixer(changed)[:, :first])


@final
class Planted(TokenMixer):
    """A sum of tokens by weights that a fault may have chosen wrongly."""

    def __init__(self, width: int, weights: Callable[[Tensor], Tensor]) -> None:
        super().__init__(width)
        self.value, self.weights_of = nn.Linear(width, width), weights

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        real = hidden if keep is None else hidden.masked_fill(~keep[..., None], 0.0)
        places = torch.arange(hidden.shape[1], dtype=hidden.dtype)
        return self.weights_of(places[:, None] - places) @ self.value(real)


@dataclass(frozen=True)
class SaidToBeCausal(Mixer):
    weights: Callable[[Tensor], Tensor]

    def build(self, width: int, dropout: float = 0.0) -> TokenMixer:
        return Planted(width, self.weights)

    def causal(self) -> Mixer:
        return self


def tap_before_and_here(back: Tensor) -> Tensor:
    return ((back == 0) | (back == 1)).to(back.dtype)


def one_future_tap(back: Tensor) -> Tensor:
    return ((back == 0) | (back == -1)).to(back.dtype)


def average_with_the_next_token(back: Tensor) -> Tensor:
    seen = (back >= -1).to(back.dtype)
    return seen / seen.sum(dim=1, keepdim=True)


def average_divided_by_what_is_later(back: Tensor) -> Tensor:
    return (back >= 0).to(back.dtype) + 1e-14 * (back < 0)


def the_last_token_for_the_first(back: Tensor) -> Tensor:
    return (back == 1 - len(back)).to(back.dtype)


def test_a_sound_causal_mixer_passes():
    check_mixer(SaidToBeCausal(tap_before_and_here), width=WIDTH, promises=[Promise.CAUSAL])


@pytest.mark.parametrize(
    "fault",
    [
        *(one_future_tap, average_with_the_next_token, average_divided_by_what_is_later),
        the_last_token_for_the_first,
    ],
)
def test_a_look_ahead_is_found(fault):
    with pytest.raises(MixerError, match=r"whatever the later ones are; other tokens from place \d+ on move"):
        check_mixer(SaidToBeCausal(fault), width=WIDTH, promises=[Promise.CAUSAL])


@final
class KnowsTheLength(TokenMixer):
    """Divides by how many tokens are kept, later ones too."""

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        count = hidden.shape[1] if keep is None else keep.sum(dim=1)[:, None, None].clamp(min=1)
        return hidden / count


@dataclass(frozen=True)
class Length(Mixer):
    def build(self, width: int, dropout: float = 0.0) -> TokenMixer:
        return KnowsTheLength(width)

    def causal(self) -> Mixer:
        return self


def test_a_mask_that_tells_what_comes_later_is_found():
    with pytest.raises(MixerError, match="whatever the later ones are"):
        check_mixer(Length(), width=WIDTH, promises=[Promise.CAUSAL])


def test_convolutions_with_taps_on_both_sides_are_found_when_they_say_they_are_causal():
    """The real ones, so the planted fault is one that could be made."""

    @dataclass(frozen=True)
    class Both(Mixer):
        def build(self, width: int, dropout: float = 0.0) -> TokenMixer:
            return Convolution(kernel=3, filters=2).build(width)

        def causal(self) -> Mixer:
            return self

    with pytest.raises(MixerError, match="whatever the later ones are"):
        check_mixer(Both(), width=WIDTH, promises=[Promise.CAUSAL])


def test_those_that_do_not_say_so_promise_nothing():
    check_mixer(Average(), width=WIDTH, promises=[Promise.CAUSAL])
    check_mixer(Bilinear(11), width=WIDTH, promises=[Promise.CAUSAL])
