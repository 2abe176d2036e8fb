"""Entries of arrays over several token axes: sums of products, times exponentials of such sums.

Softmax weights are exponentials: exp(E)·(Σ_k exp(F))^p·… with multilinear E and F. A sum over tokens takes out of the
exponential what does not depend on the token; so e / e.sum() becomes exp(E)·(Σ exp(E))⁻¹, and after another sum, over
exp(E)·value·(Σ exp(E))⁻¹, the two sums of exponentials cancel and a softmax head is left.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from anyformer.errors import NotTraceable
from anyformer.programs.builder import Builder
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.tracing.pairs.fixed import EVERYWHERE
from anyformer.programs.tracing.pairs.multilinear import Multilinear
from anyformer.programs.tracing.pairs.products import multiplied, product_of, renamed

NOT_NORMALISED = (
    "exponentials over pairs of tokens can be traced only as softmax weights: divided by their own sum over the keys,"
    " e / e.sum(axis=-1, keepdims=True), and then contracted with values, weights @ v."
)


@dataclass(frozen=True, eq=False)
class Exponential:
    """exp(exponent) times powers of sums, each Σ over the bound slot of exp(inner)."""

    exponent: Multilinear = field(default_factory=Multilinear)
    sums: Mapping[Any, tuple[Multilinear, float]] = field(default_factory=dict)

    def __mul__(self, other: "Exponential") -> "Exponential":
        sums = dict(self.sums)
        for key, (inner, power) in other.sums.items():
            sums[key] = (inner, power + sums[key][1] if key in sums else power)
        kept = {key: value for key, value in sums.items() if value[1] != 0}
        return Exponential(self.exponent + other.exponent, kept)

    def powered(self, power: float) -> "Exponential":
        """To a power."""
        sums = {key: (inner, own * power) for key, (inner, own) in self.sums.items()}
        return Exponential(self.exponent.times(Number(power)), sums)

    @property
    def is_one(self) -> bool:
        """Whether it has cancelled."""
        return self.exponent.is_zero and not self.sums

    @property
    def slots(self) -> set[int]:
        """The slots that it depends on."""
        return self.exponent.slots | {slot for inner, _ in self.sums.values() for slot in inner.slots if slot >= 0}

    def key(self) -> tuple[Any, ...]:
        """Equal for equal exponentials."""
        return self.exponent.key(), tuple(sorted((key, power) for key, (_, power) in self.sums.items()))


@dataclass(frozen=True, eq=False)
class PairForm:
    """A multilinear sum, plus exponentials with multilinear coefficients. Not changed once made."""

    plain: Multilinear = field(default_factory=Multilinear)
    weighted: Mapping[Any, tuple[Exponential, Multilinear]] = field(default_factory=dict)

    @classmethod
    def weighted_by(cls, exponential: Exponential, coefficient: Multilinear) -> "PairForm":
        """One exponential with its coefficient."""
        if coefficient.is_zero:
            return cls()
        if exponential.is_one:
            return cls(coefficient)
        return cls(weighted={exponential.key(): (exponential, coefficient)})

    def __add__(self, other: "PairForm") -> "PairForm":
        weighted = dict(self.weighted)
        for key, (exponential, coefficient) in other.weighted.items():
            weighted[key] = (exponential, weighted[key][1] + coefficient if key in weighted else coefficient)
        return PairForm(self.plain + other.plain, {key: v for key, v in weighted.items() if not v[1].is_zero})

    def times(self, factor: Number) -> "PairForm":
        """Multiplied by one number."""
        weighted = {key: (one, coefficient.times(factor)) for key, (one, coefficient) in self.weighted.items()}
        return PairForm(self.plain.times(factor), {key: v for key, v in weighted.items() if not v[1].is_zero})

    @property
    def slots(self) -> set[int]:
        """The slots that it depends on."""
        return self.plain.slots.union(*(one.slots | coefficient.slots for one, coefficient in self.weighted.values()))

    def parts(self) -> list[tuple[Exponential, Multilinear]]:
        """All summands, the plain one with the exponential 1."""
        plain = [] if self.plain.is_zero else [(Exponential(), self.plain)]
        return [*plain, *self.weighted.values()]


def moved(builder: Builder, a: PairForm, names: Mapping[int, int]) -> PairForm:
    """With other names for the slots."""
    total = PairForm(renamed(builder, a.plain, names))
    for exponential, coefficient in a.weighted.values():
        sums = {}
        for inner, power in exponential.sums.values():
            other = renamed(builder, inner, names)
            sums[other.key()] = (other, power)
        one = Exponential(renamed(builder, exponential.exponent, names), sums)
        total = total + PairForm.weighted_by(one, renamed(builder, coefficient, names))
    return total


def product(builder: Builder, a: PairForm, b: PairForm) -> PairForm:
    """a·b."""
    total = PairForm()
    for first, one in a.parts():
        for second, other in b.parts():
            total = total + PairForm.weighted_by(first * second, multiplied(builder, one, other))
    return total


def exponential(a: PairForm) -> PairForm:
    """exp(a)."""
    if a.weighted:
        raise NotTraceable(f"np.exp of softmax weights: {NOT_NORMALISED}")
    return PairForm.weighted_by(Exponential(a.plain.expanded), Multilinear.of(Form.of(1.0), EVERYWHERE))


def powered(builder: Builder, a: PairForm, power: float) -> PairForm:
    """a to a constant power."""
    if power >= 0 and power == int(power):
        result = PairForm(Multilinear.of(Form.of(1.0), EVERYWHERE))
        for _ in range(int(power)):
            result = product(builder, result, a)
        return result
    parts = a.parts()
    terms = [] if len(parts) != 1 else list(parts[0][1].products())
    if len(terms) != 1:
        raise NotTraceable(
            "dividing by an array over pairs of tokens can be traced only if it is a product, or a sum of exponentials"
            " over the keys, as in a softmax"
        )
    ((one, _),), (term,) = parts, terms
    if term.fixed is not None:
        raise NotTraceable("dividing by a table over pairs of tokens: multiply by its reciprocal, computed before")
    factors = [(slot, to_power(builder, form, power)) for slot, form in term.factors]
    number = to_power(builder, Form(constant=term.coefficient), power).constant
    return PairForm.weighted_by(one.powered(power), product_of(builder, number, factors))


def to_power(builder: Builder, form: Form, power: float) -> Form:
    """A form to a constant power."""
    if power == 0:
        return Form.of(1.0)
    if power == 1:
        return form
    named = {2.0: "square", 0.5: "sqrt", -1.0: "reciprocal"}.get(power)
    if named is not None:
        return builder.apply(named, form)
    if power < 0 and power == int(power):
        return builder.apply("reciprocal", to_power(builder, form, -power))
    return builder.apply("power", form, float(power))


def is_plain(a: PairForm) -> bool:
    """Whether it can become a form as soon as it depends on one token only."""
    return not a.weighted and not a.plain.peaks and a.plain.hidden is None
