"""Patterns from what others use: edges, Boolean matrices, NetworkX graphs, FlexAttention's mask_mod.

In every pair the first is the query, which looks, and the second is the key, which is looked at.
"""

import importlib
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyformer.arrays import Booleans, Integers
from anyformer.errors import PatternError
from anyformer.patterns.neighbours import Neighbours, from_pairs
from anyformer.patterns.pattern import SparsityPattern, single
from anyformer.patterns.sizes import length, whole_number

MaskMod: TypeAlias = Callable[[Any, Any, Any, Any], Any]
_PAIRS_AT_ONCE = 2**22  # how many (query, key) a mask_mod is asked about in one call


def from_edges(edges: Iterable[tuple[int, int]], tokens: int) -> SparsityPattern:
    """The pattern in which query q sees key k for every edge (q, k), and nothing else: no self-loops are added.

    >>> from_edges([(0, 0), (1, 0), (1, 1)], tokens=2).layer(0).degrees.tolist()
    [1, 2]
    """
    pairs = edges if isinstance(edges, np.ndarray) else _array(edges)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise PatternError(
            f"edges must be pairs (query, key) of whole numbers; got an array of shape {pairs.shape}."
            " Give a list of pairs."
        )
    return single(from_pairs(length(tokens), pairs[:, 0], pairs[:, 1]))


def _array(edges: Iterable[object]) -> NDArray[Any]:
    """A list of pairs as an array that keeps each entry as it is: NumPy would make 1 of True beside a 1."""
    rows = [tuple(edge) if isinstance(edge, Iterable) else (edge,) for edge in edges]
    array = np.empty((len(rows), 2), dtype=object)
    for place, row in enumerate(rows):
        if len(row) != 2:
            shown = row if len(row) > 1 else row[0] if row else ()
            raise PatternError(
                f"edges must be pairs (query, key) of whole numbers; got {shown!r}. Give a list of pairs."
            )
        array[place, 0], array[place, 1] = row
    return array


def from_matrix(matrix: ArrayLike) -> SparsityPattern:
    """The pattern in which query q sees key k where `matrix[q, k]` is true.

    Args:
        matrix: Boolean, shape (tokens, tokens), or (layers, tokens, tokens), or (layers, heads, tokens, tokens).

    Returns:
        The pattern; `to_dense` is the inverse.
    """
    array = np.asarray(matrix)
    if array.dtype != np.bool_ or array.ndim not in (2, 3, 4) or array.shape[-1] != array.shape[-2] or not array.size:
        raise PatternError(
            "a matrix must be Boolean of shape (tokens, tokens), with axes for layers and heads before these if need"
            f" be; got shape {array.shape} of {array.dtype}. Compare with a threshold first: matrix > 0."
        )
    while array.ndim < 4:
        # A lone axis in front is that of layers, so that heads come in between.
        array = array[None] if array.ndim == 2 else array[:, None]
    return SparsityPattern(tuple(tuple(_from_dense(head) for head in layer) for layer in array))


def from_networkx(graph: Any) -> SparsityPattern:
    """The pattern in which u sees v for every edge u → v, both ways if the graph is undirected.

    Args:
        graph: a NetworkX graph; its nodes are the tokens, in the graph's own order.
    """
    number = {node: index for index, node in enumerate(graph.nodes)}
    edges = [(number[u], number[v]) for u, v in graph.edges()]
    if not graph.is_directed():
        edges += [(v, u) for u, v in edges]
    return from_edges(edges, len(number))


def from_mask_mod(mask_mod: MaskMod, tokens: int, heads: int = 1) -> SparsityPattern:
    """The pattern of one layer that a FlexAttention `mask_mod(b, h, q_idx, kv_idx)` allows, for batch element 0.

    It is called with NumPy integers that broadcast against each other, or with tensors if it works on these only.

    >>> from_mask_mod(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, tokens=3).layer(0).degrees.tolist()
    [1, 2, 3]
    """
    tokens, heads = length(tokens), whole_number("heads", heads, least=1)
    return SparsityPattern((tuple(_from_mask(mask_mod, head, tokens) for head in range(heads)),))


def _from_mask(mask_mod: MaskMod, head: int, tokens: int) -> Neighbours:
    rows = max(1, _PAIRS_AT_ONCE // tokens)
    keys, found = np.arange(tokens)[None], []
    for start in range(0, tokens, rows):
        queries = np.arange(start, min(start + rows, tokens))[:, None]
        queried, seen = np.nonzero(np.broadcast_to(_asked(mask_mod, head, queries, keys), (len(queries), tokens)))
        found.append((queried + start, seen))
    return from_pairs(tokens, *(np.concatenate(part) for part in zip(*found, strict=True)))


def _asked(mask_mod: MaskMod, head: int, queries: Integers, keys: Integers) -> Booleans:
    places = (np.zeros((1, 1), np.int64), np.full((1, 1), head), queries, keys)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # what NumPy says of arrays mixed with tensors
            answer = mask_mod(*places)
    except (TypeError, AttributeError, DeprecationWarning) as error:
        answer = mask_mod(*_tensors(places, error))
    array = np.asarray(answer)
    if array.dtype != np.bool_:
        raise PatternError(f"mask_mod must return Booleans; got {array.dtype}. End it with a comparison.")
    return array


def _tensors(places: tuple[Integers, ...], error: Exception) -> list[Any]:
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise PatternError(
            f"mask_mod must take arrays of integers, or tensors where PyTorch is installed; it raised {error!r}."
        ) from error
    return [torch.from_numpy(place) for place in places]


def _from_dense(matrix: Booleans) -> Neighbours:
    return from_pairs(len(matrix), *np.nonzero(matrix))
