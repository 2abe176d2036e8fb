"""Tilings as tensors, compiled once for a length and a device, and kept."""

from functools import lru_cache
from typing import TypeAlias

import torch
from torch import Tensor

from anyformer.attention.backends import implementation, prices
from anyformer.errors import AttentionError
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.neighbours import Neighbours
from anyformer.patterns.pattern import Layer, SparsityPattern
from anyformer.patterns.tiling.compiler import tiling_of
from anyformer.patterns.tiling.parts import Tiling

Pattern: TypeAlias = PatternFamily | SparsityPattern
_KEPT = 64  # as many lists of neighbours; a model has few


def layers_of(pattern: Pattern, tokens: int) -> tuple[Layer, ...]:
    """The layers of the pattern at this length, each with its lists."""
    at_length = _at(pattern, tokens) if isinstance(pattern, PatternFamily) else pattern
    if not isinstance(at_length, SparsityPattern):
        raise AttentionError(
            f"pattern must be a family such as SlidingWindow(64), or a SparsityPattern; got {type(pattern).__name__}."
            " anyformer.patterns.named finds one by its name."
        )
    if at_length.tokens != tokens:
        raise AttentionError(
            f"the pattern must be as long as the sequences, {tokens} tokens; got one of {at_length.tokens}."
            " Give the family instead: it makes a pattern for every length."
        )
    return at_length.layers


@lru_cache(maxsize=_KEPT)
def tiling_for(neighbours: Neighbours, backend: str) -> Tiling:
    """How this list is executed with this back end."""
    return tiling_of(neighbours, prices(backend))


@lru_cache(maxsize=_KEPT)
def tensors_for(neighbours: Neighbours, backend: str, device: torch.device) -> list[Tensor]:
    """The same as tensors on a device."""
    return [tensor.to(device) for tensor in implementation(backend).tensors_of(tiling_for(neighbours, backend))]


@lru_cache(maxsize=_KEPT)
def _at(family: PatternFamily, tokens: int) -> SparsityPattern:
    return family.at(tokens)
