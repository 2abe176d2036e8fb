"""The parts of a network as parts of a module: parameters by the names of the file's arrays, and a module per stage.

They can be added to any module, so that PyTorch's and Hugging Face's models have the same names and do the same.
"""

from typing import Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyformer.errors import NetworkError
from anyformer.exports.config import Config, Shape, StageEntry
from anyformer.exports.config_fields import KINDS
from anyformer.exports.pytorch.probability_maps import as_module
from anyformer.exports.pytorch.stages import AttentionModule, FeedForwardModule, Recorder, StageModule
from anyformer.networks.layers import AttentionStage
from anyformer.networks.network import EMBEDDING, POSITIONS
from anyformer.patterns.pattern import Layer as Lists

MOST_RECORDED: Final = 2**28
"""Numbers that a run may leave behind, 2 GiB in float64: a network may have a hundred thousand layers."""

MOST_MASKED: Final = 2**30
"""Pairs of a query and a key, of every head and layer of a pattern that is kept as a mask: 1 GiB."""


class Recorded(NamedTuple):
    """What a module returns that is asked for more than its output."""

    output: Tensor
    """(batch, tokens, width)."""
    hidden_states: tuple[Tensor, ...] | None
    """The stream, (batch, tokens, stream_width): before the first layer, and after every layer."""
    attentions: tuple[Tensor, ...] | None
    """For every attention layer, how much each query takes of each key, (batch, heads, tokens, tokens)."""


def add_parts(module: nn.Module, structure: Config) -> None:
    """Give a module the parameters and stages of a network, without their numbers."""
    _check_masks(structure)
    dtype, shapes = torch_dtype(structure), structure.shapes()
    for name in (POSITIONS, *EMBEDDING):
        shape = shapes.get(name)
        module.register_parameter(name, None if shape is None else nn.Parameter(torch.empty(shape, dtype=dtype)))
    module.stages = nn.ModuleList(_stage(structure, k, shapes, dtype) for k in range(len(structure.stages)))
    module.structure = structure


def run_parts(
    module: nn.Module, x: Tensor, output_hidden_states: bool = False, output_attentions: bool = False
) -> Recorded:
    """Run the parts that `add_parts` gave to a module: embedding, positions, stages, read-out."""
    structure: Config = module.structure
    _check_input(structure, x, _dtype(module))
    recorder = _recorder(structure, x, output_hidden_states, output_attentions)
    state = x if module.W_E is None else functional.linear(x, module.W_E)
    if module.positional_encoding is not None:
        state = state + module.positional_encoding
    recorder.add_state(state)
    for stage in module.stages:
        state = stage(state) if recorder.is_idle else stage(state, recorder)
    output = state if module.W_R is None else functional.linear(state, module.W_R, module.b_R)
    # A zero in the result has no sign.
    return Recorded(output + 0.0, _tuple(recorder.states), _tuple(recorder.weights))


def torch_dtype(structure: Config) -> torch.dtype:
    """PyTorch's name of a network's type."""
    dtype: torch.dtype = getattr(torch, structure.dtype)
    return dtype


def _dtype(module: nn.Module) -> torch.dtype:
    """What the parameters are now; a network without any stage has none."""
    parameter = next(module.parameters(), None)
    return torch_dtype(module.structure) if parameter is None else parameter.dtype


def _stage(structure: Config, k: int, shapes: dict[str, Shape], dtype: torch.dtype) -> StageModule:
    entry = structure.stages[k]
    start = f"stages.{k}."
    own = {name: shapes[start + name] for name in KINDS[entry.kind].AXES}
    if entry.kind != AttentionStage.kind:
        return FeedForwardModule(entry.name, own, dtype)
    return AttentionModule(entry.name, own, dtype, as_module(structure.map_value), _views(structure, k))


def _views(structure: Config, k: int) -> tuple[Lists, ...]:
    """What the layers of an attention stage may look at, until it repeats."""
    if structure.pattern is None:
        return ()
    layers, period = structure.pattern.layers, structure.pattern.period
    first = sum(map(_attention_layers, structure.stages[:k]))
    return tuple(layers[(first + t) % period] for t in range(min(period, structure.stages[k].layers)))


def _check_masks(structure: Config) -> None:
    """Raise if the pattern is of another length, or would take far more memory than its lists, which a file holds."""
    if structure.pattern is not None and structure.pattern.tokens != structure.tokens:
        raise NetworkError(
            f"the pattern must have the network's {structure.tokens} tokens; it has {structure.pattern.tokens}. Build "
            f"it at that length"
        )
    needed = sum(
        (1 if len(lists) == 1 else entry.heads or structure.heads) * structure.tokens**2
        for k, entry in enumerate(structure.stages)
        if entry.kind == AttentionStage.kind
        for lists in _views(structure, k)
    )
    if needed > MOST_MASKED:
        raise NetworkError(
            f"the masks of a sparse network must have at most {MOST_MASKED:,} entries in PyTorch; these would have "
            f"{needed:,}. Run it with anyformer itself, which keeps lists."
        )


def _attention_layers(entry: StageEntry) -> int:
    return entry.layers if entry.kind == AttentionStage.kind else 0


def _check_input(structure: Config, x: Tensor, dtype: torch.dtype) -> None:
    tokens, width = structure.tokens, structure.width
    if not isinstance(x, Tensor):
        raise NetworkError(f"sequences must be a tensor (batch, {tokens}, {width}); got a {type(x).__name__}.")
    if x.ndim != 3 or x.shape[1] != tokens or x.shape[2] != width:
        raise NetworkError(
            f"sequences must have the shape (batch, tokens, width) = (batch, {tokens}, {width}); got "
            f"{tuple(x.shape)}. Give one sequence as a batch of one: x[None]."
        )
    if x.dtype != dtype:
        raise NetworkError(
            f"sequences must be {dtype}, as the weights are; got {x.dtype}. Convert them: x.to({dtype})."
        )


def _recorder(structure: Config, x: Tensor, output_hidden_states: bool, output_attentions: bool) -> Recorder:
    """Lists for what is asked for; refused if they would not fit."""
    if not output_hidden_states and not output_attentions:
        return Recorder()
    stream = structure.width if structure.stream_width is None else structure.stream_width
    states = (1 + sum(entry.layers for entry in structure.stages)) * structure.tokens * stream
    heads = (_attention_layers(entry) * (entry.heads or structure.heads) for entry in structure.stages)
    needed = x.shape[0] * (output_hidden_states * states + output_attentions * sum(heads) * structure.tokens**2)
    if needed > MOST_RECORDED:
        raise NetworkError(
            f"hidden states and attentions must be at most {MOST_RECORDED:,} numbers; these would be {needed:,}. "
            f"Give a smaller batch, or a forward hook to the stage you want (module.stages[k])."
        )
    return Recorder([] if output_hidden_states else None, [] if output_attentions else None)


def _tuple(found: list[Tensor] | None) -> tuple[Tensor, ...] | None:
    return None if found is None else tuple(found)
