"""Token axes as ordinary ones: every token copied to all. What is then left to do is done for each copy.

This is how functions of pairs of tokens are traced that are no softmax, such as the sum over k of |x_j − x_k|. It takes
as many steps as there are tokens, so it is done for few tokens only.
"""

from typing import Any

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.programs.builder import Builder
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.tracing.axes import sized
from anyformer.programs.tracing.pairs.fixed import EVERYWHERE, Fixed, Hidden
from anyformer.programs.tracing.pairs.multilinear import Multilinear
from anyformer.programs.tracing.pairs.pair_forms import Exponential, PairForm, moved
from anyformer.programs.tracing.pairs.products import product_of, squared
from anyformer.programs.tracing.traced import Traced, settled

MOST_UNROLLED = 16


def unrolled(traced: Traced, axis: int, name: str) -> Traced:
    """The array with a token axis as a sized one. Raises if there are too many tokens."""
    size = traced.axes[axis].size
    if traced.run.tokens > MOST_UNROLLED:
        raise NotTraceable(
            f"{name} needs a step for each of {size} tokens, and at most {MOST_UNROLLED} are traced so. Use sums,"
            " products and means over tokens, or softmax weights: np.exp(s) divided by its sum over the keys, then"
            " contracted with values."
        )
    rank, slot = traced.rank, traced.slot(axis)
    names = {at: at - 1 for at in range(slot + 1, rank)}
    entries = np.empty((*traced.entries.shape, size), dtype=object)
    for index in np.ndindex(traced.entries.shape):
        for token in range(size):
            entry = _at_token(traced.builder, traced.entries[index], slot, token)
            if isinstance(entry, PairForm):
                entry = settled(traced.builder, moved(traced.builder, entry, names), rank - 1)
            entries[(*index, token)] = entry
    axes = (*traced.axes[:axis], sized(size), *traced.axes[axis + 1 :])
    return traced.with_entries(axes, np.moveaxis(entries, -1, traced.place(axis)))


def _at_token(builder: Builder, entry: Any, slot: int, token: int) -> Any:
    """The entry with one token in place of all of a slot."""
    if isinstance(entry, Form):
        return builder.shift(entry, np.full(builder.tokens, token))
    total = PairForm(_sum_at_token(builder, entry.plain, slot, token))
    for one, coefficient in entry.weighted.values():
        sums = {}
        for inner, power in one.sums.values():
            other = _sum_at_token(builder, inner, slot, token)
            sums[other.key()] = (other, power)
        exponential = Exponential(_sum_at_token(builder, one.exponent, slot, token), sums)
        total = total + PairForm.weighted_by(exponential, _sum_at_token(builder, coefficient, slot, token))
    return total


def _sum_at_token(builder: Builder, a: Multilinear, slot: int, token: int) -> Multilinear:
    hidden = a.hidden
    if hidden is not None and slot in hidden.slots:
        rest = tuple(one for one in hidden.slots if one != slot)
        hidden = Hidden(rest, np.asarray(hidden.where.take(token, axis=hidden.slots.index(slot))))
    total = Multilinear(hidden=hidden)
    for inner, number in a.peaks.values():
        other = _sum_at_token(builder, inner, slot, token)
        total = total + Multilinear(peaks={other.key(): (other, number)})
    for term in Multilinear(a.own, a.terms).products():
        factors = [_factor(builder, at, form, slot, token) for at, form in term.factors]
        fixed = term.fixed
        if fixed is not None and slot in fixed.slots:
            place = fixed.slots.index(slot)
            value, doubt = (np.asarray(part.take(token, axis=place)) for part in (fixed.values, fixed.doubts))
            fixed = Fixed(tuple(one for one in fixed.slots if one != slot), Number(value, doubt))
        total = total + product_of(builder, term.coefficient, factors, fixed)
    for square in a.squares.values():
        inner, expanded = (_sum_at_token(builder, part, slot, token) for part in (square.inner, square.expanded))
        total = total + squared(inner, expanded, square.coefficient)
    return total


def _factor(builder: Builder, at: int, form: Form, slot: int, token: int) -> tuple[int, Form]:
    if at != slot:
        return at, form
    return EVERYWHERE, builder.shift(form, np.full(builder.tokens, token))
