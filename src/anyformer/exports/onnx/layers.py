"""One layer as ONNX nodes, on states (batch, tokens, stream).

Sums of layers may be taken in any order, so they are matrix products. Weighted values must be rounded before they are
added: they are a product and a sum, never a matrix product, which may fuse the two.
"""

from dataclasses import dataclass

from anyformer.exports.onnx.graph import Graph
from anyformer.exports.onnx.maps import add_map
from anyformer.networks.probability_maps import ProbabilityMap


@dataclass(frozen=True)
class AttentionNames:
    """The names of a layer's weights, heads first, as matrices that tokens are multiplied by from the left."""

    W_Q: str
    """(heads, stream, head_size)"""
    b_Q: str
    """(heads, 1, head_size)"""
    W_K: str
    """(heads, stream, head_size)"""
    W_V: str
    """(heads, stream, head_size)"""
    W_O: str
    """(heads, head_size, stream)"""
    mask: str | None
    """(heads, tokens, tokens), true where a query sees a key; None if all see all."""


def add_attention(
    graph: Graph, state: str, names: AttentionNames, rho: ProbabilityMap, tokens: int, output: str
) -> str:
    """X + Σ_i W_O^i (W_V^i X) probability_map[(W_K^i X)ᵀ (W_Q^i X + b_Q^i)], all heads at once."""
    heads_axis, key_axis, width_axis = (graph.constant(f"axis {k}", [k]) for k in (1, 3, 4))
    split = graph.add("Unsqueeze", state, heads_axis)
    queries = graph.add("Add", graph.add("MatMul", split, names.W_Q), names.b_Q)
    keys = graph.add("Transpose", graph.add("MatMul", split, names.W_K), perm=[0, 1, 3, 2])
    values = graph.add("MatMul", split, names.W_V)
    weights = add_map(graph, rho, graph.add("MatMul", queries, keys), tokens, names.mask)
    # (batch, heads, query, key, 1) · (batch, heads, 1, key, head_size), then the sum over keys.
    weighted = graph.add(
        "Mul",
        graph.add("Unsqueeze", weights, width_axis),
        graph.add("Unsqueeze", values, graph.constant("axis 2", [2])),
    )
    mixed = graph.add("MatMul", graph.add("ReduceSum", weighted, key_axis, keepdims=0), names.W_O)
    return graph.add("Add", state, graph.add("ReduceSum", mixed, heads_axis, keepdims=0), output=output)


@dataclass(frozen=True)
class FeedForwardNames:
    """The names of a layer's weights, as matrices that tokens are multiplied by from the left."""

    W_1: str
    """(stream, hidden_size)"""
    b_1: str
    """(hidden_size,)"""
    W_2: str
    """(hidden_size, stream)"""
    b_2: str
    """(stream,)"""


def add_feed_forward(graph: Graph, state: str, names: FeedForwardNames, output: str) -> str:
    """X + W_2 max(W_1 X + b_1, 0) + b_2."""
    hidden = graph.add("Relu", graph.add("Add", graph.add("MatMul", state, names.W_1), names.b_1))
    return graph.add("Add", state, graph.add("Add", graph.add("MatMul", hidden, names.W_2), names.b_2), output=output)
