"""Numbers over several tokens at once: sums of products of forms, each form at a token of its own.

x_j − x_k, q_j·k_k and their like. Only sums over tokens, or a softmax head, bring them back to one token.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from anyformer.errors import NotTraceable
from anyformer.programs.forms import Form
from anyformer.programs.numbers import ONE, ZERO, Number
from anyformer.programs.tracing.pairs.fixed import EVERYWHERE, Fixed, Hidden

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
