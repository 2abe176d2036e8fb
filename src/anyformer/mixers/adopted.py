"""Modules brought by others: what `build` may give, and how a model draws the parameters in it."""

from collections.abc import Callable
from typing import Any, Final, final

import torch
from torch import Tensor, nn

from anyformer.errors import MixerError
from anyformer.mixers.mixer import TokenMixer

_DRAWN: Final = (
    *(nn.Linear, nn.Embedding, nn.modules.conv._ConvNd, nn.MultiheadAttention),
    *(nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, nn.modules.batchnorm._NormBase),
)
"""What `transformers` draws in every model."""
_MARK: Final = "draws_its_parameters"


@final
class AdoptedModule(TokenMixer):
    """A plain module of (hidden, keep) as a TokenMixer; `keep` is Boolean, (batch, tokens), and always there."""

    def __init__(self, width: int, inner: nn.Module) -> None:
        super().__init__(width)
        self.inner = inner

    @property
    def without_onnx(self) -> str:  # type: ignore[override]
        """The module's own reason, if it states one."""
        return str(getattr(self.inner, "without_onnx", ""))

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        """What the module does."""
        all_kept = torch.ones(hidden.shape[:2], dtype=torch.bool, device=hidden.device)
        mixed: Tensor = self.inner(hidden, all_kept if keep is None else keep)
        return mixed


def as_token_mixer(built: object, width: int, mixer: object) -> TokenMixer:
    """What the `build` of a mixer gave, as a TokenMixer.

    Raises:
        MixerError: if it is no module, or one in which a model could not draw parameters that no file has.
    """
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
    return built if isinstance(built, TokenMixer) else AdoptedModule(width, built)


def draw_parameters(module: nn.Module, normal: Callable[..., Any]) -> None:
    """New values for the parameters of a module of a mixer, except those in its submodules; other modules stay."""
    if isinstance(module, TokenMixer):
        module.reset_parameters(normal)
    elif getattr(module, _MARK, False):
        reset: Any = module.reset_parameters
        reset()
