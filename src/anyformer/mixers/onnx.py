"""A mixer, or a whole BERT of mixers, as an ONNX file, run and compared before it counts as exported."""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from anyformer.atomic import atomic_file
from anyformer.errors import MixerError
from anyformer.extras import require
from anyformer.mixers.mixer import TokenMixer

OPSET = 18
_EXPORTED, _TRIED = (2, 7), (3, 5)


@dataclass(frozen=True, eq=False)
class Graph:
    """What is exported: a module from tensors to a tensor or a tuple of them; the first axis of all is the batch."""

    name: str
    module: nn.Module
    inputs: tuple[str, ...]
    """One of them is `attention_mask`; the second axis of all is the tokens."""
    outputs: tuple[str, ...]
    example: Callable[[Tensor], tuple[Tensor, ...]]
    """The inputs for an attention_mask."""
    products: Callable[[int], int]
    """How many products are added on the longest way from an input to an output, by the number of tokens."""


def export_onnx(model: nn.Module, place: str | Path) -> Path:
    """Write a mixer or a BERT of mixers to an .onnx file for any batch and any number of tokens.

    The file is then run by ONNX Runtime on another batch and another length, one sequence all padding, and must give
    what PyTorch gives; otherwise MixerError, and no file.

    Args:
        model: in evaluation mode. A mixer has the inputs `hidden` and `attention_mask` (int64) and the output `mixed`;
            MixerBertModel and its heads have `input_ids`, `attention_mask` and `token_type_ids` (int64) and the
            outputs they have in PyTorch, by the same names.
        place: the file, replaced in one step or not at all.

    Returns:
        The place.
    """
    runtime, place = _require("onnxruntime"), Path(place)
    _require("onnx"), _require("onnxscript")
    _require_exportable(model)
    graph = onnx_graph(model)
    try:
        with _quiet():
            exported = _exported(graph)
        session = runtime.InferenceSession(exported, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise MixerError(
            f"{graph.name} must be exported to ONNX; it raised {type(error).__name__}: {str(error)[:300]}."
            " Use operations of PyTorch alone, and no decisions on the contents of tensors."
        ) from error
    _compare(graph, session)
    with atomic_file(place) as file:
        file.write(exported)
    return place


def _require_exportable(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, TokenMixer) and module.without_onnx:
            raise MixerError(f"{type(module).__name__} must not be exported to ONNX: {module.without_onnx}.")


@singledispatch
def onnx_graph(model: object) -> Graph:
    """What is exported of a model; `anyformer.mixers.bert` adds its own."""
    raise MixerError(
        f"what is exported must be a mixer's module or a BERT of mixers; got {type(model).__name__}."
        " Build the mixer for its width, or convert the BERT first."
    )


@onnx_graph.register
def _mixer_graph(mixer: TokenMixer) -> Graph:
    parameter = next(mixer.parameters(), torch.empty(0))

    def example(mask: Tensor) -> tuple[Tensor, ...]:
        generator = torch.Generator().manual_seed(0)
        return torch.randn(*mask.shape, mixer.width, generator=generator).to(parameter), mask.to(parameter.device)

    return Graph(
        repr(mixer),
        mixer,
        ("hidden", "attention_mask"),
        ("mixed",),
        example,
        lambda tokens: tokens + 2 * mixer.width,
    )


def padded(batch: int, tokens: int) -> Tensor:
    """An attention_mask whose first sequence is all padding and whose last is whole."""
    return (torch.arange(tokens) < torch.linspace(0, tokens, batch).long()[:, None]).long()


def _exported(graph: Graph) -> bytes:
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    program = torch.onnx.export(
        graph.module,
        graph.example(padded(*_EXPORTED)),
        input_names=list(graph.inputs),
        output_names=list(graph.outputs),
        opset_version=OPSET,
        dynamic_shapes=(free,) * len(graph.inputs),
        dynamo=True,
        verbose=False,
    )
    exported: bytes = program.model_proto.SerializeToString()
    return exported


def _compare(graph: Graph, session: Any) -> None:
    mask = padded(*_TRIED)
    given = graph.example(mask)
    with torch.no_grad():
        wanted, other = (_as_tuple(graph.module(*one)) for one in (given, graph.example(padded(*_EXPORTED))))
    found = session.run(None, {name: one.cpu().numpy() for name, one in zip(graph.inputs, given, strict=True)})
    for name, right, longer, got in zip(graph.outputs, wanted, other, found, strict=True):
        per_token = right.dim() > 1 and right.shape[1] != longer.shape[1]
        _compare_output(graph, name, right.cpu().numpy(), got, mask.numpy().astype(bool), per_token)


def _as_tuple(outputs: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return outputs if isinstance(outputs, tuple) else (outputs,)


def _compare_output(graph: Graph, name: str, wanted: Any, got: Any, real: Any, per_token: bool) -> None:
    """Padding may hold any numbers, but sequences of nothing else must agree too: their zeros to the bit."""
    # Both add the same products in orders of their own; a sum errs by a rounding for each of them.
    size = max(1.0, float(np.abs(wanted).max()))
    rounding = graph.products(real.shape[1]) * np.finfo(wanted.dtype).eps * size
    away = np.inf
    if got.shape == wanted.shape:
        blank = ~real.any(axis=1, keepdims=True)
        seen = real | blank if per_token else np.ones(len(real), dtype=bool)
        away = np.abs(got - wanted)[seen].max(initial=0)
        if (got[blank[:, 0]] != 0)[wanted[blank[:, 0]] == 0].any():
            away = np.inf
    if not away <= rounding:
        raise MixerError(
            f"{graph.name} must give the same {name} by ONNX Runtime as by PyTorch, up to {rounding:.1e};"
            f" got {away:.1e}. See that no size of the example was written into the graph."
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter's notes on deprecations and attempts; errors still come through."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _require(module: str) -> Any:
    return require(module, extra="onnx", what="ONNX files")
