"""Modules brought by others: what `build` may give, and how a model draws the parameters in it."""

from collections.abc import Callable
from typing import Any, Final, final

import torch
from torch import Tensor, nn

from anyformer.errors import AnyformerError, MixerError, raised
from anyformer.mixers.mixer import Mixer, TokenMixer, is_traced
from anyformer.mixers.soundness import is_shipped, unsound

_DRAWN: Final = (
    *(nn.Linear, nn.Embedding, nn.modules.conv._ConvNd, nn.MultiheadAttention),
    *(nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, nn.modules.batchnorm._NormBase),
)
"""What `transformers` draws in every model."""
_MARK: Final = "draws_its_parameters"
_MISTAKES: Final = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RuntimeError, TypeError, ValueError),
)
"""What mistakes in code raise; PyTorch uses other exceptions to find its way."""


@final
class AdoptedModule(TokenMixer):
    """A plain module of (hidden, keep) as a TokenMixer; `keep` is Boolean, (batch, tokens), and always there."""

    def __init__(self, width: int, inner: nn.Module, mixer: str) -> None:
        super().__init__(width)
        self.inner, self.mixer = inner, mixer

    @property
    def _called(self) -> str:
        """The mixer that built it."""
        return self.mixer

    @property
    def without_onnx(self) -> str:  # type: ignore[override]
        """The module's own reason, if it states one."""
        return str(getattr(self.inner, "without_onnx", ""))

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        """What the module does; `forward` looks at what it gives."""
        all_kept = torch.ones(hidden.shape[:2], dtype=torch.bool, device=hidden.device)
        keep = all_kept if keep is None else keep
        mixed: Tensor = self.inner(hidden, keep) if is_traced() else self._watched(hidden, keep)
        return mixed

    def _watched(self, hidden: Tensor, keep: Tensor) -> Any:
        try:
            return self.inner(hidden, keep)
        except (torch.OutOfMemoryError, AnyformerError):
            raise
        except _MISTAKES as error:
            raise unsound(self._called, f"it raised {raised(error)}") from error


def built_by(mixer: Mixer, width: int, dropout: float) -> TokenMixer:
    """What the `build` of a mixer gives, as a TokenMixer.

    Raises:
        MixerError: if it is no module, or one in which a model could not draw parameters that no file has; if `build`
            of a mixer of others makes a mistake.
    """
    try:
        built: object = mixer.build(width, dropout)
    except _MISTAKES as error:
        if is_shipped(type(mixer)):
            raise
        fact = f"its build raised {raised(error)}"
        raise unsound(repr(mixer), fact, must="build a module of PyTorch for the width") from error
    return as_token_mixer(built, width, mixer)


def as_token_mixer(built: object, width: int, mixer: Mixer) -> TokenMixer:
    """A module that somebody built, as a TokenMixer; MixerError as `built_by` says."""
    if not isinstance(built, nn.Module):
        raise MixerError(
            f"build must give a module of PyTorch; that of {mixer!r} gave {built!r:.200}. Return the module."
        )
    for module in built.modules():
        if not isinstance(module, _DRAWN) and list(module.parameters(recurse=False)):
            reset = getattr(type(module), "reset_parameters", None)
            if reset in (None, TokenMixer.reset_parameters):
                raise MixerError(
                    f"a module with parameters of its own must have reset_parameters, which draws them; that of"
                    f" {mixer!r} has {type(module).__name__} without it. Write it, and call it in __init__."
                )
            setattr(module, _MARK, True)
    return built if isinstance(built, TokenMixer) else AdoptedModule(width, built, repr(mixer))


def draw_parameters(module: nn.Module, normal: Callable[..., Any]) -> None:
    """New values for the parameters of a module of a mixer, except those in its submodules; other modules stay."""
    if isinstance(module, TokenMixer):
        module.reset_parameters(normal)
    elif getattr(module, _MARK, False):
        reset: Any = module.reset_parameters
        reset()
