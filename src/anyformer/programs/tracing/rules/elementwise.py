"""Ufuncs on tracing arrays, entry by entry: steps of the builder, or of pair forms where several tokens meet."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from anyformer.programs.builder import Builder
from anyformer.programs.constants import applied
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.tracing.axes import Axis, Kind
from anyformer.programs.tracing.broadcasting import aligned
from anyformer.programs.tracing.pairs import pair_forms, sums
from anyformer.programs.tracing.pairs.multilinear import Multilinear
from anyformer.programs.tracing.pairs.pair_forms import PairForm, to_power
from anyformer.programs.tracing.rules.unrolling import unrolled
from anyformer.programs.tracing.runs import Run
from anyformer.programs.tracing.traced import Entries, Entry, Traced, as_pair, as_single, each, over_pairs, settled

Rule = Callable[..., Form]


PairRule = Callable[..., PairForm]


def apply_each(run: Run, name: str, operands: "tuple[Any, ...]", rule: Rule, pair_rule: PairRule | None) -> Traced:
    """The rule on every entry of the operands, broadcast."""
    operands = _with_like_axes(name, operands)
    axes, parts = aligned(run, operands)
    rank = sum(axis.kind is Kind.TOKENS for axis in axes)
    if rank > 1 and pair_rule is None and _depends_on_pairs(parts):
        return apply_each(run, name, _with_one_token_axis(name, axes, operands), rule, None)

    def step(*entries: Entry) -> Entry:
        if all(isinstance(entry, Form) for entry in entries):
            return rule(run.builder, *entries)
        if pair_rule is not None:
            return settled(run.builder, pair_rule(run.builder, *(as_pair(entry, 0) for entry in entries)), rank)
        return _of_one_token(run.builder, rank, rule, *entries)

    return Traced(run, axes, each(step, *parts))


def _with_like_axes(name: str, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Token axes that meet an axis of copies of tokens become such axes as well."""
    traced = [one for one in operands if isinstance(one, Traced)]
    copies = {
        at
        for one in traced
        if one.rank
        for at in range(-len(one.axes), 0)
        if one.axes[at].kind is Kind.SIZED and one.axes[at].size > 1
    }
    return tuple(_with_copies(name, one, copies) if isinstance(one, Traced) else one for one in operands)


def _with_copies(name: str, traced: Traced, places: set[int]) -> Traced:
    for at in places:
        if -at <= len(traced.axes) and traced.axes[at].kind is Kind.TOKENS:
            traced = unrolled(traced, at + len(traced.axes), f"{name} of a token axis and of an axis of copied tokens")
    return traced


def _depends_on_pairs(parts: Sequence[Entries]) -> bool:
    """Whether entries of the operands, taken together, depend on more than one token."""
    sets = each(lambda *entries: set().union(*(as_pair(entry, 0).slots for entry in entries)), *parts)
    return any(len(slots) > 1 for slots in sets.flat)


def _with_one_token_axis(name: str, axes: tuple[Axis, ...], operands: Sequence[Any]) -> tuple[Any, ...]:
    """The operands with all token axes of the result but the first unrolled."""
    first = next(at for at, axis in enumerate(axes) if axis.kind is Kind.TOKENS) - len(axes)
    result = []
    for one in operands:
        if isinstance(one, Traced):
            for at in range(-len(one.axes), 0):
                if one.axes[at].kind is Kind.TOKENS and at != first:
                    one = unrolled(one, at + len(one.axes), f"{name} of an array over pairs of tokens")
        result.append(one)
    return tuple(result)


def _of_one_token(builder: Builder, rank: int, rule: Rule, *entries: Entry) -> Entry:
    """A rule for forms on pair forms that depend on one token only."""
    if rank <= 1:
        return rule(builder, *(as_single(builder, entry) for entry in entries))
    slot = next(iter(set().union(*(as_pair(entry, 0).slots for entry in entries))), 0)
    forms = [sums.form_of(builder, as_pair(entry, slot), slot) for entry in entries]
    return PairForm(Multilinear.of(rule(builder, *forms), slot))


def _smooth(function: str) -> Rule:
    return lambda builder, u: builder.apply(function, u)


def _exp2(builder: Builder, u: Form) -> Form:
    return builder.apply("exp", u.times(_log_of_2()))


def _quotient_by_log(base: float) -> Rule:
    def rule(builder: Builder, u: Form) -> Form:
        logarithm = applied("log", Number(base), None)
        return builder.apply("log", u).times(applied("reciprocal", logarithm, None))

    return rule


def _log_of_2() -> Number:
    return applied("log", Number(2.0), None)


def logaddexp(builder: Builder, a: Form, b: Form) -> Form:
    """log(eᵃ + eᵇ) = b + log(1 + e^(a − b))."""
    return b + builder.apply("log1p", builder.apply("exp", a - b))


def _logaddexp2(builder: Builder, a: Form, b: Form) -> Form:
    two = _log_of_2()
    return logaddexp(builder, a.times(two), b.times(two)).times(applied("reciprocal", two, None))


def _hypot(builder: Builder, a: Form, b: Form) -> Form:
    return builder.apply("sqrt", builder.apply("square", a) + builder.apply("square", b))


def _tan(builder: Builder, u: Form) -> Form:
    return builder.divide(builder.apply("sin", u), builder.apply("cos", u))


def _arctanh(builder: Builder, u: Form) -> Form:
    return (builder.apply("log1p", u) - builder.apply("log1p", -u)).scaled(0.5)


def _arccosh(builder: Builder, u: Form) -> Form:
    root = builder.apply("sqrt", builder.apply("square", u) - Form.of(1.0))
    return builder.apply("log", u + root)


def _log_expit(builder: Builder, u: Form) -> Form:
    return -builder.apply("log1p", builder.apply("exp", -u))


def _erfc(builder: Builder, u: Form) -> Form:
    return Form.of(1.0) - builder.apply("erf", u)


def _square(builder: Builder, u: Form) -> Form:
    return builder.apply("square", u)


def power(builder: Builder, a: Form, b: Form) -> Form:
    """a^b: a constant exponent, or a positive constant base, or exp(b·log a)."""
    if b.is_fixed and not b.constant.most_doubt:
        return to_power(builder, a, float(b.constant.value))
    return builder.apply("exp", builder.product(b, builder.apply("log", a)))


def _pair_power(builder: Builder, a: PairForm, b: PairForm) -> PairForm:
    exponent = None if b.weighted else b.plain.constant
    if exponent is None or exponent.most_doubt:
        raise over_pairs("a power whose exponent is no constant")
    return pair_forms.powered(builder, a, float(exponent.value))


def _pair_divide(builder: Builder, a: PairForm, b: PairForm) -> PairForm:
    number = None if b.weighted else b.plain.constant
    if number is not None:
        return a.times(applied("reciprocal", number, None))
    return pair_forms.product(builder, a, pair_forms.powered(builder, b, -1.0))


ARITHMETIC: Final[dict[np.ufunc, tuple[Rule, PairRule]]] = {
    np.add: (lambda builder, a, b: a + b, lambda builder, a, b: a + b),
    np.subtract: (lambda builder, a, b: a - b, lambda builder, a, b: a + b.times(Number(-1.0))),
    np.negative: (lambda builder, a: -a, lambda builder, a: a.times(Number(-1.0))),
    np.positive: (lambda builder, a: a, lambda builder, a: a),
    np.conjugate: (lambda builder, a: a, lambda builder, a: a),
    np.multiply: (lambda builder, a, b: builder.product(a, b), pair_forms.product),
    np.divide: (lambda builder, a, b: builder.divide(a, b), _pair_divide),
    np.square: (_square, lambda builder, a: pair_forms.product(builder, a, a)),
    np.power: (power, _pair_power),
    np.float_power: (power, _pair_power),
    np.reciprocal: (_smooth("reciprocal"), lambda builder, a: pair_forms.powered(builder, a, -1.0)),
    np.exp: (_smooth("exp"), lambda builder, a: pair_forms.exponential(a)),
    np.exp2: (_exp2, lambda builder, a: pair_forms.exponential(a.times(_log_of_2()))),
}


SINGLE: Final[dict[np.ufunc, Rule]] = {
    **{getattr(np, name): _smooth(name) for name in ("expm1", "log", "log1p", "sqrt", "tanh", "sinh", "cosh")},
    **{getattr(np, name): _smooth(name) for name in ("sin", "cos", "arctan", "arcsinh")},
    np.log2: _quotient_by_log(2.0),
    np.log10: _quotient_by_log(10.0),
    np.tan: _tan,
    np.arctanh: _arctanh,
    np.arccosh: _arccosh,
    np.absolute: lambda builder, a: builder.absolute(a),
    np.fabs: lambda builder, a: builder.absolute(a),
    np.maximum: lambda builder, a, b: builder.maximum(a, b),
    np.fmax: lambda builder, a, b: builder.maximum(a, b),
    np.minimum: lambda builder, a, b: builder.minimum(a, b),
    np.fmin: lambda builder, a, b: builder.minimum(a, b),
    np.logaddexp: logaddexp,
    np.logaddexp2: _logaddexp2,
    np.hypot: _hypot,
}


# Ufuncs of scipy.special, by name.
SPECIAL: Final[dict[str, Rule]] = {
    "expit": _smooth("sigmoid"),
    "log_expit": _log_expit,
    "erf": _smooth("erf"),
    "erfc": _erfc,
    "xlogy": lambda builder, x, y: builder.product(x, builder.apply("log", y)),
}


def arithmetic(run: Run, ufunc: np.ufunc, *operands: Any) -> Traced:
    """One of the ufuncs of these tables."""
    if ufunc in ARITHMETIC:
        rule, pair_rule = ARITHMETIC[ufunc]
        return apply_each(run, f"np.{ufunc.__name__}", operands, rule, pair_rule)
    return apply_each(run, f"np.{ufunc.__name__}", operands, SINGLE[ufunc], None)
