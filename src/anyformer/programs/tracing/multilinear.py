"""Numbers over several tokens at once: sums of products of forms, each form at a token of its own.

x_j − x_k, q_j·k_k and their like. Only sums over tokens, or a softmax head, bring them back to one token.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.programs.builder import Builder
from anyformer.programs.forms import Form
from anyformer.programs.numbers import ONE, ZERO, Number
from anyformer.programs.tracing.fixed import EVERYWHERE, Fixed, Hidden

PEAK = (
    "The maximum over a pair of tokens must cancel, as it does in a softmax: e = np.exp(s - s.max(axis=-1,"
    " keepdims=True)), then e / e.sum(axis=-1, keepdims=True). Here it is used in another way, which cannot be traced."
)
_HIDDEN = (
    "-np.inf and large negative masks can be traced only as scores of a softmax: np.exp(np.where(mask, s, -np.inf)),"
    " divided by its sum over the keys."
)


@dataclass(frozen=True, eq=False)
class Term:
    """coefficient · fixed numbers · a form at each of some slots."""

    coefficient: Number
    factors: tuple[tuple[int, Form], ...]
    fixed: Fixed | None

    @property
    def slots(self) -> set[int]:
        """The slots that it depends on."""
        return {slot for slot, _ in self.factors} | set(self.fixed.slots if self.fixed else ())

    def key(self) -> tuple[Any, ...]:
        """Equal for terms that differ in their coefficients alone."""
        return tuple((slot, form.key()) for slot, form in self.factors), self.fixed.key() if self.fixed else ()


@dataclass(frozen=True, eq=False)
class Multilinear:
    """The sum of forms at single slots (`own`), of terms, squares and peaks; −∞ where `hidden`. Not changed once made.

    squares: not multiplied out as long as that is not needed: (x_j − x_k)² is computed better as it stands.
    peaks: (inner, coefficient) for coefficient · max over the bound slot of inner: known to be there, but not computed.
    """

    own: Mapping[int, Form] = field(default_factory=dict)
    terms: Mapping[Any, Term] = field(default_factory=dict)
    peaks: Mapping[Any, "tuple[Multilinear, Number]"] = field(default_factory=dict)
    hidden: Hidden | None = None
    squares: Mapping[Any, "Square"] = field(default_factory=dict)

    @classmethod
    def of(cls, form: Form, slot: int) -> "Multilinear":
        """A form at one slot."""
        if _is_zero(form):
            return cls()
        return cls({EVERYWHERE if form.is_uniform else slot: form})

    @classmethod
    def of_fixed(cls, fixed: Fixed) -> "Multilinear":
        """Fixed numbers."""
        if fixed.number.is_exactly_zero:
            return cls()
        if len(fixed.slots) < 2:
            return cls.of(Form(constant=fixed.number), fixed.slots[0] if fixed.slots else EVERYWHERE)
        term = Term(ONE, (), fixed)
        return cls(terms={("fixed",): term})

    @classmethod
    def peak(cls, inner: "Multilinear") -> "Multilinear":
        """The maximum over the bound slot."""
        return cls(peaks={inner.key(): (inner, ONE)})

    def __add__(self, other: "Multilinear") -> "Multilinear":
        own = dict(self.own)
        for slot, form in other.own.items():
            own[slot] = own[slot] + form if slot in own else form
        terms = dict(self.terms)
        for key, term in other.terms.items():
            terms[key] = _added(key, terms[key], term) if key in terms else term
        peaks = dict(self.peaks)
        for key, (inner, number) in other.peaks.items():
            peaks[key] = (inner, peaks[key][1] + number if key in peaks else number)
        squares = dict(self.squares)
        for key, square in other.squares.items():
            squares[key] = squares[key].plus(square) if key in squares else square
        hidden = [part.hidden for part in (self, other) if part.hidden is not None]
        return Multilinear(
            {slot: form for slot, form in own.items() if not _is_zero(form)},
            {key: term for key, term in terms.items() if not _vanishes(term)},
            {key: peak for key, peak in peaks.items() if not peak[1].is_exactly_zero},
            None if not hidden else hidden[0] if len(hidden) == 1 else hidden[0] | hidden[1],
            {key: square for key, square in squares.items() if not square.coefficient.is_exactly_zero},
        )

    def times(self, factor: Number) -> "Multilinear":
        """Multiplied by one number for all tokens."""
        if factor.is_exactly_zero and self.hidden is None:
            return Multilinear()
        if self.hidden is not None and not float(factor.value) > float(factor.doubt):
            raise NotTraceable(_HIDDEN)
        return Multilinear(
            {slot: form.times(factor) for slot, form in self.own.items()},
            {key: _scaled(key, term, factor) for key, term in self.terms.items()},
            {key: (inner, number * factor) for key, (inner, number) in self.peaks.items()},
            self.hidden,
            {key: square.times(factor) for key, square in self.squares.items()},
        )

    def __neg__(self) -> "Multilinear":
        return self.times(Number(-1.0))

    @property
    def slots(self) -> set[int]:
        """The slots that it depends on, without `EVERYWHERE`."""
        found = set(self.own) | {slot for term in self.terms.values() for slot in term.slots}
        found |= {slot for inner, _ in self.peaks.values() for slot in inner.slots if slot >= 0}
        found |= {slot for square in self.squares.values() for slot in square.inner.slots}
        return (found | set(self.hidden.slots if self.hidden else ())) - {EVERYWHERE}

    @property
    def is_zero(self) -> bool:
        """Whether nothing is left."""
        return not (self.own or self.terms or self.peaks or self.hidden or self.squares)

    @property
    def constant(self) -> Number | None:
        """The number that it is, if it is one number."""
        if self.is_zero:
            return ZERO
        only = self.own.get(EVERYWHERE)
        rest = self.terms or self.peaks or self.hidden or self.squares
        if only is None or len(self.own) > 1 or rest or not only.is_fixed:
            return None
        return only.constant

    def split(self, slot: int) -> "tuple[Multilinear, Multilinear]":
        """What does not depend on the slot, and what does."""
        free, bound = Multilinear(), Multilinear()
        for part in self.expanded._parts():
            if slot in part.slots:
                bound = bound + part
            else:
                free = free + part
        return free, bound

    @property
    def expanded(self) -> "Multilinear":
        """The same with all squares multiplied out."""
        total = Multilinear(self.own, self.terms, self.peaks, self.hidden)
        for square in self.squares.values():
            total = total + square.expanded.times(square.coefficient)
        return total

    def _parts(self) -> "Iterable[Multilinear]":
        for slot, form in self.own.items():
            yield Multilinear({slot: form})
        for key, term in self.terms.items():
            yield Multilinear(terms={key: term})
        for key, peak in self.peaks.items():
            yield Multilinear(peaks={key: peak})
        if self.hidden is not None:
            yield Multilinear(hidden=self.hidden)

    def products(self) -> Iterable[Term]:
        """All of it as terms. Raises for what is no sum of products."""
        if self.peaks:
            raise NotTraceable(PEAK)
        if self.hidden is not None:
            raise NotTraceable(_HIDDEN)
        whole = self.expanded
        for slot, form in whole.own.items():
            yield Term(ONE, ((slot, form),), None)
        yield from whole.terms.values()

    def key(self) -> tuple[Any, ...]:
        """Equal for equal sums."""
        own = tuple(sorted((slot, form.key()) for slot, form in self.own.items()))
        terms = tuple(sorted((repr(key), term.key(), term.coefficient.key()) for key, term in self.terms.items()))
        peaks = tuple(sorted((key, number.key()) for key, (_, number) in self.peaks.items()))
        squares = tuple(sorted((key, square.coefficient.key()) for key, square in self.squares.items()))
        return own, terms, peaks, self.hidden.key() if self.hidden else (), squares


@dataclass(frozen=True, eq=False)
class Square:
    """coefficient · inner²; `expanded` is inner² multiplied out."""

    inner: Multilinear
    expanded: Multilinear
    coefficient: Number

    def times(self, factor: Number) -> "Square":
        """Multiplied by one number."""
        return Square(self.inner, self.expanded, self.coefficient * factor)

    def plus(self, other: "Square") -> "Square":
        """Another multiple of the same square added."""
        return Square(self.inner, self.expanded, self.coefficient + other.coefficient)


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


def _added(key: Any, a: Term, b: Term) -> Term:
    if key == ("fixed",):
        assert a.fixed is not None
        assert b.fixed is not None
        return Term(ONE, (), a.fixed + b.fixed)
    return Term(a.coefficient + b.coefficient, a.factors, a.fixed)


def _scaled(key: Any, term: Term, factor: Number) -> Term:
    if key == ("fixed",):
        assert term.fixed is not None
        return Term(ONE, (), term.fixed.times(factor))
    return Term(term.coefficient * factor, term.factors, term.fixed)


def _vanishes(term: Term) -> bool:
    return term.coefficient.is_exactly_zero or (term.fixed is not None and term.fixed.number.is_exactly_zero)


def _is_zero(form: Form) -> bool:
    return form.is_constant and form.constant.is_exactly_zero
