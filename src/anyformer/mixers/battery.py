"""Tests for any mixer: does it keep what every mixer promises?"""

import tempfile
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.func import functional_call

from anyformer.errors import AnyformerError, MixerError, raised
from anyformer.mixers.mixer import Mixer, TokenMixer, is_causal
from anyformer.mixers.onnx import export_onnx
from anyformer.mixers.soundness import fact_of, fault_of

LENGTHS = (11, 4, 0, 7)
"""How many tokens each sequence of the test batch keeps: all, few, none (only padding), and a number in between."""


class Promise(Enum):
    """What a mixer promises; the value is the sentence."""

    SHAPE = "outputs have the shape and type of inputs, before and after a projection"
    GRADIENT = "gradients are right, reach every parameter, and padding gets none"
    PADDING = "the outputs of kept tokens are the same whatever the padding"
    FULLY_PADDED = "a sequence of nothing but padding gives zeros, and no NaN anywhere"
    DETERMINISM = "the same input and parameters give the same bits, and inputs are left alone"
    CAUSAL = "if it is its own causal form, tokens get the same bits whatever the later ones are"
    ONNX = "the ONNX export gives the same at other sizes, or is refused for a stated reason"


def check_mixer(mixer: Mixer, width: int = 48, promises: Iterable[Promise | str] = tuple(Promise)) -> None:
    """Raise MixerError at the first broken promise; no error is evidence for this width and 11 tokens, not proof.

    Args:
        mixer: a value with `build(width)`; it must take 11 tokens.
        width: numbers per token; the default suits 12 heads and 16 filters.
        promises: which to check, or their names, such as "causal"; all but ONNX need PyTorch alone.

    Example:
        >>> from anyformer.mixers import Average, Promise, check_mixer
        >>> check_mixer(Average(), promises=[Promise.SHAPE, Promise.PADDING])
    """
    if not isinstance(mixer, Mixer):
        raise MixerError(f"a mixer must be a Mixer, or of a class that register_mixer got; got {mixer!r:.200}.")
    for promise in _promises(promises):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            built = _built(mixer, width, promise)
            try:
                _CHECKS[promise](mixer, built)
            except ImportError:
                raise
            except Exception as error:
                raise _breaks(mixer, promise, error) from error


class _Broken(Exception):
    """The bare fact; the public function adds the mixer and the promise."""


def _promises(given: object) -> list[Promise]:
    """Promises that are given by themselves or by name, one or several."""
    several = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    return [one if isinstance(one, Promise) else _named(one) for one in several]


def _named(name: object) -> Promise:
    found = Promise.__members__.get(name.upper().replace("-", "_").replace(" ", "_")) if isinstance(name, str) else None
    if found is None:
        known = ", ".join(one.lower().replace("_", "-") for one in Promise.__members__)
        raise MixerError(f"promises must be of Promise, or of the names {known}; got {name!r:.200}. Name one of them.")
    return found


def _built(mixer: Mixer, width: int, promise: Promise) -> TokenMixer:
    try:
        return mixer.build_layer(0, width).double().eval()
    except Exception as error:
        # What is said of sizes, or of a package that is missing, is clear as it is.
        if isinstance(error, AnyformerError | ImportError) and fact_of(error) is None:
            raise
        raise _breaks(mixer, promise, error) from error


def _breaks(mixer: Mixer, promise: Promise, error: Exception) -> MixerError:
    fact = str(error) if isinstance(error, _Broken) else fact_of(error) or f"it raised {raised(error)}"
    return MixerError(f"{mixer!r} must keep its promise that {promise.value}; {fact}.")


def _batch(width: int) -> tuple[Tensor, Tensor]:
    hidden = torch.randn(len(LENGTHS), max(LENGTHS), width, dtype=torch.float64)
    return hidden, (torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]).long()


def _rounding(mixed: Tensor, width: int) -> float:
    """Two orders of adding a token's products differ by at most this; there are at most tokens + 2·width of them."""
    return (max(LENGTHS) + 2 * width) * torch.finfo(mixed.dtype).eps * max(1.0, float(mixed.detach().abs().max()))


def _check_shape(mixer: Mixer, built: TokenMixer) -> None:
    for dtype in (torch.float64, torch.float32):  # the first alone would hide a module that always gives it
        _check_shape_of(built.to(dtype), dtype)


def _check_shape_of(built: TokenMixer, dtype: torch.dtype) -> None:
    hidden, mask = _batch(built.width)
    hidden, projection = hidden.to(dtype), nn.Linear(built.width, 2 * built.width + 1).to(dtype)
    mixed = built(hidden, mask)
    if fault := fault_of(mixed, hidden):
        raise _Broken(fault)
    projected, wanted = built.projected(hidden, mask, projection), projection(mixed)
    if projected.shape != wanted.shape or (projected - wanted).abs().max() > _rounding(wanted, built.width):
        raise _Broken("`projected` differs from the projection of what `forward` gives")


def _check_gradient(mixer: Mixer, built: TokenMixer) -> None:
    hidden, mask = _batch(built.width)
    hidden = hidden.requires_grad_()
    names, parameters = zip(*built.named_parameters(), strict=True) if list(built.parameters()) else ((), ())

    def function(hidden: Tensor, *parameters: Tensor) -> Tensor:
        mixed = functional_call(built, dict(zip(names, parameters, strict=True)), (hidden, mask))
        return mixed * mask[..., None]

    try:
        torch.autograd.gradcheck(function, (hidden, *parameters), fast_mode=True)
    except RuntimeError as error:
        raise _Broken(f"the gradient differs from finite differences: {str(error).splitlines()[0]}") from error
    function(hidden, *parameters).pow(2).sum().backward()
    for name, parameter in built.named_parameters():
        # A gradient of None is a fault, zero is not: softmax ignores the bias of its keys.
        if parameter.grad is None:
            raise _Broken(f"parameter {name} gets no gradient")
    if hidden.grad is None or hidden.grad[mask == 0].any():
        raise _Broken("padding tokens get a gradient")


def _check_padding(mixer: Mixer, built: TokenMixer) -> None:
    hidden, mask = _batch(built.width)
    # Every other token of the whole sequence becomes padding too, which may stand anywhere.
    mask[0, 1::2] = 0
    mixed = built(hidden, mask)
    other = built(torch.where(mask[..., None] == 1, hidden, 1e6 * torch.randn_like(hidden)), mask)
    away = ((other - mixed).abs() * mask[..., None]).max()
    if not away <= _rounding(mixed, built.width):
        raise _Broken(f"other numbers in the padding move kept tokens by {away:.1e}")
    for row, length in enumerate(LENGTHS[1:], 1):
        if length:
            _check_alone(built, hidden[row : row + 1, :length], mixed[row : row + 1, :length])


def _check_alone(built: TokenMixer, hidden: Tensor, wanted: Tensor) -> None:
    """A sequence by itself, without a mask and with one that keeps all."""
    for mask in (None, torch.ones(hidden.shape[:2], dtype=torch.long)):
        away = (built(hidden, mask) - wanted).abs().max()
        if not away <= _rounding(wanted, built.width):
            raise _Broken(
                f"{hidden.shape[1]} tokens without padding differ by {away:.1e} from the same ones with padding"
            )


def _check_fully_padded(mixer: Mixer, built: TokenMixer) -> None:
    hidden, mask = _batch(built.width)
    mixed = built(hidden.requires_grad_(), mask)
    if not mixed.isfinite().all():
        raise _Broken("some outputs are not finite")
    if mixed[LENGTHS.index(0)].any():
        raise _Broken(f"got up to {mixed[LENGTHS.index(0)].abs().max():.1e}")
    mixed.sum().backward()
    gradients = [hidden.grad, *(parameter.grad for parameter in built.parameters())]
    if not all(gradient is None or gradient.isfinite().all() for gradient in gradients):
        raise _Broken("some gradients are not finite")


def _check_determinism(mixer: Mixer, built: TokenMixer) -> None:
    hidden, mask = _batch(built.width)
    before, mask_before = hidden.clone(), mask.clone()
    once, twice = built(hidden, mask), built(hidden, mask)
    if not torch.equal(once, twice):
        raise _Broken("a second call gave others")
    if not torch.equal(hidden, before) or not torch.equal(mask, mask_before):
        raise _Broken("a call changed its input in place")
    again = mixer.build_layer(0, built.width).double().eval()
    again.load_state_dict(built.state_dict())
    if not torch.equal(again(hidden, mask), once):
        raise _Broken("another module with the same state_dict gave others")


def _check_causal(mixer: Mixer, built: TokenMixer) -> None:
    if not is_causal(mixer):
        return
    hidden, mask = _batch(built.width)
    other = torch.randn_like(hidden)
    for first in range(1, max(LENGTHS)):
        later = torch.arange(max(LENGTHS)) >= first
        changed = torch.where(later[:, None], other, hidden)
        # With a mask, later tokens come and go as well.
        for before, after in ((None, None), (mask, torch.where(later, 1 - mask, mask))):
            away = (built(changed, after) - built(hidden, before))[:, :first].abs()
            kept = away if before is None else away * mask[:, :first, None]
            if not kept.max() == 0:
                raise _Broken(f"other tokens from place {first} on move the ones before by {kept.max():.1e}")


def _check_onnx(mixer: Mixer, built: TokenMixer) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            export_onnx(built.float(), Path(folder) / "mixer.onnx")
        except MixerError as error:
            if not built.without_onnx or built.without_onnx not in str(error):
                raise _Broken(str(error)) from error


_CHECKS: dict[Promise, Callable[[Mixer, TokenMixer], None]] = {
    Promise.SHAPE: _check_shape,
    Promise.GRADIENT: _check_gradient,
    Promise.PADDING: _check_padding,
    Promise.FULLY_PADDED: _check_fully_padded,
    Promise.DETERMINISM: _check_determinism,
    Promise.CAUSAL: _check_causal,
    Promise.ONNX: _check_onnx,
}
