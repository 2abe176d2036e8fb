"""Mixers brought by others, with as little as possible: a value with `build`, a module that takes tokens and a mask."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor, nn

from anyformer.errors import MixerError
from anyformer.mixers.mixer import Mixer, TokenMixer


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

    def reset_parameters(self, normal: Callable[..., Any] = nn.init.normal_) -> None:
        """As modules of PyTorch do it: without arguments."""
        if list(self.inner.parameters(recurse=False)):
            reset = getattr(self.inner, "reset_parameters", None)
            if reset is None:
                raise MixerError(
                    f"{type(self.inner).__name__} has parameters of its own, so it must have reset_parameters(), which"
                    " draws them. Write it, and call it in __init__."
                )
            reset()


def as_token_mixer(built: object, width: int, mixer: object) -> TokenMixer:
    """What `build` gave, as a TokenMixer."""
    if isinstance(built, TokenMixer):
        return built
    if isinstance(built, nn.Module):
        return AdoptedModule(width, built)
    raise MixerError(f"build must give a module of PyTorch; that of {mixer!r} gave {built!r:.200}. Return the module.")


@final
@dataclass(frozen=True)
class Adopted(Mixer):
    """A value with `build` alone as a Mixer."""

    of: Any

    def build(self, width: int, dropout: float = 0.0) -> nn.Module:
        """What the value builds."""
        built: nn.Module = self.of.build(width, dropout)
        return built

    def __repr__(self) -> str:
        return repr(self.of)


def as_mixer(value: Any) -> Mixer:
    """The value itself if it is a Mixer; otherwise one that builds what it builds."""
    return value if isinstance(value, Mixer) else Adopted(value)
