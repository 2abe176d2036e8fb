"""Faults of modules that others wrote, in the words of an error; what `check_mixer` tests in full."""

from typing import Final

import torch
from torch import Tensor

from anyformer.errors import MixerError

_GIVES: Final = "give a tensor of hidden's shape and type"
_FACT: Final = "bare_fact"


def unsound(mixer: str, fact: str, must: str = _GIVES) -> MixerError:
    """The error for a mixer, by what it is called; `fact` has neither a capital letter nor a full stop.

    >>> str(unsound("FNet()", "it gave None")).partition(". ")[0]
    "FNet() must give a tensor of hidden's shape and type; it gave None"
    """
    error = MixerError(
        f"{mixer} must {must}; {fact}. Correct it, and try check_mixer on it, which tests all that mixers promise."
    )
    setattr(error, _FACT, fact)
    return error


def fact_of(error: Exception) -> str | None:
    """The fact alone, for whoever says it in other words; None if `unsound` did not make the error."""
    fact: str | None = getattr(error, _FACT, None)
    return fact


def is_shipped(kind: object) -> bool:
    """Whether a class is the package's own, whose mixers its tests keep sound."""
    return str(kind.__module__).partition(".")[0] == __name__.partition(".")[0]


def fault_of(mixed: object, hidden: Tensor) -> str | None:
    """What is wrong with what a module gave for `hidden`, if anything is."""
    if not isinstance(mixed, Tensor):
        return f"it gave {'None' if mixed is None else f'a {type(mixed).__name__}'}"
    if mixed.shape == hidden.shape and (mixed.dtype == hidden.dtype or _is_autocast(mixed)):
        return None
    return f"for {tuple(hidden.shape)} of {hidden.dtype} it gave {tuple(mixed.shape)} of {mixed.dtype}"


def _is_autocast(mixed: Tensor) -> bool:
    """Under autocast each operation chooses its type; what follows a mixer takes all but float64."""
    kind = mixed.device.type
    return torch.is_autocast_enabled(kind) and mixed.dtype in (torch.get_autocast_dtype(kind), torch.float32)
