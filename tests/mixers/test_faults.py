"""Faults of mixers that others wrote: told where they happen, in a trial before a training, and by check_mixer."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

pytest.importorskip("transformers", reason="BERT needs transformers: pip install anyformer[bert]")

from anyformer.mixers import (
    Attention,
    Average,
    Mixer,
    MixerBertModel,
    MixerError,
    Promise,
    TokenMixer,
    check_mixer,
    register_mixer,
)
from anyformer.mixers.trial import Trial
from tests.mixers.bert_samples import small, words
from tests.mixers.brought import bring

pytestmark = pytest.mark.usefixtures("shipped")
LIKE = "must give a tensor of hidden's shape and type; "
TRY = r"\. Correct it, and try check_mixer on it"


class Does(nn.Module):
    """A plain module that does what a test plants, to a linear map of its input."""

    def __init__(self, width: int, does: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.map, self.does = nn.Linear(width, width), does

    def forward(self, hidden: Tensor, keep: Tensor) -> Any:
        return self.does(self.map(hidden) * keep[..., None])


@dataclass(frozen=True)
class Plain(Mixer):
    does: Callable[[Tensor], Any]

    def build(self, width: int, dropout: float = 0.0) -> nn.Module:
        return Does(width, self.does)

    def causal(self) -> Mixer:
        return self


class DoesByMix(TokenMixer):
    def __init__(self, width: int, does: Callable[[Tensor], Any]) -> None:
        super().__init__(width)
        self.does = does

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        return self.does(hidden)


def fails(hidden: Tensor) -> Tensor:
    raise KeyError("mine")


def too_large(hidden: Tensor) -> Tensor:
    raise torch.OutOfMemoryError("no room")


def says_why(hidden: Tensor) -> Tensor:
    raise MixerError("tokens must be even")


WRONG = {
    "tokens": (lambda hidden: hidden[:, 1:], r"for \(2, 5, 6\) of torch.float32 it gave \(2, 4, 6\) of"),
    "width": (lambda hidden: hidden[..., 1:], r"it gave \(2, 5, 5\) of torch.float32"),
    "one of the batch": (lambda hidden: hidden[:1], r"it gave \(1, 5, 6\)"),
    "one token": (lambda hidden: hidden.mean(1, keepdim=True), r"it gave \(2, 1, 6\)"),
    "float64": (lambda hidden: hidden.double(), r"it gave \(2, 5, 6\) of torch.float64"),
    "int64": (lambda hidden: hidden.long(), r"it gave \(2, 5, 6\) of torch.int64"),
    "tuple": (lambda hidden: (hidden, None), "it gave a tuple"),
    "nothing": (lambda hidden: None, "it gave None"),
}


def like(fact: str) -> str:
    return LIKE + f".*{fact}.*{TRY}"


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_tensor_like_its_input_is_refused(name):
    does, fact = WRONG[name]
    with pytest.raises(MixerError, match=r"^Plain\(does=.*\) " + like(fact)):
        Plain(does).build_layer(0, 6)(torch.randn(2, 5, 6))
    with pytest.raises(MixerError, match="^DoesByMix " + like(fact)):
        DoesByMix(6, does)(torch.randn(2, 5, 6))


@pytest.mark.parametrize("name", ["one of the batch", "one token"])
def test_no_wrong_shape_is_broadcast_in_a_model(name):
    kind = register_mixer("spreads", dataclass(frozen=True)(type("Spreads", (), {"build": build_of(WRONG[name][0])})))
    model = MixerBertModel(small(mixers=[Average(), kind(), Average(), Average()])).train()
    with pytest.raises(MixerError, match=LIKE):
        model(**words((9, 4, 6)))


def build_of(does: Callable[[Tensor], Any]) -> Callable[..., nn.Module]:
    return lambda self, width, dropout=0.0: Does(width, does)


def test_what_a_module_raises_names_its_mixer():
    with pytest.raises(MixerError, match=like("it raised KeyError: 'mine'")) as caught:
        Plain(fails).build_layer(0, 6)(torch.randn(2, 5, 6))
    assert isinstance(caught.value.__cause__, KeyError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(MixerError, match=r"^tokens must be even$"):
        Plain(says_why).build_layer(0, 6)(torch.randn(2, 5, 6))
    with pytest.raises(torch.OutOfMemoryError, match="no room"):
        Plain(too_large).build_layer(0, 6)(torch.randn(2, 5, 6))


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_autocast_chooses_types_within_a_mixer(kind):
    layer, hidden = Plain(lambda hidden: hidden).build_layer(0, 6), torch.randn(2, 5, 6)
    with torch.autocast("cpu", dtype=kind):
        assert layer(hidden).dtype == kind
        layer(hidden.to(kind))
        assert Plain(lambda hidden: hidden.float()).build_layer(0, 6)(hidden.to(kind)).dtype == torch.float32
        with pytest.raises(MixerError, match=LIKE):
            Plain(lambda hidden: hidden.double()).build_layer(0, 6)(hidden)
    with pytest.raises(MixerError, match=LIKE):
        Plain(lambda hidden: hidden.to(kind)).build_layer(0, 6)(hidden)


def test_compiled_exported_and_checkpointed_modules_are_looked_at_too():
    layer, hidden = Plain(torch.tanh).build_layer(0, 6), torch.randn(2, 5, 6)
    compiled = torch.compile(layer, backend="eager", fullgraph=True)
    assert torch.equal(compiled(hidden), layer(hidden))
    assert compiled(hidden[:, :3]).shape == (2, 3, 6)
    sizes = {"hidden": {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}, "attention_mask": None}
    program = torch.export.export(layer, (hidden, None), dynamic_shapes=sizes)
    assert torch.allclose(program.module()(hidden[:, :3], None), layer(hidden[:, :3]))
    recomputed = torch.utils.checkpoint.checkpoint(layer, hidden.requires_grad_(), use_reentrant=False)
    recomputed.sum().backward()
    with torch.no_grad(), pytest.raises(MixerError, match=LIKE):
        torch.compile(Plain(WRONG["one token"][0]).build_layer(0, 6), backend="eager")(hidden)


def test_a_build_that_fails_is_told():
    @dataclass(frozen=True)
    class Unbuildable(Mixer):
        error: type[Exception]

        def build(self, width: int, dropout: float = 0.0) -> nn.Module:
            raise self.error("in build")

    fact = "its build raised ZeroDivisionError: in build"
    with pytest.raises(MixerError, match=rf"must build a module of PyTorch for the width; {fact}{TRY}"):
        Unbuildable(ZeroDivisionError).build_layer(0, 6)
    with pytest.raises(MixerError, match=f"must keep its promise that {Promise.PADDING.value}; {fact}"):
        check_mixer(Unbuildable(ZeroDivisionError), promises=[Promise.PADDING])
    with pytest.raises(MixerError, match=r"^in build$"):
        check_mixer(Unbuildable(MixerError))
    with pytest.raises(MixerError, match="heads must divide the width"):
        check_mixer(Attention(heads=5))


def tried(does: Callable[..., Any], **sizes: int) -> Trial:
    kind = register_mixer("tried", dataclass(frozen=True)(type("Tried", (), {"build": build_of(does)})))
    return Trial(kind(), 0, **{"width": 6, "tokens": 12, **sizes})


NAMED = r"^the mixer 'tried', Tried\(\), "


@pytest.mark.parametrize("name", WRONG)
def test_a_trial_finds_wrong_outputs(name):
    with pytest.raises(MixerError, match=NAMED + LIKE):
        tried(WRONG[name][0]).require_sound()


def test_a_trial_tells_what_is_raised_and_what_is_not_finite():
    with pytest.raises(MixerError, match=NAMED + like("it raised KeyError: 'mine'")):
        tried(fails).require_sound()
    with pytest.raises(MixerError, match=r"^tokens must be even$"):
        tried(says_why).require_sound()
    with pytest.raises(MixerError, match=NAMED + like("it gave numbers that are not finite")):
        tried(lambda hidden: hidden * float("nan")).require_sound()


def test_a_trial_has_axes_of_different_size():
    with pytest.raises(MixerError, match=LIKE):
        tried(lambda hidden: hidden.transpose(1, 2), width=12).require_sound()


def test_a_trial_takes_few_tokens_and_leaves_random_numbers_alone():
    seen = []
    state = torch.random.get_rng_state()
    tried(lambda hidden: seen.append(hidden.shape) or torch.tanh(hidden), tokens=5000).require_sound()
    assert torch.equal(torch.random.get_rng_state(), state)
    assert {tuple(shape) for shape in seen} == {(2, 128, 6)}
    Trial(bring()(), 0, 6, 12).require_sound()


def next_token(hidden: Tensor) -> Tensor:
    return hidden.roll(-1, dims=1)


def first_of_a_block(hidden: Tensor) -> Tensor:
    """What is seen of later tokens ends with the block, whose ends are where halves meet, too."""
    return hidden.unflatten(1, (-1, 6)).flip(2).flatten(1, 2)


def last_token(hidden: Tensor) -> Tensor:
    return hidden + hidden[:, -1:]


@pytest.mark.parametrize("does", [next_token, first_of_a_block, last_token])
def test_a_trial_finds_a_look_ahead(does):
    trial = tried(does)
    trial.require_sound()
    with pytest.raises(MixerError, match=NAMED + r"must let no token see a later one, .* from place \d+ on move the"):
        trial.require_causal()


def test_a_trial_believes_what_is_causal():
    tried(lambda hidden: hidden.cumsum(dim=1)).require_causal()
    tried(lambda hidden: torch.cat([hidden[:, :1], hidden[:, :-1]], dim=1)).require_causal()


def convolved_by_a_transform(hidden: Tensor) -> Tensor:
    taps = torch.fft.rfft(torch.linspace(1, 0, hidden.shape[1]), n=2 * hidden.shape[1])
    long = torch.fft.rfft(hidden, n=2 * hidden.shape[1], dim=1) * taps[:, None]
    return torch.fft.irfft(long, dim=1)[:, : hidden.shape[1]]


def test_a_trial_does_not_take_roundings_for_a_look_ahead():
    tried(convolved_by_a_transform, tokens=100).require_causal()


def test_a_trial_does_not_take_chance_for_a_look_ahead():
    tried(lambda hidden: nn.functional.dropout(hidden, 0.5, training=True)).require_causal()
    calls = []
    with pytest.raises(MixerError, match="the same input gave other outputs a second time"):
        tried(lambda hidden: calls.append(0) or hidden * len(calls)).require_causal()


def test_a_type_that_only_shows_in_float32_is_a_broken_promise():
    with pytest.raises(MixerError, match=f"{Promise.SHAPE.value}; for .* of torch.float32 it gave .* of torch.float64"):
        check_mixer(Plain(lambda hidden: hidden.double()), promises=[Promise.SHAPE])


@pytest.mark.parametrize("given", [["causal"], "Causal", Promise.CAUSAL, ["CAUSAL", Promise.SHAPE], ("fully-padded",)])
def test_promises_have_names(given):
    check_mixer(Average(), promises=given)


def test_a_promise_by_name_is_checked():
    with pytest.raises(MixerError, match=Promise.CAUSAL.value):
        check_mixer(Plain(next_token), promises=["causal"])


@pytest.mark.parametrize("given", ["casual", ["causal", 3], None, 7, [["causal"]], [Promise]])
def test_unknown_promises_are_refused(given):
    with pytest.raises(
        MixerError, match=r"promises must be of Promise, or of the names shape, .*, onnx; got .*Name one"
    ):
        check_mixer(Average(), promises=given)
