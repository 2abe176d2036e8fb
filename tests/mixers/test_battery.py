"""check_mixer passes on every mixer and finds planted faults."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from anyformer.mixers import (
    CATALOGUE,
    Mixer,
    MixerError,
    Promise,
    SeparableConvolution,
    TokenMixer,
    check_mixer,
    export_onnx,
)
from tests.mixers.samples import MIXERS, WIDTH

WITHOUT_ONNX = [promise for promise in Promise if promise is not Promise.ONNX]


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_mixer_keeps_its_promises_at_its_default_sizes(name):
    check_mixer(CATALOGUE[name](), promises=WITHOUT_ONNX)


@pytest.mark.parametrize("name", MIXERS)
def test_every_mixer_keeps_its_promises_at_odd_sizes(name):
    check_mixer(MIXERS[name], width=WIDTH, promises=WITHOUT_ONNX)


@pytest.mark.slow
@pytest.mark.parametrize("name", CATALOGUE)
def test_every_mixer_can_be_exported_or_says_why_not(name):
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    check_mixer(CATALOGUE[name](), promises=[Promise.ONNX])


class Faulty(TokenMixer):
    """A mean of a linear map, in the hands of a fault."""

    def __init__(self, width: int, fault: Callable[["Faulty", Tensor, Tensor], Tensor]) -> None:
        super().__init__(width)
        self.value = nn.Linear(width, width)
        self.fault = fault

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        return self.fault(self, hidden, torch.ones(hidden.shape[:2], dtype=torch.bool) if keep is None else keep)


def mean(hidden: Tensor, keep: Tensor) -> Tensor:
    weights = keep.to(hidden.dtype) / keep.sum(dim=1, keepdim=True).clamp(min=1)
    return (weights[:, None] @ hidden).expand_as(hidden)


def sound(self: Faulty, hidden: Tensor, keep: Tensor) -> Tensor:
    return mean(self.value(hidden), keep)


def drops_a_token(self: Faulty, hidden: Tensor, keep: Tensor) -> Tensor:
    return sound(self, hidden, keep)[:, 1:]


def other_type(self: Faulty, hidden: Tensor, keep: Tensor) -> Tensor:
    return sound(self, hidden, keep).float()


def detaches(self: Faulty, hidden: Tensor, keep: Tensor) -> Tensor:
    return mean(nn.functional.linear(hidden, self.value.weight.detach(), self.value.bias), keep)


def half_the_gradient(self: Faulty, hidden: Tensor, keep: Tensor) -> Tensor:
    whole = sound(self, hidden, keep)
    return whole / 2 + (whole / 2).detach()


def ignores_the_mask(self: Faulty, hidden: Tensor, keep: Tensor) -> Tensor:
    return mean(self.value(hidden), torch.ones_like(keep)) * keep.any(dim=1)[:, None, None]


def divides_by_the_padded_length(self: Faulty, hidden: Tensor, keep: Tensor) -> Tensor:
    return (self.value(hidden) * keep[..., None]).mean(dim=1, keepdim=True).expand_as(hidden)


def divides_by_nothing(self: Faulty, hidden: Tensor, keep: Tensor) -> Tensor:
    return ((self.value(hidden) * keep[..., None]).sum(1) / keep.sum(1)[:, None])[:, None].expand_as(hidden)


def minus_a_thousand_million(self: Faulty, hidden: Tensor, keep: Tensor) -> Tensor:
    weights = torch.where(keep, 0.0, -1e9).to(hidden.dtype).softmax(dim=1)
    return (weights[:, None] @ self.value(hidden)).expand_as(hidden)


def draws_lots(self: Faulty, hidden: Tensor, keep: Tensor) -> Tensor:
    return nn.functional.dropout(sound(self, hidden, keep), p=0.5, training=True)


def writes_into_its_input(self: Faulty, hidden: Tensor, keep: Tensor) -> Tensor:
    with torch.no_grad():
        hidden.masked_fill_(~keep[..., None], 0.0)
    return sound(self, hidden, keep)


def leaves_pytorch(self: Faulty, hidden: Tensor, keep: Tensor) -> Tensor:
    return sound(self, hidden, keep) * float(np.exp(hidden.detach().numpy()).mean() > 0)


def decides_on_contents(self: Faulty, hidden: Tensor, keep: Tensor) -> Tensor:
    return sound(self, hidden, keep) if hidden.sum() > 0 else self.value(hidden)


def raises(self: Faulty, hidden: Tensor, keep: Tensor) -> Tensor:
    raise ValueError("not today")


@dataclass(frozen=True)
class Planted(Mixer):
    fault: Callable[[Faulty, Tensor, Tensor], Tensor]

    def build(self, width: int, dropout: float = 0.0) -> TokenMixer:
        return Faulty(width, self.fault)


FAULTS = {
    Promise.SHAPE: [drops_a_token, other_type, raises],
    Promise.GRADIENT: [detaches, half_the_gradient],
    Promise.PADDING: [ignores_the_mask, divides_by_the_padded_length],
    Promise.FULLY_PADDED: [divides_by_nothing, minus_a_thousand_million],
    Promise.DETERMINISM: [draws_lots, writes_into_its_input],
    Promise.ONNX: [leaves_pytorch, decides_on_contents],
}


def test_the_sound_one_passes():
    check_mixer(Planted(sound), width=WIDTH, promises=WITHOUT_ONNX)


@pytest.mark.parametrize(("promise", "fault"), [(promise, fault) for promise in FAULTS for fault in FAULTS[promise]])
def test_planted_faults_are_found(promise, fault):
    if promise is Promise.ONNX:
        pytest.importorskip("onnxscript")
        pytest.importorskip("onnxruntime")
    with pytest.raises(MixerError, match=promise.value):
        check_mixer(Planted(fault), width=WIDTH, promises=[promise])


class BiasAfterTheMask(TokenMixer):
    """Convolution with a bias: zeros of padding come out as the bias."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.inner = SeparableConvolution(width, kernel=3, filters=2)
        self.bias = nn.Parameter(torch.ones(width))

    def reset_parameters(self, normal=nn.init.normal_) -> None:
        nn.init.ones_(self.bias)

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        return self.inner.mix(hidden, keep) + self.bias


@dataclass(frozen=True)
class Biased(Mixer):
    def build(self, width: int, dropout: float = 0.0) -> TokenMixer:
        return BiasAfterTheMask(width)


def test_a_bias_on_padded_sequences_is_found():
    check_mixer(Biased(), width=WIDTH, promises=[Promise.SHAPE, Promise.GRADIENT, Promise.PADDING, Promise.DETERMINISM])
    with pytest.raises(MixerError, match=r"gives zeros.*got up to 1\.0e\+00"):
        check_mixer(Biased(), width=WIDTH, promises=[Promise.FULLY_PADDED])


def test_a_failed_export_leaves_no_file(tmp_path):
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    with pytest.raises(MixerError, match="operations of PyTorch alone"):
        export_onnx(Planted(leaves_pytorch).build(WIDTH).eval(), tmp_path / "mixer.onnx")
    assert not list(tmp_path.iterdir())
