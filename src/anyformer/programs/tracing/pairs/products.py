"""Products of sums over several tokens, other names for their slots, and what they are at a single token."""

from collections.abc import Iterable, Mapping

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.programs.builder import Builder
from anyformer.programs.forms import Form
from anyformer.programs.numbers import ONE, Number
from anyformer.programs.tracing.pairs.fixed import EVERYWHERE, Fixed
from anyformer.programs.tracing.pairs.multilinear import Multilinear, Square, Term


def product_of(
    builder: Builder, coefficient: Number, factors: Iterable[tuple[int, Form]], fixed: Fixed | None = None
) -> Multilinear:
    """A product of forms at slots; several forms at one slot become one."""
    at: dict[int, Form] = {}
    if fixed is not None and len(fixed.slots) < 2:
        factors = [*factors, (fixed.slots[0] if fixed.slots else EVERYWHERE, Form(constant=fixed.number))]
        fixed = None
    for slot, form in factors:
        if form.is_fixed:
            coefficient = coefficient * form.constant
            continue
        slot = EVERYWHERE if form.is_uniform else slot
        at[slot] = builder.product(at[slot], form) if slot in at else form
    if any(form.is_fixed for form in at.values()):
        return product_of(builder, coefficient, at.items(), fixed)
    if coefficient.is_exactly_zero:
        return Multilinear()
    kept = tuple(sorted(at.items(), key=lambda item: item[0]))
    if len(kept) + (fixed is not None) > 1:
        # (−a)·b and −(a·b) must be known for the same.
        kept, coefficient = _with_positive_signs(kept, coefficient)
    if fixed is not None and not kept:
        return Multilinear.of_fixed(fixed.times(coefficient))
    if fixed is None and not kept:
        return Multilinear.of(Form(constant=coefficient), EVERYWHERE)
    if fixed is None and len(kept) == 1:
        return Multilinear.of(kept[0][1].times(coefficient), kept[0][0])
    term = Term(coefficient, kept, fixed)
    return Multilinear(terms={term.key(): term})


def _with_positive_signs(
    factors: tuple[tuple[int, Form], ...], coefficient: Number
) -> tuple[tuple[tuple[int, Form], ...], Number]:
    """Factors whose first coefficients are positive, with the signs moved out."""
    result = []
    for slot, form in factors:
        is_negative = _leading(form) < 0
        result.append((slot, -form if is_negative else form))
        coefficient = -coefficient if is_negative else coefficient
    return tuple(result), coefficient


def _leading(form: Form) -> float:
    if form.terms:
        return float(form.terms[min(form.terms, key=lambda node: node.number)].value)
    return float(next((value for value in np.ravel(form.constant.value) if value), 0.0))


def multiplied(builder: Builder, a: Multilinear, b: Multilinear) -> Multilinear:
    """The product."""
    if len(a.slots) > 1 and not a.squares and a.key() == b.key():
        square = Square(a, _expanded_product(builder, a, a), ONE)
        return Multilinear(squares={a.key(): square})
    for one, other in ((a, b), (b, a)):
        if (number := one.constant) is not None:
            return other.times(number)
        if (number := _same_off_diagonal(one)) is not None and _vanishes_on_diagonal(builder, other, one):
            return other.times(number)
    return _expanded_product(builder, a, b)


def _expanded_product(builder: Builder, a: Multilinear, b: Multilinear) -> Multilinear:
    total = Multilinear()
    for first in a.products():
        for second in b.products():
            fixed = first.fixed if second.fixed is None else second.fixed
            if first.fixed is not None and second.fixed is not None:
                fixed = first.fixed * second.fixed
            factors = (*first.factors, *second.factors)
            total = total + product_of(builder, first.coefficient * second.coefficient, factors, fixed)
    return total


def renamed(builder: Builder, a: Multilinear, names: Mapping[int, int]) -> Multilinear:
    """With other names for the slots; two slots may get one name."""
    total = Multilinear(hidden=a.hidden.renamed(names) if a.hidden else None)
    for key, (inner, number) in a.peaks.items():
        moved = renamed(builder, inner, names)
        total = total + Multilinear(peaks={moved.key() if moved is not inner else key: (moved, number)})
    for term in Multilinear(a.own, a.terms).products():
        factors = [(names.get(slot, slot), form) for slot, form in term.factors]
        fixed = term.fixed.renamed(names) if term.fixed else None
        total = total + product_of(builder, term.coefficient, factors, fixed)
    for square in a.squares.values():
        inner, expanded = (renamed(builder, part, names) for part in (square.inner, square.expanded))
        total = total + squared(inner, expanded, square.coefficient)
    return total


def squared(inner: Multilinear, expanded: Multilinear, coefficient: Number) -> Multilinear:
    """A multiple of a square."""
    return Multilinear(squares={inner.key(): Square(inner, expanded, coefficient)})


def as_form(builder: Builder, a: Multilinear, slot: int) -> Form:
    """The form that it is at one slot. Raises if it depends on others."""
    total = Form()
    for square in a.squares.values():
        inner = as_form(builder, square.inner, slot)
        total = total + builder.apply("square", inner).times(square.coefficient)
    for term in Multilinear(a.own, a.terms, a.peaks, a.hidden).products():
        if term.slots - {slot, EVERYWHERE} or term.fixed is not None:
            raise NotTraceable("an array over pairs of tokens is used where numbers of single tokens are needed")
        form = Form(constant=term.coefficient)
        for _, factor in term.factors:
            form = builder.product(form, factor)
        total = total + form
    return total


def _same_off_diagonal(a: Multilinear) -> Number | None:
    """The number that a table over two slots is everywhere but on its diagonal."""
    if set(a.own) - {EVERYWHERE} or a.peaks or a.hidden or a.squares or set(a.terms) != {("fixed",)}:
        return None
    fixed, plus = a.terms["fixed",].fixed, a.own.get(EVERYWHERE, Form())
    assert fixed is not None
    if len(fixed.slots) != 2 or not plus.is_fixed:
        return None
    off = ~np.eye(len(fixed.values), dtype=bool)
    values = fixed.values[off]
    if fixed.doubts[off].any() or (values != values[0]).any():
        return None
    return Number(float(values[0])) + plus.constant


def _vanishes_on_diagonal(builder: Builder, a: Multilinear, table: Multilinear) -> bool:
    fixed = table.terms["fixed",].fixed
    assert fixed is not None
    first, second = fixed.slots
    if a.hidden or a.peaks or not {first, second} <= a.slots:
        return False
    return renamed(builder, a.expanded, {first: second}).is_zero
