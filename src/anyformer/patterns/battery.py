"""Tests for any pattern: does it keep what every pattern promises?"""

from collections.abc import Iterable

import numpy as np

from anyformer.errors import PatternError, raised
from anyformer.patterns import arrangement
from anyformer.patterns.exchange.adjacency import from_matrix
from anyformer.patterns.exchange.arrays import from_arrays, to_arrays, to_csr, to_dense, to_edges
from anyformer.patterns.exchange.json_form import from_json, to_json
from anyformer.patterns.exchange.notation import has_name, in_short, parse
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.families.windows import Full
from anyformer.patterns.neighbours import Neighbours
from anyformer.patterns.pattern import SparsityPattern
from anyformer.patterns.universality.paths import is_path


def check_pattern(pattern: PatternFamily | SparsityPattern, lengths: Iterable[int] = range(1, 21)) -> None:
    """Raise PatternError if the pattern breaks a promise; silence is evidence for these lengths.

    Args:
        pattern: a family, built at every length, twice; or a pattern of one length.
        lengths: where a family is tried.

    Example:
        >>> from anyformer.patterns import Strided
        >>> check_pattern(Strided())
    """
    if isinstance(pattern, SparsityPattern):
        _check_built("this pattern", pattern)
        return
    for tokens in lengths:
        name = f"{pattern!r} at {tokens} tokens"
        built = _built(name, pattern, tokens)
        _check_built(name, built)
        _check_same(name, "a second call", pattern.at(tokens), built)
        _check_path(name, pattern, built)
    if has_name(pattern):
        _check_same(repr(pattern), "its JSON", from_json(to_json(pattern)), pattern)
        _check_same(repr(pattern), f"its notation {in_short(pattern)}", parse(in_short(pattern)), pattern)


def _built(name: str, family: PatternFamily, tokens: int) -> SparsityPattern:
    try:
        built = family.at(tokens)
    except Exception as error:
        raise PatternError(
            f"{name} must be built; it raised {raised(error)}. Make at() work for every length from 1."
        ) from error
    if not isinstance(built, SparsityPattern) or built.tokens != tokens:
        raise PatternError(f"{name} must be a SparsityPattern of {tokens} tokens; got {built!r}. Fix at().")
    return built


def _check_built(name: str, pattern: SparsityPattern) -> None:
    for layer, lists in enumerate(pattern.layers):
        for head, neighbours in enumerate(lists):
            _check_list(f"{name}, layer {layer}, list {head}", neighbours)
    _check_exports(name, pattern)
    _check_laws(name, pattern)


def _check_list(name: str, neighbours: Neighbours) -> None:
    """The checks of Neighbours again, in a simple way: its arrays may have been replaced since it was made."""
    indptr, indices, tokens = neighbours.indptr.tolist(), neighbours.indices.tolist(), neighbours.tokens
    if neighbours.indptr.dtype != np.int64 or neighbours.indices.dtype != np.int64:
        raise PatternError(f"{name} must hold int64; got {neighbours.indptr.dtype} and {neighbours.indices.dtype}.")
    if indptr[0] != 0 or indptr[-1] != len(indices) or sorted(indptr) != indptr:
        raise PatternError(f"{name} must have an indptr that rises from 0 to {len(indices)}; got {indptr}.")
    for query in range(tokens):
        keys = indices[indptr[query] : indptr[query + 1]]
        if keys != sorted(set(keys)) or not all(0 <= key < tokens for key in keys):
            raise PatternError(
                f"{name} must give query {query} tokens 0 to {tokens - 1} that rise, each once; got {keys}."
                " Build lists with from_pairs."
            )


def _check_exports(name: str, pattern: SparsityPattern) -> None:
    dense = to_dense(pattern)
    _check_same(name, "its Boolean matrices", from_matrix(dense).seen, pattern.seen)
    _check_same(name, "its JSON", from_json(to_json(pattern)), pattern)
    _check_same(name, "its named arrays", from_arrays(to_arrays(pattern)), pattern)
    for layer, lists in enumerate(pattern.layers):
        for head in range(len(lists)):
            pairs = [tuple(pair) for pair in to_edges(pattern, layer, head).tolist()]
            sparse = list(zip(*(part.tolist() for part in to_csr(pattern, layer, head).nonzero()), strict=True))
            matrix = [tuple(pair) for pair in np.argwhere(dense[layer, head]).tolist()]
            if not pairs == sparse == matrix:
                raise PatternError(
                    f"{name} must be the same as edges, CSR and matrix; list {head} of layer {layer} differs."
                )


def _check_laws(name: str, pattern: SparsityPattern) -> None:
    full = Full().at(pattern.tokens)
    _check_same(name, "its union with itself", arrangement.union([pattern, pattern]), pattern)
    _check_same(name, "its intersection with itself", arrangement.intersection([pattern, pattern]), pattern)
    _check_same(name, "its intersection with full", arrangement.intersection([pattern, full]), pattern)
    everything = arrangement.union([pattern, full])
    if any(neighbours != full.union for neighbours in everything.lists()):
        raise PatternError(f"{name} united with full must be full; got {everything!r}.")


def _check_path(name: str, family: PatternFamily, built: SparsityPattern) -> None:
    path = family.path(built.tokens)
    if path is not None and not is_path(built.union, np.asarray(path)):
        raise PatternError(
            f"{name} must have a path() that holds every token once, each seeing the one before it, or None;"
            f" got {np.asarray(path).tolist()}. Fix path()."
        )


def _check_same(name: str, what: str, got: object, wanted: object) -> None:
    if got != wanted:
        raise PatternError(f"{name} must be the same by {what}; got {got!r} instead of {wanted!r}.")
