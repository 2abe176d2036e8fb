"""A program on boxes of inputs, with its first and second derivatives in all inputs: enclosures, rounded outwards.

Where a step has a kink inside a box, its second derivatives are unknown there (their ends are infinite) and its first
ones lie in the hull of those of both branches; where it may jump, the first ones are unknown too.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement
from typing import Any, TypeAlias

import numpy as np

from anyformer.arrays import Array, Booleans, Integers
from anyformer.errors import NotTraceable
from anyformer.intervals import IntervalArray
from anyformer.programs import steps
from anyformer.programs.forms import Form, Node
from anyformer.programs.functions import FUNCTIONS
from anyformer.programs.numbers import Number
from anyformer.programs.program import Program

Interval: TypeAlias = Any  # IntervalArray, whose operators come from NumPy's mixin
Maybe: TypeAlias = Interval | None


@dataclass(frozen=True, eq=False)
class Expansion:
    """A number of every token on boxes, (boxes, tokens): its value, and its derivatives in the m inputs.

    slopes: m of them; bends: those in inputs k ≤ q, row by row. None is 0.
    """

    value: Interval
    slopes: tuple[Maybe, ...]
    bends: tuple[Maybe, ...]

    def plus(self, other: "Expansion") -> "Expansion":
        """The sum of both."""
        return Expansion(self.value + other.value, _added(self.slopes, other.slopes), _added(self.bends, other.bends))

    def each(self, change: Callable[[Interval], Interval]) -> "Expansion":
        """The same linear change of value and derivatives."""
        return Expansion(change(self.value), _each(change, self.slopes), _each(change, self.bends))

    def composed(self, value: Interval, first: Interval, second: Interval) -> "Expansion":
        """g of it, with g, g′ and g″ on its values: g′·∂ₖ and g″·∂ₖ·∂_q + g′·∂ₖ_q."""
        bends = tuple(
            _plus(_times(second, _times(self.slopes[k], self.slopes[q])), _times(first, bend))
            for (k, q), bend in zip(_pairs(len(self.slopes)), self.bends, strict=True)
        )
        return Expansion(value, tuple(_times(first, slope) for slope in self.slopes), bends)

    def product(self, other: "Expansion") -> "Expansion":
        """The product rule, twice."""
        a, b = self, other
        slopes = tuple(_plus(_times(a.value, y), _times(b.value, x)) for x, y in zip(a.slopes, b.slopes, strict=True))
        bends = tuple(
            _plus(
                _plus(_times(a.value, b.bends[at]), _times(b.value, a.bends[at])),
                _plus(_times(a.slopes[k], b.slopes[q]), _times(a.slopes[q], b.slopes[k])),
            )
            for at, (k, q) in enumerate(_pairs(len(a.slopes)))
        )
        return Expansion(a.value * b.value, slopes, bends)

    def applied(self, function: str, parameter: float | None = None) -> "Expansion":
        """A smooth function of it."""
        return self.composed(*FUNCTIONS[function].jet(self.value, parameter))


def expansions(program: Program, low: Array, high: Array) -> list[Expansion]:
    """Every output of the program on boxes (boxes, tokens, width), one coordinate after the other.

    Raises NotTraceable for a step without derivatives here, IntervalError where a step may have no value.
    """
    known: dict[Node, Expansion] = {}
    with np.errstate(all="ignore"):
        for node in program.nodes:
            if isinstance(node.step, steps.Input):
                known[node] = _input(low, high, node.step.coordinate)
                continue
            rule = _RULES.get(type(node.step))
            if rule is None:
                raise NotTraceable(f"the step {node} has no derivatives here")
            known[node] = rule(node.step, *(_form(form, known, low) for form in node.args))
        return [_form(form, known, low) for form in program.outputs]


def is_position_free(program: Program) -> bool:
    """Whether no step and no constant depends on a token's place: then the function is permutation equivariant."""
    forms = [*program.outputs, *(form for node in program.nodes for form in node.args)]
    return all(form.constant.is_steady for form in forms) and not any(
        isinstance(node.step, steps.Mix | steps.Gate)
        or (isinstance(node.step, steps.Attend) and node.step.offsets is not None)
        for node in program.nodes
    )


def _input(low: Array, high: Array, coordinate: int) -> Expansion:
    boxes, tokens, width = low.shape
    slopes: list[Maybe] = [None] * (tokens * width)
    for token in range(tokens):
        one = np.zeros((boxes, tokens))
        one[:, token] = 1.0
        slopes[token * width + coordinate] = IntervalArray(one, one)
    count = tokens * width
    value = IntervalArray(low[:, :, coordinate], high[:, :, coordinate])
    return Expansion(value, tuple(slopes), (None,) * (count * (count + 1) // 2))


def _form(form: Form, known: dict[Node, Expansion], low: Array) -> Expansion:
    count = low.shape[1] * low.shape[2]
    zero = np.zeros(low.shape[:2])
    constant = IntervalArray(zero, zero) + _interval(form.constant, low.shape[1])
    total = Expansion(constant, (None,) * count, (None,) * (count * (count + 1) // 2))
    for node, number in form.terms.items():
        factor = _interval(number, low.shape[1])
        total = total.plus(known[node].each(partial(_scaled, factor)))
    return total


def _interval(number: Number, tokens: int) -> Interval:
    """A number with its doubt, one for every token."""
    value, doubt = (np.broadcast_to(np.asarray(part), (tokens,)) for part in (number.value, number.doubt))
    return _around(value, doubt)


def _around(value: Array, doubt: Array) -> Interval:
    exact = doubt == 0
    low = np.where(exact, value, np.nextafter(value - doubt, -np.inf))
    return IntervalArray(low, np.where(exact, value, np.nextafter(value + doubt, np.inf)))


def _chosen(yes: Expansion, no: Expansion, is_yes: Booleans, is_no: Booleans, *, jumps: bool = False) -> Expansion:
    """One of two, where it is known which; else the hull, with unknown bends."""

    def choose(a: Maybe, b: Maybe, *, is_known: bool) -> Maybe:
        if a is None and b is None and is_known:
            return None
        zero = np.zeros(is_yes.shape)
        (al, ah), (bl, bh) = ((zero, zero) if x is None else (x.low, x.high) for x in (a, b))
        low, high = (np.minimum(al, bl), np.maximum(ah, bh)) if is_known else (zero - np.inf, zero + np.inf)
        return IntervalArray(
            np.where(is_yes, al, np.where(is_no, bl, low)), np.where(is_yes, ah, np.where(is_no, bh, high))
        )

    return Expansion(
        choose(yes.value, no.value, is_known=True),
        tuple(choose(a, b, is_known=not jumps) for a, b in zip(yes.slopes, no.slopes, strict=True)),
        tuple(choose(a, b, is_known=False) for a, b in zip(yes.bends, no.bends, strict=True)),
    )


def _larger(a: Expansion, b: Expansion) -> Expansion:
    made = _chosen(a, b, a.value.low >= b.value.high, b.value.low >= a.value.high)
    return Expansion(np.maximum(a.value, b.value), made.slopes, made.bends)


def _maximum(step: steps.Step, a: Expansion, b: Expansion) -> Expansion:
    # The difference may be of one sign although the two ranges overlap.
    apart = a.plus(_negative(b)).value
    made = _chosen(a, b, apart.low >= 0, apart.high <= 0)
    return Expansion(np.maximum(a.value, b.value), made.slopes, made.bends)


def _negative(a: Expansion) -> Expansion:
    return a.each(lambda part: -part)


def _constant(value: float, like: Expansion) -> Expansion:
    filled = np.full(like.value.shape, value)
    return Expansion(IntervalArray(filled, filled), (None,) * len(like.slopes), (None,) * len(like.bends))


def _scaled(factor: Interval, part: Interval) -> Interval:
    return part * factor


def _taken(tokens: Integers, part: Interval) -> Interval:
    return part[:, tokens]


def _norm(step: steps.Step, a: Expansion, b: Expansion) -> Expansion:
    return a.applied("square").plus(b.applied("square")).applied("sqrt")


def _choice(step: steps.Step, condition: Expansion, yes: Expansion, no: Expansion) -> Expansion:
    return _chosen(yes, no, condition.value.low > 0, condition.value.high <= 0, jumps=True)


def _mean(step: steps.Step, a: Expansion) -> Expansion:
    # (boxes, 1) would do, but all expansions have one shape.
    return a.each(lambda part: np.broadcast_to(part.mean(axis=1, keepdims=True), part.shape))


def _mix(step: steps.Mix, a: Expansion) -> Expansion:
    shares = _around(step.shares.values.T, step.shares.doubts.T)
    return a.each(lambda part: (part[:, :, None] * shares[None]).sum(axis=1))


def _gate(step: steps.Gate, a: Expansion) -> Expansion:
    factors = _around(step.factors.values, step.factors.doubts)
    return a.each(lambda part: part * factors)


def _token_maximum(step: steps.Step, a: Expansion) -> Expansion:
    tokens, largest = a.value.shape[1], a
    for shift in range(1, tokens):
        at = (np.arange(tokens) + shift) % tokens
        largest = _larger(largest, a.each(partial(_taken, at)))
    return largest


_RULES: dict[type, Callable[..., Expansion]] = {
    steps.Apply: lambda step, a: a.applied(step.function, step.parameter),
    steps.Relu: lambda step, a: _maximum(step, a, _constant(0.0, a)),
    steps.Absolute: lambda step, a: _maximum(step, a, _negative(a)),
    steps.Maximum: _maximum,
    steps.Minimum: lambda step, a, b, larger: _negative(_maximum(step, _negative(a), _negative(b))),
    steps.Choice: _choice,
    steps.Product: lambda step, a, b: a.product(b),
    steps.Norm: _norm,
    steps.Gate: _gate,
    steps.Mean: _mean,
    steps.Mix: _mix,
    steps.TokenMaximum: _token_maximum,
}


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    return combinations_with_replacement(range(count), 2)


def _times(a: Maybe, b: Maybe) -> Maybe:
    return None if a is None or b is None else a * b


def _plus(a: Maybe, b: Maybe) -> Maybe:
    if a is None or b is None:
        return b if a is None else a
    return a + b


def _added(first: tuple[Maybe, ...], second: tuple[Maybe, ...]) -> tuple[Maybe, ...]:
    return tuple(_plus(a, b) for a, b in zip(first, second, strict=True))


def _each(change: Callable[[Interval], Interval], parts: tuple[Maybe, ...]) -> tuple[Maybe, ...]:
    return tuple(None if part is None else change(part) for part in parts)
