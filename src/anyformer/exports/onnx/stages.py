"""A stage as ONNX: its layers one after the other, or one Scan over the stacked weights.

The weights are stored as the network holds them, by the same names; what turns them into matrices and into layers are
nodes on constants, which onnxruntime computes once, while it loads.
"""

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, ValueInfoProto, helper

from anyformer.errors import ExportError
from anyformer.exports.onnx.graph import Graph
from anyformer.exports.onnx.layers import AttentionNames, FeedForwardNames, add_attention, add_feed_forward
from anyformer.networks.activations import ReLU
from anyformer.networks.layers import AttentionStage, weights
from anyformer.networks.network import Network

# Which of the pattern's layers a layer uses: found like a weight, one number per layer.
VIEW = "view"


def add_unrolled(graph: Graph, network: Network, number: int, state: str) -> str:
    """Append a stage, layer by layer."""
    names = _matrices(graph, network, number)
    for layer in range(len(network.stages[number])):
        place = graph.constant(f"layer {layer}", np.array(layer))
        own = {name: graph.add("Gather", stacked, place, axis=0) for name, stacked in names.items()}
        state = _add_layer(graph, network, number, state, own, f"stages.{number}.{layer}")
    return state


def add_scan(graph: Graph, network: Network, number: int, state: str) -> str:
    """Append a stage as one Scan: every step takes the next layer's weights."""
    names = _matrices(graph, network, number)
    body = graph.inside(f"stages.{number}")
    before, after = f"stages.{number}.before", f"stages.{number}.after"
    own = {name: f"{stacked}.of_layer" for name, stacked in names.items()}
    last = _add_layer(body, network, number, before, own, after)
    shape: list[int | str | None] = [None, network.tokens, network.stream_width]
    inputs = [body.value(before, shape), *(_untyped(body, name, own[name]) for name in names)]
    step = helper.make_graph(body.nodes, f"stages.{number}.layer", inputs, [body.value(last, shape)])
    result = f"stages.{number}"
    graph.add_node(helper.make_node("Scan", [state, *names.values()], [result], body=step, num_scan_inputs=len(names)))
    return result


def _untyped(graph: Graph, name: str, value: str) -> ValueInfoProto:
    """A slice whose shape follows from what is scanned."""
    element = TensorProto.INT64 if name == VIEW else graph.element
    return helper.make_tensor_value_info(value, element, None)


def _matrices(graph: Graph, network: Network, number: int) -> dict[str, str]:
    """The stacked weights of a stage as matrices for rows of tokens, by their names in the layer."""
    stage, prefix = network.stages[number], f"stages.{number}"
    found = {name: graph.weights(f"{prefix}.{name}", array) for name, array in weights(stage).items()}
    if isinstance(stage, AttentionStage):
        found["b_Q"] = graph.add("Unsqueeze", found["b_Q"], graph.constant("axis 2", [2]), output=f"{prefix}.b_Q.row")
    elif not isinstance(stage.activation, ReLU):
        raise ExportError(
            f"feed-forward layers must use ReLU to become ONNX; stage {stage.name!r} has {stage.activation!r}. "
            f"Export the soft network instead."
        )
    for name, array in weights(stage).items():
        if name.startswith("W_"):
            turned = [*range(array.ndim - 2), array.ndim - 1, array.ndim - 2]
            found[name] = graph.add("Transpose", found[name], perm=turned, output=f"{prefix}.{name}.turned")
    if isinstance(stage, AttentionStage) and network.pattern is not None:
        found[VIEW] = graph.constant(f"{prefix}.{VIEW}", _views(network, number))
    return found


def _views(network: Network, number: int) -> NDArray[np.int64]:
    """Per layer of a stage, the pattern's layer that it uses."""
    assert network.pattern is not None
    places = {id(lists): k for k, lists in enumerate(network.pattern.layers)}
    return np.array([places[id(view)] for view in network.views(number)], dtype=np.int64)


def _masks(network: Network, heads: int) -> NDArray[np.bool_]:
    """What each layer of the pattern lets its heads see, (period, heads, queries, keys)."""
    assert network.pattern is not None
    masks = np.zeros((network.pattern.period, heads, network.tokens, network.tokens), dtype=np.bool_)
    for layer, lists in enumerate(network.pattern.layers):
        for head in range(heads):
            seen = lists[head % len(lists)]
            masks[layer, head, seen.queries(), seen.indices] = True
    return masks


def _add_layer(graph: Graph, network: Network, number: int, state: str, own: dict[str, str], output: str) -> str:
    stage = network.stages[number]
    if not isinstance(stage, AttentionStage):
        return add_feed_forward(graph, state, FeedForwardNames(**own), output)
    mask = None
    if VIEW in own:
        heads = stage.sizes["heads"]
        masks = graph.constant(f"masks of {heads} heads", _masks(network, heads))
        mask = graph.add("Gather", masks, own[VIEW], axis=0)
    named = AttentionNames(**{name: value for name, value in own.items() if name != VIEW}, mask=mask)
    return add_attention(graph, state, named, stage.probability_map, network.tokens, output)
