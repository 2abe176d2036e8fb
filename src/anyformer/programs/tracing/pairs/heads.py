"""Softmax heads: Σ_k softmax_k(scores)·value_k, where the scores are a sum of products of queries and keys."""

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.programs.builder import Builder
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.tracing.pairs.fixed import EVERYWHERE
from anyformer.programs.tracing.pairs.multilinear import PEAK, Multilinear, Term

# The weight of a score that is lower than others by this much, e^(−10⁶), is 0 in float64; so it is a mask.
MASKED = -1e6

_Pairs = dict[tuple[object, ...], tuple[Form, Form]]


def attended(builder: Builder, scores: Multilinear, key_slot: int, value: Form) -> tuple[int, Form]:
    """The head's result, and at which slot it is."""
    query_slot = _query_slot(scores, key_slot)
    pairs: _Pairs = {}
    offsets = Number(np.zeros((builder.tokens, builder.tokens)))
    if scores.peaks:
        raise NotTraceable(PEAK)
    for term in Multilinear(scores.own, scores.terms).products():
        if not term.factors:
            assert term.fixed is not None
            swap = term.fixed.slots[0] == key_slot
            values, doubts = (part.T if swap else part for part in (term.fixed.values, term.fixed.doubts))
            offsets = offsets + Number(values, doubts) * term.coefficient
        else:
            query, key = _query_and_key(builder, term, key_slot)
            kept = pairs.get(key.key(), (Form(), key))[0]
            pairs[key.key()] = (kept + query, key)
    queries, keys = _merged(pairs)
    values = _masked(np.asarray(offsets.value), scores, key_slot)
    masked = Number(values, np.where(np.isneginf(values), 0.0, offsets.doubt))
    return query_slot, builder.attend(queries, keys, value, masked)


def _query_slot(scores: Multilinear, key_slot: int) -> int:
    others = scores.slots - {key_slot}
    if len(others) > 1:
        raise NotTraceable(
            "a softmax over tokens may depend on one query token and one key token; this one depends on"
            f" {len(others) + 1} tokens. Write the scores as an array over pairs of tokens, q @ k.swapaxes(1, 2)."
        )
    return next(iter(others), EVERYWHERE)


def _query_and_key(builder: Builder, term: Term, key_slot: int) -> tuple[Form, Form]:
    if term.fixed is not None:
        raise NotTraceable(
            "scores must be products of queries and keys plus constants; a table over pairs of tokens that multiplies"
            " them cannot be traced. Add it instead, as a bias."
        )
    query, key = Form(constant=term.coefficient), Form.of(1.0)
    for slot, form in term.factors:
        if slot == key_slot:
            key = form
        else:
            query = builder.product(query, form)
    return query, key


def _merged(pairs: _Pairs) -> tuple[list[Form], list[Form]]:
    """Keys with one and the same query added up."""
    by_query: _Pairs = {}
    for query, key in pairs.values():
        kept = by_query.get(query.key(), (query, Form()))[1]
        by_query[query.key()] = (query, kept + key)
    return [query for query, _ in by_query.values()], [key for _, key in by_query.values()]


def _masked(offsets: "np.ndarray", scores: Multilinear, key_slot: int) -> "np.ndarray":
    """The offsets with −∞ where a mask hides the key."""
    result = np.where(offsets - offsets.max(axis=1, keepdims=True) < MASKED, -np.inf, offsets)
    if scores.hidden is not None:
        where = scores.hidden.where
        if scores.hidden.slots == (key_slot,):
            where = where[np.newaxis]
        elif len(scores.hidden.slots) == 1:
            where = where[:, np.newaxis]
        elif scores.hidden.slots[0] == key_slot:
            where = where.T
        result = np.where(where, -np.inf, result)
    if np.isneginf(result).all(axis=1).any():
        token = int(np.isneginf(result).all(axis=1).argmax())
        raise NotTraceable(f"every query must see a key; the mask hides all keys from token {token}.")
    return result
