"""ONNX graphs: their outputs of three axes, or values inside the graph by name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from anyformer.contextuality.layers import Layered
from anyformer.errors import ContextualityError, raised
from anyformer.extras import require

TYPES: Final = {
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(bool)": np.bool_,
}
FILLED: Final = {"attention_mask": 1, "token_type_ids": 0}
"""Inputs beside the tokens that BERTs are exported with: nothing is padded, and there is one text."""


def from_onnx(place: Path, layers: Sequence[str] | None = None) -> Layered:
    """A graph whose first input are token numbers (batch, tokens) or vectors (batch, tokens, width)."""
    runtime = require("onnxruntime", extra="onnx", what="ONNX files")
    try:
        source = _with_outputs(place, layers) if layers else str(place)
        session = runtime.InferenceSession(source, providers=["CPUExecutionProvider"])
    except ContextualityError:
        raise
    except Exception as error:  # onnxruntime has exceptions of its own for every kind of damage
        raise ContextualityError(f"{place} must be an ONNX file that onnxruntime reads; it says: {error}") from error
    main, *more = session.get_inputs()
    for one in more:
        if one.name not in FILLED:
            raise ContextualityError(
                f"an ONNX graph must take tokens or vectors, and besides only {' and '.join(FILLED)}; {place.name} "
                f"also wants {one.name!r}. Export it without."
            )
    names = tuple(layers) if layers else tuple(one.name for one in session.get_outputs() if len(one.shape or ()) == 3)
    if not names:
        raise ContextualityError(
            f"an ONNX graph must have outputs (batch, tokens, width); {place.name} has none. Name values inside the "
            "graph as layers."
        )

    def run(batch: NDArray[Any]) -> list[NDArray[Any]]:
        given = {main.name: batch.astype(_type_of(main))}
        given |= {one.name: np.full(batch.shape[:2], FILLED[one.name], dtype=_type_of(one)) for one in more}
        try:
            return [np.asarray(layer) for layer in session.run(list(names), given)]
        except Exception as error:  # as above
            raise ContextualityError(
                f"the graph must take a batch of the shape {batch.shape}; onnxruntime raised {raised(error)}. Give "
                "sequences that it takes, or export it with axes of any size."
            ) from error

    return Layered(place.name, run, names=names)


def _type_of(one: Any) -> Any:
    if one.type not in TYPES:
        raise ContextualityError(f"input {one.name!r} must hold numbers; it has the type {one.type}.")
    return TYPES[one.type]


def _with_outputs(place: Path, layers: Sequence[str]) -> bytes:
    """The graph with inner values among its outputs."""
    onnx = require("onnx", extra="onnx", what="values inside an ONNX graph")
    graph = onnx.load(str(place))
    inner = {name for node in graph.graph.node for name in node.output}
    for name in layers:
        if name not in inner:
            raise ContextualityError(f"layers must be values of the ONNX graph; {name!r} is none in {place.name}.")
        if name not in {one.name for one in graph.graph.output}:
            graph.graph.output.append(onnx.ValueInfoProto(name=name))
    return bytes(graph.SerializeToString())
