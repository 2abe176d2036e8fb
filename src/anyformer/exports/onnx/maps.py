"""Probability maps in ONNX operators: scores (…, queries, keys) to weights.

A mask says which keys a query sees. A key out of sight has the score −∞, and every map gives it a weight of exactly 0:
it does not enter the maximum, nor any sum.
"""

import numpy as np
from onnx import GraphProto, TensorProto, helper

from anyformer.errors import ExportError
from anyformer.exports.onnx.graph import Graph
from anyformer.networks.probability_maps import Entmax, ProbabilityMap, Softmax, Sparsemax

# As often as `Entmax` halves the interval for τ.
HALVINGS = 64


def add_map(graph: Graph, rho: ProbabilityMap, scores: str, keys: int, mask: str | None) -> str:
    """Append the nodes of a map, and return the name of its weights.

    Raises ExportError for a map that has no form in ONNX here.
    """
    if mask is not None:
        scores = graph.add("Where", mask, scores, graph.weights("out_of_sight", np.array(-np.inf)))
    if isinstance(rho, Softmax):
        # onnxruntime's own is within 8 ulps, 1 at 0, and 0 where float64 rounds exp to 0: what certificates ask for.
        return graph.add("Softmax", scores, axis=-1)
    centred = graph.add("Sub", scores, _reduced(graph, "ReduceMax", scores))
    if isinstance(rho, Sparsemax):
        return _adding_up(graph, _sparsemax(graph, centred, keys), centred)
    if isinstance(rho, Entmax):
        return _adding_up(graph, _entmax(graph, rho.alpha, centred, keys), centred)
    raise ExportError(
        f"attention must use softmax, sparsemax or entmax to become ONNX; got {rho!r}. Export the soft network instead."
    )


def _sparsemax(graph: Graph, z: str, keys: int) -> str:
    """max(z − τ, 0), with τ from the sorted scores: the order of operations is that of `Sparsemax`."""
    one = graph.weights("one", np.array(1.0))
    falling = graph.new_name("falling")
    graph.add_node(helper.make_node("TopK", [z, graph.constant("keys", [keys])], [falling, f"{falling}.keys"], axis=-1))
    sums = _sums(graph, falling)
    counts = graph.weights("counts", np.arange(1.0, keys + 1))
    reached = graph.add("Greater", graph.add("Add", one, graph.add("Mul", counts, falling)), sums)
    support = _reduced(graph, "ReduceSum", graph.add("Cast", reached, to=TensorProto.INT64))
    total = graph.add("GatherElements", sums, graph.add("Sub", support, graph.constant("one key", [1])), axis=-1)
    tau = graph.add("Div", graph.add("Sub", total, one), graph.add("Cast", support, to=graph.element))
    return graph.add("Relu", graph.add("Sub", z, tau))


def _entmax(graph: Graph, alpha: float, z: str, keys: int) -> str:
    """max((α − 1)·z − τ, 0)^{1/(α − 1)}, with τ by bisection, as `Entmax` does it."""
    z = graph.add("Mul", graph.weights(f"alpha {alpha!r} less 1", np.array(alpha - 1)), z)
    zeros = _reduced(graph, "ReduceMax", z)
    low = graph.add("Add", zeros, graph.weights("tau of a single winner", np.array(-1.0)))
    high = graph.add("Add", zeros, _tau_of_ties(graph, alpha, keys, z))
    tau = graph.new_name("tau")
    steps = graph.constant("halvings", np.array(HALVINGS))
    body = _halving(graph.inside(tau), alpha, z)
    graph.add_node(helper.make_node("Loop", [steps, "", low, high], [tau, f"{tau}.above"], body=body))
    return _powers(graph, alpha, z, tau)


def _tau_of_ties(graph: Graph, alpha: float, keys: int, z: str) -> str:
    """−(1/k)^{α − 1} for k keys in sight, all alike: by the number of keys, from a table that NumPy computed."""
    taus = [0.0, *(-((1 / count) ** (alpha - 1)) for count in range(1, keys + 1))]
    seen = graph.add("Greater", z, graph.weights("out_of_sight", np.array(-np.inf)))
    count = _reduced(graph, "ReduceSum", graph.add("Cast", seen, to=TensorProto.INT64))
    return graph.add("Gather", graph.weights(f"taus of ties, alpha {alpha!r}", np.array(taus)), count)


def _halving(body: Graph, alpha: float, z: str) -> GraphProto:
    """One step: the half of [low, high] in which the weights add up to 1."""
    step, go, low, high = (f"{body.prefix}{part}" for part in ("step", "go", "low", "high"))
    middle = body.add("Div", body.add("Add", low, high), body.weights("two", np.array(2.0)))
    total = _sum_in_order(body, _powers(body, alpha, z, middle))
    too_much = body.add("GreaterOrEqual", total, body.weights("one", np.array(1.0)))
    still = body.add("Identity", go)
    ends = body.add("Where", too_much, middle, low), body.add("Where", too_much, high, middle)
    inputs = [
        helper.make_tensor_value_info(step, TensorProto.INT64, []),
        helper.make_tensor_value_info(go, TensorProto.BOOL, []),
        *(body.value(end, [None] * 4) for end in (low, high)),
    ]
    outputs = [
        helper.make_tensor_value_info(still, TensorProto.BOOL, []),
        *(body.value(end, [None] * 4) for end in ends),
    ]
    return helper.make_graph(body.nodes, "halving", inputs, outputs)


def _powers(graph: Graph, alpha: float, z: str, tau: str) -> str:
    exponent = graph.weights(f"exponent for alpha {alpha!r}", np.array(1 / (alpha - 1)))
    return graph.add("Pow", graph.add("Relu", graph.add("Sub", z, tau)), exponent)


def _adding_up(graph: Graph, powers: str, z: str) -> str:
    """Weights whose sum is 1 up to rounding; if only tied winners have weight, their shares are exactly equal."""
    zero = graph.weights("zero", np.array(0.0))
    weights = graph.add("Div", powers, _sum_in_order(graph, powers))
    winners = graph.add("Equal", z, zero)
    settled = graph.add("Or", winners, graph.add("Equal", powers, zero))
    # All are, if the least is.
    least = _reduced(graph, "ReduceMin", graph.add("Cast", settled, to=TensorProto.INT64))
    ones = graph.add("Cast", winners, to=graph.element)
    shares = graph.add("Div", ones, _reduced(graph, "ReduceSum", ones))
    return graph.add("Where", graph.add("Cast", least, to=TensorProto.BOOL), shares, weights)


def _sum_in_order(graph: Graph, powers: str) -> str:
    """From the first key to the last, as the definition adds: ReduceSum would take an order of its own."""
    return graph.add("Gather", _sums(graph, powers), graph.constant("last", [-1]), axis=-1)


def _sums(graph: Graph, terms: str) -> str:
    return graph.add("CumSum", terms, graph.constant("last axis", np.array(-1)))


def _reduced(graph: Graph, operator: str, values: str) -> str:
    """Over the keys, whose axis stays."""
    return graph.add(operator, values, graph.constant("last", [-1]), keepdims=1)
