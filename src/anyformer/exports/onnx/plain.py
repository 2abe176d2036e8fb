"""A plain graph for verifiers: one sequence, every layer written out, one head after the other.

It consists of Add, MatMul, Relu and Softmax, and of a Transpose for the keys of a head that compares tokens. All
weights are constants. In real arithmetic it is the network; in floating point it rounds in an order of its own.
"""

import numpy as np
from onnx import ModelProto, helper

from anyformer.arrays import Array
from anyformer.errors import ExportError
from anyformer.exports.onnx.graph import OPSET, Graph
from anyformer.exports.onnx.model import MOST_UNROLLED, finished
from anyformer.exports.proved import Proved
from anyformer.networks.activations import ReLU
from anyformer.networks.layers import AttentionLayer, AttentionStage, FeedForwardLayer, Layer
from anyformer.networks.network import POSITIONS, Network
from anyformer.networks.probability_maps import Softmax

INPUT, OUTPUT = "X", "Y"
OPERATORS = ("Add", "MatMul", "Relu", "Softmax", "Transpose")


def to_plain_onnx(model: Proved, fold_uniform: bool = False) -> ModelProto:
    """A model as a plain graph from X to Y, both (1, tokens, width), checked by `onnx.checker`.

    Args:
        model: anything with a network, of at most `MOST_UNROLLED` layers, and its certificate.
        fold_uniform: replace attention that asks nothing, whose weights are 1/tokens whatever the input, by a product
            with a constant matrix. If 1/tokens is not a number of the network's type, that is another network, though
            not by much.

    Raises:
        ExportError: for a network that has no such form.
    """
    network = model.network
    _check(network)
    graph = Graph(network.dtype)
    share = np.full((network.tokens,) * 2, 1 / network.tokens) if fold_uniform else None
    state = _embedded(graph, network)
    for number, stage in enumerate(network.stages):
        for k in range(len(stage)):
            state = _add_layer(graph, stage[k], state, f"stages.{number}", k, share)
    _read_out(graph, network, state)
    sizes = [1, network.tokens, network.width]
    body = helper.make_graph(
        graph.nodes,
        "anyformer",
        [graph.value(INPUT, sizes)],
        [graph.value(OUTPUT, sizes)],
        list(graph.initializers.values()),
    )
    return finished(model, helper.make_model(body, opset_imports=[helper.make_opsetid("", OPSET)]))


def is_uniform(W_Q: Array, b_Q: Array) -> bool:
    """Whether a head asks nothing: all its scores are 0, and every key has the same weight."""
    return not W_Q.any() and not b_Q.any()


def _check(network: Network) -> None:
    for stage in network.stages:
        if isinstance(stage, AttentionStage) and stage.probability_map != Softmax():
            raise ExportError(f"verifiers know softmax alone; stage {stage.name!r} has {stage.probability_map!r}.")
        if not isinstance(stage, AttentionStage) and not isinstance(stage.activation, ReLU):
            raise ExportError(f"verifiers know ReLU alone; stage {stage.name!r} has {stage.activation!r}.")
    if network.pattern is not None:
        raise ExportError("verifiers know no masks; this network has a sparsity pattern. Take one without.")
    if network.layer_count > MOST_UNROLLED:
        raise ExportError(
            f"a graph for verifiers is written out, with at most {MOST_UNROLLED} layers; this network has "
            f"{network.layer_count}. Build it by `compile`, or take a larger tolerance."
        )


def _times(graph: Graph, state: str, name: str, W: Array) -> str:
    """W x for every token: the rows are multiplied by Wᵀ from the right."""
    return graph.add("MatMul", state, graph.weights(name, W.T))


def _plus(graph: Graph, state: str, name: str, b: Array, output: str | None = None) -> str:
    return graph.add("Add", state, graph.weights(name, b), output=output)


def _embedded(graph: Graph, network: Network) -> str:
    state = INPUT if network.W_E is None else _times(graph, INPUT, "W_E", network.W_E)
    if network.positional_encoding is None:
        return state
    return _plus(graph, state, POSITIONS, network.positional_encoding)


def _read_out(graph: Graph, network: Network, state: str) -> None:
    if network.W_R is None or network.b_R is None:
        _plus(graph, state, "nothing", np.zeros(network.width), OUTPUT)
    else:
        _plus(graph, _times(graph, state, "W_R", network.W_R), "b_R", network.b_R, OUTPUT)


def _add_layer(graph: Graph, layer: Layer, state: str, stage: str, number: int, share: Array | None) -> str:
    if isinstance(layer, FeedForwardLayer):
        return _add_feed_forward(graph, layer, state, stage, number)
    read = state
    for head in range(layer.sizes["heads"]):
        if layer.W_O[head].any():
            state = graph.add("Add", state, _head(graph, layer, head, read, f"{stage}.{{}}.{number}.{head}", share))
    return state


def _add_feed_forward(graph: Graph, layer: FeedForwardLayer, state: str, stage: str, number: int) -> str:
    before = _plus(graph, _times(graph, state, f"{stage}.W_1.{number}", layer.W_1), f"{stage}.b_1.{number}", layer.b_1)
    moved = _times(graph, graph.add("Relu", before), f"{stage}.W_2.{number}", layer.W_2)
    return graph.add("Add", state, _plus(graph, moved, f"{stage}.b_2.{number}", layer.b_2))


def _head(graph: Graph, layer: AttentionLayer, head: int, state: str, named: str, share: Array | None) -> str:
    """What one head adds to the stream; `named` makes a weight's name from its letter, `share` is uniform attention."""
    W_Q, b_Q = layer.W_Q[head], layer.b_Q[head]
    values = _times(graph, state, named.format("W_V"), layer.W_V[head])
    if share is not None and is_uniform(W_Q, b_Q):
        mixed = graph.add("MatMul", graph.weights("uniform", share), values)
    else:
        queries = _plus(graph, _times(graph, state, named.format("W_Q"), W_Q), named.format("b_Q"), b_Q)
        keys = graph.add("Transpose", _times(graph, state, named.format("W_K"), layer.W_K[head]), perm=[0, 2, 1])
        weights = graph.add("Softmax", graph.add("MatMul", queries, keys), axis=-1)
        mixed = graph.add("MatMul", weights, values)
    return _times(graph, mixed, named.format("W_O"), layer.W_O[head])
