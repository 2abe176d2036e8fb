"""A pattern as plain arrays: edges, Boolean matrices, SciPy's CSR, and named arrays for a file."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from anyformer.arrays import Booleans, Integers
from anyformer.errors import PatternError
from anyformer.patterns.neighbours import Neighbours
from anyformer.patterns.pattern import SparsityPattern
from anyformer.patterns.sizes import whole_number


def to_edges(pattern: SparsityPattern, layer: int = 0, head: int | None = None) -> Integers:
    """The pairs (query, key) of a head of a layer, shape (connections, 2), sorted.

    Args:
        pattern: of any length.
        layer: which layer of the network.
        head: which head of it; needed only if the layer has several lists (MULTIHEAD).
    """
    seen = _seen_by(pattern, layer, head)
    return np.stack([seen.queries(), seen.indices], axis=1)


def to_dense(pattern: SparsityPattern) -> Booleans:
    """Shape (layers, heads, tokens, tokens), true where the query (third axis) sees the key.

    Layers with fewer lists than the widest repeat theirs, as heads do.
    """
    heads = max(len(layer) for layer in pattern.layers)
    dense = np.zeros((pattern.period, heads, pattern.tokens, pattern.tokens), dtype=np.bool_)
    for index, layer in enumerate(pattern.layers):
        for head in range(heads):
            neighbours = layer[head % len(layer)]
            dense[index, head, neighbours.queries(), neighbours.indices] = True
    return dense


def to_csr(pattern: SparsityPattern, layer: int = 0, head: int | None = None) -> Any:
    """What a head of a layer sees as a Boolean `scipy.sparse.csr_array`, rows for queries; arguments of `to_edges`."""
    return csr(_seen_by(pattern, layer, head))


def csr(neighbours: Neighbours) -> Any:
    """A list of neighbours as a Boolean `scipy.sparse.csr_array`, rows for queries."""
    from scipy.sparse import csr_array

    entries = np.ones(neighbours.connections, dtype=np.bool_)
    return csr_array((entries, neighbours.indices, neighbours.indptr), shape=(neighbours.tokens, neighbours.tokens))


def _seen_by(pattern: SparsityPattern, layer: int, head: int | None) -> Neighbours:
    """What a head sees. A layer with several lists has no one answer for all heads: their union is none of them."""
    lists = pattern.layers[layer % pattern.period]
    if head is None and len(lists) > 1:
        raise PatternError(
            f"a head must be given where a layer has several lists; layer {layer} has {len(lists)}, and head h"
            f" uses list h mod {len(lists)}. Give head=0 and so on, or unite the lists first:"
            f" single(pattern.layer({layer}))."
        )
    return lists[whole_number("head", head or 0, least=0) % len(lists)]


def to_arrays(pattern: SparsityPattern) -> dict[str, Integers]:
    """The CSR arrays under names like "layer0.head1.indices", for a safetensors file."""
    return {
        f"layer{index}.head{head}.{part}": getattr(neighbours, part)
        for index, layer in enumerate(pattern.layers)
        for head, neighbours in enumerate(layer)
        for part in ("indptr", "indices")
    }


def from_arrays(arrays: Mapping[str, Integers]) -> SparsityPattern:
    """The inverse of `to_arrays`."""
    left, layers = dict(arrays), list[tuple[Neighbours, ...]]()
    while f"layer{len(layers)}.head0.indptr" in left:
        heads = list[Neighbours]()
        while f"layer{len(layers)}.head{len(heads)}.indptr" in left:
            name = f"layer{len(layers)}.head{len(heads)}"
            heads.append(Neighbours(left.pop(f"{name}.indptr"), left.pop(f"{name}.indices", np.empty(0, np.int64))))
        layers.append(tuple(heads))
    if left or not layers:
        raise PatternError(
            "the arrays must be named layer0.head0.indptr, layer0.head0.indices and so on without gaps; got"
            f" {sorted(arrays)}. Write them with to_arrays."
        )
    return SparsityPattern(tuple(layers))
