"""onnxruntime: a Scan over the layers, one or a few a step, or a graph in which every layer is written out."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from anyformer.arrays import Array
from benchmarks.cases import Case
from benchmarks.interleave import Program
from benchmarks.machine import THREADS
from benchmarks.peers.augmented import augmented_inputs, augmented_weights
from benchmarks.peers.halves import on_threads, split

# Loading grows about with the cube of the layers: 14 s for 1,000, half an hour for 5,000. Up to there a graph that is
# written out is no faster than a Scan: 12 to 18 against 12 to 13 microseconds a layer at width 2 and 2,000 tokens.
MOST_WRITTEN_OUT = 500
STEPS = (1, 5)
USUAL = f"scan of Gemm, 1 a step, {THREADS} threads"


def programs(case: Case, only: frozenset[str]) -> Iterator[Program]:
    """Scans with one thread, with two and with two halves; all layers written out where they are not too many."""
    for kind, layer in LAYERS.items():
        for step in STEPS:
            for threads in (f"{THREADS} threads", "1 thread", "two halves"):
                name = f"scan of {kind}, {step} a step, {threads}"
                if not only or name in only:
                    yield _program(name, _scan(case, layer, step), layer, case, threads)
        name = f"{kind} written out, {THREADS} threads"
        if case.layers <= MOST_WRITTEN_OUT and (not only or name in only):
            yield _program(name, _written_out(case, layer), layer, case, f"{THREADS} threads")


def _program(name: str, model: ModelProto, layer: "Layer", case: Case, threads: str) -> Program:
    session = _session(model, THREADS if threads == f"{THREADS} threads" else 1)
    inputs = split(case.inputs) if threads == "two halves" else [case.inputs]
    parts = [np.ascontiguousarray(layer.inputs(x).T) for x in inputs]

    def call(part: Array) -> Any:
        return session.run(None, {"x": part})[0]

    together = on_threads(call, parts) if len(parts) > 1 else lambda: [call(parts[0])]
    return Program(
        name, together, lambda results: np.concatenate(results, axis=1).T[:, : case.width], is_usual=name == USUAL
    )


def _session(model: ModelProto, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    # Its threads may spin while it works, but not on into somebody else's turn.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


class Layer:
    """Gemm, ReLU, Gemm and an addition; the names of a layer's weights, and its weights stacked."""

    names = ("W_1", "b_1", "W_2", "b_2")

    def weights(self, case: Case) -> list[Array]:
        """One array a name, layers first."""
        stage = case.stage
        return [stage.W_1, stage.b_1[:, :, None], stage.W_2, stage.b_2[:, :, None]]

    def inputs(self, x: Array) -> Array:
        """What the tokens become before they are columns."""
        return x

    def nodes(self, tag: str, source: str, result: str) -> list[NodeProto]:
        """One layer."""
        W_1, b_1, W_2, b_2, before, hidden, move = (
            f"{name}{tag}" for name in (*self.names, "before", "hidden", "move")
        )
        return [
            helper.make_node("Gemm", [W_1, source, b_1], [before]),
            helper.make_node("Relu", [before], [hidden]),
            helper.make_node("Gemm", [W_2, hidden, b_2], [move]),
            helper.make_node("Add", [source, move], [result]),
        ]


class AugmentedLayer(Layer):
    """MatMul, ReLU, Gemm: biases in the matrices, the residual in the second product."""

    names = ("W_1", "W_2")

    def weights(self, case: Case) -> list[Array]:
        """One array a name, layers first."""
        return list(augmented_weights(case.stage))

    def inputs(self, x: Array) -> Array:
        """A coordinate of ones more."""
        return augmented_inputs(x)

    def nodes(self, tag: str, source: str, result: str) -> list[NodeProto]:
        """One layer."""
        W_1, W_2, before, hidden = (f"{name}{tag}" for name in (*self.names, "before", "hidden"))
        return [
            helper.make_node("MatMul", [W_1, source], [before]),
            helper.make_node("Relu", [before], [hidden]),
            helper.make_node("Gemm", [W_2, hidden, source], [result]),
        ]


LAYERS: dict[str, Layer] = {"Gemm": Layer(), "three operations": AugmentedLayer()}


def _scan(case: Case, layer: Layer, step: int) -> ModelProto:
    """A Scan whose body has `step` layers; layer l of a step reads every step-th slice from l on."""
    weights = layer.weights(case)
    rows = layer.inputs(case.inputs[:1]).shape[1]
    stacked, slices, nodes = [], [], []
    for k in range(step):
        for name, each in zip(layer.names, weights, strict=True):
            stacked.append(numpy_helper.from_array(np.ascontiguousarray(each[k::step]), f"all {name}_{k}"))
            slices.append(_value(f"{name}_{k}", list(each.shape[1:])))
        nodes += layer.nodes(f"_{k}", f"state_{k}", f"state_{k + 1}")
    state = [_value("state_0", [rows, None]), _value(f"state_{step}", [rows, None])]
    body = helper.make_graph(nodes, "layers", [state[0], *slices], [state[1]])
    inputs = ["x", *(each.name for each in stacked)]
    return _model([helper.make_node("Scan", inputs, ["y"], body=body, num_scan_inputs=len(slices))], stacked, rows)


def _written_out(case: Case, layer: Layer) -> ModelProto:
    weights, constants, nodes = layer.weights(case), [], []
    for k in range(case.layers):
        for name, each in zip(layer.names, weights, strict=True):
            constants.append(numpy_helper.from_array(each[k], f"{name}_{k}"))
        result = "y" if k + 1 == case.layers else f"state_{k + 1}"
        nodes += layer.nodes(f"_{k}", f"state_{k}" if k else "x", result)
    return _model(nodes, constants, layer.inputs(case.inputs[:1]).shape[1])


def _model(nodes: list[NodeProto], constants: list[TensorProto], rows: int) -> ModelProto:
    graph = helper.make_graph(nodes, "stage", [_value("x", [rows, None])], [_value("y", [rows, None])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _value(name: str, shape: list[Any]) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.DOUBLE, shape)
