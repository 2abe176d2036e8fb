"""Sums and maxima of pair forms over the tokens of a slot, and the forms that are left at one token."""

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.programs.builder import Builder
from anyformer.programs.constants import applied
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.tracing.pairs.fixed import BOUND, EVERYWHERE, Fixed, Hidden
from anyformer.programs.tracing.pairs.heads import attended
from anyformer.programs.tracing.pairs.multilinear import Multilinear, Term
from anyformer.programs.tracing.pairs.pair_forms import NOT_NORMALISED, Exponential, PairForm, to_power
from anyformer.programs.tracing.pairs.products import as_form, product_of, renamed


def summed(builder: Builder, a: PairForm, slot: int, length: int) -> PairForm:
    """Σ over the first `length` tokens of a slot."""
    total = PairForm()
    for one, coefficient in a.parts():
        total = total + _summed_part(builder, one, coefficient, slot, length)
    return total


def _summed_part(builder: Builder, one: Exponential, coefficient: Multilinear, slot: int, length: int) -> PairForm:
    free, bound = one.exponent.split(slot)
    outer = {key: value for key, value in one.sums.items() if slot not in value[0].slots}
    if len(outer) < len(one.sums):
        # Weights were divided by sums over queries, and are now summed over keys.
        raise NotTraceable(NOT_NORMALISED)
    rest = Exponential(free, outer)
    if bound.is_zero:
        return PairForm.weighted_by(rest, _plain_sum(builder, coefficient, slot, length))
    if length < builder.tokens:
        bound = bound + Multilinear(hidden=Hidden((slot,), np.arange(builder.tokens) >= length))
    total = PairForm()
    for term in coefficient.products():
        total = total + _weighted_term(builder, rest, bound, term, slot)
    return total


def _weighted_term(builder: Builder, rest: Exponential, scores: Multilinear, term: Term, slot: int) -> PairForm:
    """Σ_k exp(scores)·term = (Σ_k exp(scores)) · the softmax head with these scores and the term's factor as value."""
    fixed = term.fixed
    if fixed is not None and slot in fixed.slots:
        scores, fixed = scores + _logarithm(fixed), None
    inner = renamed(builder, scores, {slot: BOUND})
    total = rest * Exponential(sums={inner.key(): (inner, 1.0)})
    values = [form for at, form in term.factors if at == slot]
    outside = [(at, form) for at, form in term.factors if at != slot]
    if values:
        outside.append(attended(builder, scores, slot, values[0]))
    return PairForm.weighted_by(total, product_of(builder, term.coefficient, outside, fixed))


def _logarithm(fixed: Fixed) -> Multilinear:
    """Weights that are multiplied by a table are exponentials with its logarithm added; where it is 0, with −∞."""
    if (fixed.values < 0).any() or fixed.doubts.any():
        raise NotTraceable("softmax weights may be multiplied only by a constant table without negative entries")
    where = fixed.values == 0
    ones = np.where(where, 1.0, fixed.values)
    logs = applied("log", Number(ones.ravel()), None)
    shaped = Number(
        *(np.broadcast_to(np.asarray(part), ones.size).reshape(ones.shape) for part in (logs.value, logs.doubt))
    )
    table = Multilinear.of_fixed(Fixed(fixed.slots, shaped))
    return table + Multilinear(hidden=Hidden(fixed.slots, where)) if where.any() else table


def _plain_sum(builder: Builder, a: Multilinear, slot: int, length: int) -> Multilinear:
    total = Multilinear()
    mask = np.arange(builder.tokens) < length
    for term in a.products():
        value = next((form for at, form in term.factors if at == slot), Form.of(1.0))
        outside = [(at, form) for at, form in term.factors if at != slot]
        fixed = term.fixed
        if fixed is None or slot not in fixed.slots:
            outside.append((EVERYWHERE, total_over(builder, value, length)))
        elif len(fixed.slots) > 2:
            raise NotTraceable("sums over tokens may have a constant table over two token axes, not over three")
        else:
            other = next(at for at in fixed.slots if at != slot)
            if fixed.doubts.any():
                raise NotTraceable("a table that mixes tokens must be plain numbers; compute it before it is used")
            values = fixed.values if fixed.slots[1] == slot else fixed.values.T
            outside.append((other, builder.mix(np.where(mask, values, 0.0), value)))
            fixed = None
        total = total + product_of(builder, term.coefficient, outside, fixed)
    return total


def total_over(builder: Builder, form: Form, length: int) -> Form:
    """Σ over the first tokens."""
    if length == builder.tokens:
        return builder.mean(form).scaled(float(length))
    row = np.where(np.arange(builder.tokens) < length, 1.0, 0.0)
    return builder.mix(np.tile(row, (builder.tokens, 1)), form)


def largest(builder: Builder, a: PairForm, slot: int, length: int) -> PairForm:
    """The maximum over a slot: a step if it is over numbers of single tokens, else only known to be there."""
    if a.weighted:
        raise NotTraceable(f"np.max of exponentials over pairs of tokens: {NOT_NORMALISED}")
    free, bound = a.plain.split(slot)
    if bound.slots <= {slot} and not bound.hidden and not bound.peaks and length == builder.tokens:
        form = as_form(builder, bound, slot)
        return PairForm(free + Multilinear.of(builder.largest(form), EVERYWHERE))
    return PairForm(free + Multilinear.peak(renamed(builder, bound, {slot: BOUND})))


def form_of(builder: Builder, a: PairForm, slot: int) -> Form:
    """The form that it is at one slot. Raises if it is none."""
    total = Form()
    for one, coefficient in a.parts():
        if one.exponent.slots - {slot}:
            raise NotTraceable(NOT_NORMALISED)
        form = as_form(builder, coefficient, slot)
        if not one.exponent.is_zero:
            form = builder.product(form, builder.apply("exp", as_form(builder, one.exponent, slot)))
        for inner, power in one.sums.values():
            form = builder.product(form, to_power(builder, _sum_of_exponentials(builder, inner, slot), power))
        total = total + form
    return total


def _sum_of_exponentials(builder: Builder, inner: Multilinear, slot: int) -> Form:
    """Σ_k exp(inner_k), which must not depend on another token."""
    if inner.slots - {BOUND} or inner.peaks:
        raise NotTraceable(NOT_NORMALISED)
    seen = np.ones(builder.tokens) if inner.hidden is None else np.where(inner.hidden.where, 0.0, 1.0)
    form = builder.apply("exp", as_form(builder, Multilinear(inner.own, inner.terms), BOUND))
    return builder.mean(builder.gate(Number(seen), form)).scaled(float(builder.tokens))
