"""A proved model as one ONNX graph, for any batch or a fixed one."""

import math

import numpy as np
from onnx import ModelProto, checker, helper

from anyformer.errors import ExportError
from anyformer.exports.onnx.graph import IR_VERSION, OPSET, Graph
from anyformer.exports.onnx.stages import add_scan, add_unrolled
from anyformer.exports.proved import Proved
from anyformer.networks.digest import digest
from anyformer.networks.dtypes import BFLOAT16
from anyformer.networks.network import POSITIONS, Network
from anyformer.whole_numbers import whole_number

# A deeper network becomes Scans: onnxruntime loads a graph that is written out in time that grows with the cube of its
# layers. 64 layers load in 15 ms instead of 1, 512 in 250 instead of 4; running takes the same time.
MOST_UNROLLED = 64
# A protobuf message cannot be larger.
MOST_BYTES = 2**31 - 2**20
INPUT, OUTPUT = "x", "y"


def to_onnx(model: Proved, batch: int | None = None) -> ModelProto:
    """A model as ONNX, checked by `onnx.checker`: input x and output y, both (batch, tokens, width).

    Its float64 results on the cells of a table are those of `anyformer.networks.evaluate`, bit for bit. Every weight is
    an initializer with its name in `network.arrays()`; what is claimed of the model is in the metadata.

    Args:
        model: anything with a network and its certificate.
        batch: how many sequences a call takes; any number if not given.

    Returns:
        The ONNX model, of the network's own type. Unrolled up to `MOST_UNROLLED` layers, beyond that a Scan a stage.

    Raises:
        ExportError: for a network that has no such form.
    """
    network = model.network
    sizes = ["batch" if batch is None else whole_number("batch", batch, 1, ExportError), network.tokens, network.width]
    _check(network)
    graph = Graph(network.dtype)
    add = add_unrolled if network.layer_count <= MOST_UNROLLED else add_either
    state = _embedded(graph, network, INPUT)
    for number in range(len(network.stages)):
        state = add(graph, network, number, state)
    _read_out(graph, network, state)
    body = helper.make_graph(
        graph.nodes,
        "anyformer",
        [graph.value(INPUT, sizes)],
        [graph.value(OUTPUT, sizes)],
        list(graph.initializers.values()),
    )
    return finished(model, helper.make_model(body, opset_imports=[helper.make_opsetid("", OPSET)]))


def add_either(graph: Graph, network: Network, number: int, state: str) -> str:
    """A stage of one layer needs no loop."""
    add = add_unrolled if len(network.stages[number]) == 1 else add_scan
    return add(graph, network, number, state)


def finished(model: Proved, made: ModelProto) -> ModelProto:
    """An ONNX model with its metadata, checked in full."""
    made.ir_version, made.producer_name = IR_VERSION, "anyformer"
    helper.set_model_props(made, metadata(model))
    checker.check_model(made, full_check=True)
    return made


def metadata(model: Proved) -> dict[str, str]:
    """What is claimed of the model, as the texts that ONNX keeps. Only the checker decides whether it is true."""
    certificate = model.certificate
    return {
        "anyformer.target": certificate.target.name,
        "anyformer.claim": certificate.claim,
        "anyformer.certified_error": certificate.certified_error.hex(),
        "anyformer.p": "inf" if certificate.p == math.inf else repr(certificate.p),
        "anyformer.dtype": model.network.dtype.name,
        "anyformer.weights_digest": digest(model.network),
        "anyformer.certificate_is_of_these_weights": str(certificate.weights_digest == digest(model.network)).lower(),
    }


def _check(network: Network) -> None:
    if network.dtype == BFLOAT16:
        raise ExportError(
            "a network must be of float64, float32 or float16 to become ONNX, as onnxruntime has no bfloat16 on "
            "processors; got bfloat16. Build it in float32."
        )
    size = network.parameter_count * np.dtype(network.dtype.stored_as).itemsize
    if size > MOST_BYTES:
        raise ExportError(
            f"the weights must fit into one ONNX file of {MOST_BYTES:,} bytes; they have {size:,}. "
            f"Take the model folder, or a larger tolerance."
        )


def _embedded(graph: Graph, network: Network, state: str) -> str:
    if network.W_E is not None:
        turned = graph.add("Transpose", graph.weights("W_E", network.W_E), perm=[1, 0], output="W_E.turned")
        state = graph.add("MatMul", state, turned, output="embedded")
    if network.positional_encoding is not None:
        state = graph.add("Add", state, graph.weights(POSITIONS, network.positional_encoding), output="placed")
    return state


def _read_out(graph: Graph, network: Network, state: str) -> None:
    if network.W_R is None or network.b_R is None:
        graph.add("Identity", state, output=OUTPUT)
        return
    turned = graph.add("Transpose", graph.weights("W_R", network.W_R), perm=[1, 0], output="W_R.turned")
    graph.add("Add", graph.add("MatMul", state, turned), graph.weights("b_R", network.b_R), output=OUTPUT)
