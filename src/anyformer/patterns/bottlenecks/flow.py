"""Disjoint routes and smallest cuts in the unrolled graph, by SciPy's maximum flow.

The unrolled graph has a *place* (l, k) for token k after l layers, and an arc from (l, j) to (l + 1, k) if token k sees
token j in layer l, or if j = k: the residual connection keeps what a token has. A place is split into two nodes with an
arc of capacity 1 between them; all other arcs have room for everything, so that a smallest cut consists of places.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np

from anyformer.arrays import Booleans, Integers
from anyformer.patterns.neighbours import Neighbours

Place: TypeAlias = tuple[int, int]
"""A token after so many layers: (layer, token). Layer 0 is the input, the last one the output."""


@final
@dataclass(frozen=True, eq=False)
class Unrolled:
    """The unrolled graph, in which no input sends and no output receives yet; `between` says which do.

    Node 2(l·n + k) is where place (l, k) is entered, the next one where it is left. The last two are source and sink.
    """

    tokens: int
    layers: int
    graph: Any  # a SciPy CSR array of capacities
    into_inputs: Integers  # (tokens,): where in `graph.data` the arcs from the source are
    out_of_outputs: Integers  # (tokens,): where in `graph.data` the arcs to the sink are

    def between(self, sources: Sequence[int], targets: Sequence[int]) -> Any:
        """The graph in which these inputs send and these outputs receive."""
        graph = self.graph.copy()
        graph.data[self.into_inputs[list(sources)]] = self.tokens
        graph.data[self.out_of_outputs[list(targets)]] = self.tokens
        return graph


def unrolled(layers: Sequence[Neighbours]) -> Unrolled:
    """The graph of a network with these layers, one after the other, in which nobody sends or receives yet."""
    from scipy.sparse import csr_array

    tokens, every = layers[0].tokens, np.arange(layers[0].tokens)
    places = tokens * (len(layers) + 1)
    source, sink = 2 * places, 2 * places + 1
    inside = 2 * np.arange(places)
    rows, columns, room = [inside], [inside + 1], [np.ones(places, dtype=np.int32)]
    for depth, seen in enumerate(layers):
        rows.append(2 * (depth * tokens + np.append(seen.indices, every)) + 1)
        columns.append(2 * ((depth + 1) * tokens + np.append(seen.queries(), every)))
        room.append(np.full(seen.connections + tokens, tokens, dtype=np.int32))
    last = 2 * (places - tokens + every) + 1
    rows += [np.full(tokens, source), last]
    columns += [2 * every, np.full(tokens, sink)]
    room += [np.zeros(2 * tokens, dtype=np.int32)]
    entries = (np.concatenate(room), (np.concatenate(rows), np.concatenate(columns)))
    graph = csr_array(entries, shape=(sink + 1, sink + 1))  # the room of a self-loop and of the residual is added up
    graph.sort_indices()
    return Unrolled(tokens, len(layers), graph, graph.indptr[source] + every, graph.indptr[last])


def most_routes(network: Unrolled, sources: Sequence[int], targets: Sequence[int]) -> int:
    """How many routes lead from inputs of the sources to outputs of the targets, no two through the same place."""
    return int(_flow(network.between(sources, targets)).flow_value)


def smallest_cut(network: Unrolled, sources: Sequence[int], targets: Sequence[int]) -> tuple[Place, ...]:
    """As few places as possible without which no route is left: those that the flow fills nearest to the sources.

    By the theorem of maximum flow and minimum cut they are as many as there are disjoint routes.
    """
    from scipy.sparse.csgraph import breadth_first_order

    graph = network.between(sources, targets)
    left = (graph - _flow(graph).flow).tocsr()
    left.eliminate_zeros()
    reached = np.zeros(graph.shape[0], dtype=np.bool_)
    reached[breadth_first_order(left, graph.shape[0] - 2, return_predecessors=False)] = True
    full = np.flatnonzero(reached[:-2:2] & ~reached[1:-2:2])
    return tuple((int(place // network.tokens), int(place % network.tokens)) for place in full)


def separates(
    cut: Sequence[Place], layers: Sequence[Neighbours], sources: Sequence[int], targets: Sequence[int]
) -> bool:
    """Whether every route from inputs of the sources to outputs of the targets passes one of these places.

    Nothing of the flow is used: what is reachable without the places is followed layer by layer.
    """
    closed = np.zeros((len(layers) + 1, layers[0].tokens), dtype=np.bool_)
    for layer, token in cut:
        closed[layer, token] = True
    reached = np.zeros(layers[0].tokens, dtype=np.bool_)
    reached[list(sources)] = True
    reached &= ~closed[0]
    for seen, shut in zip(layers, closed[1:], strict=True):
        reached = _one_layer_on(reached, seen) & ~shut
    return not reached[list(targets)].any()


def _one_layer_on(reached: Booleans, seen: Neighbours) -> Booleans:
    after = reached.copy()
    after[seen.queries()[reached[seen.indices]]] = True
    return after


def _flow(graph: Any) -> Any:
    from scipy.sparse.csgraph import maximum_flow

    return maximum_flow(graph, graph.shape[0] - 2, graph.shape[0] - 1)
