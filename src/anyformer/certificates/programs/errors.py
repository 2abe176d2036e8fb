"""How errors pass through the steps of a program: the lemmas.

A step F is computed as F̂, on arguments û that are off by at most e from the exact u. Then
|F̂(û) − F(u)| ≤ |F̂(û) − F(û)| + |F(û) − F(u)| ≤ (the step's own error on the widened range) + (modulus of F)(e).

Errors are carried absolutely and relatively, side by side; with the range of a value each says something about the
other. exp turns an absolute error a into a relative e^a − 1, log a relative r into an absolute −log(1 − r), a
reciprocal r into r/(1 − r); products add relative errors, and sums of numbers of one sign keep the largest.
"""

import math
from dataclasses import dataclass

from anyformer.programs.forms import Form, Node
from anyformer.programs.ranges import Range, Ranges, least_size, size
from anyformer.programs.rewriting import ratio
from anyformer.programs.steps import (
    Absolute,
    Apply,
    Attend,
    Gate,
    Input,
    Maximum,
    Mean,
    Minimum,
    Mix,
    Norm,
    Product,
    Relu,
    TokenMaximum,
)

# Each lemma is a formula of fewer than 64 operations, all on numbers that are not negative.
UP = 1 + 64 * 2.0**-52
# Errors below this are not told apart from it: products that underflow, by at most 2^-1074 each, vanish beside it.
LEAST = 2.0**-1000


@dataclass(frozen=True)
class Error:
    """|v̂ − v| ≤ absolute, and |v̂ − v| ≤ relative·|v|."""

    absolute: float = 0.0
    relative: float = math.inf

    def __post_init__(self) -> None:
        # What is not a number is not known; NaN would pass through comparisons as if it were small.
        for name in ("absolute", "relative"):
            if not getattr(self, name) >= 0:
                object.__setattr__(self, name, math.inf)

    def within(self, r: Range) -> "Error":
        """Both, as small as the range of v allows."""
        if self.absolute == 0 or self.relative == 0:
            return EXACT
        absolute = min(self.absolute, self.relative * size(r)) if self.relative < math.inf else self.absolute
        absolute, least = max(absolute, LEAST), least_size(r)
        relative = min(self.relative, absolute / least) if least > 0 else self.relative
        return Error(absolute * UP, relative * UP)


EXACT = Error(0.0, 0.0)


class Errors:
    """The errors of a program's nodes, as far as they are known."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges, self.roots = ranges, ranges.roots
        self.of: dict[Node, Error] = {}

    def form(self, form: Form) -> Error:
        """The error of a form whose coefficients are the float64 ones: from its nodes, and from doubts."""
        total, relative, signs = form.constant.most_doubt, 0.0, set()
        parts = [(float(number.value), number.most_doubt, node) for node, number in form.terms.items()]
        for value, doubt, node in parts:
            error, r = self.of[node], self.ranges.node(node)
            total += abs(value) * error.absolute + doubt * size(r)
            relative = max(relative, _of_product(error.relative, _relative_doubt(value, doubt)))
            signs |= _signs(r, value)
        if not form.constant.is_exactly_zero:
            relative, signs = self._with_constant(form, relative, signs)
        # The sum has one rounding for every term, besides those that UP makes up for.
        total *= UP * (1 + len(parts) * 2.0**-52)
        return Error(total, relative * UP if len(signs) < 2 else math.inf).within(self.ranges.form(form))

    def _with_constant(self, form: Form, relative: float, signs: set[int]) -> tuple[float, set[int]]:
        if not form.constant.is_steady or form.constant.most_doubt:
            return math.inf, signs
        return relative, signs | _signs((float(form.constant.value),) * 2, 1.0)

    def record(self, node: Node, own: Error) -> Error:
        """The error of a node whose step has the error `own` on perturbed arguments."""
        own = Error(max(own.absolute, LEAST), own.relative)
        self.of[node] = self.passed_on(node, own).within(self.ranges.node(node))
        return self.of[node]

    def passed_on(self, node: Node, own: Error) -> Error:
        """Own error plus what the errors of the arguments become."""
        if isinstance(node.step, Input):
            return EXACT
        if self.roots.of(node) is not None:
            return self._through_curve(node, own)
        args = [self.form(form) for form in node.args]
        match node.step:
            case Product():
                return self._through_product(node, own, args)
            case Maximum() | Minimum():
                return Error(own.absolute + max(args[0].absolute, args[1].absolute))
            case Norm():
                return Error(own.absolute + math.hypot(args[0].absolute, args[1].absolute))
            case Gate(factors):
                most = float((abs(factors.values) + factors.doubts).max())
                return Error(own.absolute + most * args[0].absolute)
            case Attend(count, _):
                return self._through_attention(node, own, args, count)
            case Mean() | Mix() | TokenMaximum():
                return self._through_average(node, own, args[0])
            case Relu() | Absolute():
                # |·| and max(·, 0) change by no more than their argument.
                return Error(own.absolute + args[0].absolute)
        return Error(math.inf)

    def _through_curve(self, node: Node, own: Error) -> Error:
        """steepness·e, as the curve goes on beyond its range no steeper, and what it may leap; relative errors by the
        rules above."""
        root = self.roots.of(node)
        assert root is not None
        e = self.form(root)
        if e.absolute == 0:
            return own
        curve = self.ranges.curve(node)
        absolute, relative = curve.steepness * e.absolute + curve.leap, math.inf
        argument = node.args[0]
        if isinstance(node.step, Apply) and (slope := ratio(argument, root)) is not None:
            # The units look along the root; the argument is slope·root + a constant, up to rounded coefficients.
            own_error = self.form(argument)
            seen = Error(max(own_error.absolute, slope.size * e.absolute), own_error.relative)
            absolute, relative = _elementary(node.step, seen, absolute, self.ranges.form(argument)[1])
        # The own error is relative to F(û), which is at most (1 + relative)·|F(u)|.
        return Error(own.absolute + absolute, _of_product(own.relative, relative))

    def _through_product(self, node: Node, own: Error, args: list[Error]) -> Error:
        (a, b), (x, y) = args, (size(self.ranges.form(form)) for form in node.args)
        absolute = x * b.absolute + y * a.absolute + a.absolute * b.absolute
        passed = Error(absolute, _of_product(a.relative, b.relative))
        return Error(own.absolute + passed.within(self.ranges.node(node)).absolute)

    def _through_attention(self, node: Node, own: Error, args: list[Error], count: int) -> Error:
        """Scores off by at most s change the weights by tanh(s/2) in total variation, so a mean of values that lie
        within a width R by tanh(s/2)·R."""
        value = args[-1].absolute
        low, high = self.ranges.form(node.args[-1])
        sizes = [size(self.ranges.form(form)) for form in node.args]
        scores = sum(
            sizes[i] * args[count + i].absolute
            + sizes[count + i] * args[i].absolute
            + args[i].absolute * args[count + i].absolute
            for i in range(count)
        )
        scores *= 1 + (4 * count) * 2.0**-52
        return Error(own.absolute + value + math.tanh(scores / 2) * (high - low + 2 * value))

    def _through_average(self, node: Node, own: Error, e: Error) -> Error:
        """Averages and maxima over tokens change by no more than their arguments; likewise relatively, if these have
        one sign."""
        low, high = self.ranges.form(node.args[0])
        # A relative error of 1 or more may change signs, and then the largest of negative numbers by more than itself.
        if not (low >= 0 or high <= 0) or e.relative >= 1:
            return Error(own.absolute + e.absolute)
        least = least_size(self.ranges.node(node))
        more = 0.0 if own.absolute == 0 else own.absolute / least if least > 0 else math.inf
        return Error(own.absolute + e.absolute, e.relative + more)


def _elementary(step: Apply, argument: Error, absolute: float, most: float) -> tuple[float, float]:
    """What an elementary function makes of its argument's error, where it knows more than its steepness.

    Beyond its range the curve goes on along its tangent. Let the argument u be t away from the end of its range, and û
    beyond it by d, t + d ≤ a or ≤ r·|u|. On the side where the function is on the far side of its tangent, the tangent
    is nearer to the value at the end than the function, and the bound for the function holds. On the other side:
        exp: 1 − e^−t + e^−t·d ≤ t + d ≤ a ≤ e^a − 1;      reciprocal: t/h + d·u/h² ≤ (t + d)/u ≤ r ≤ r/(1 − r);
        log: log(h/u) + d/h ≤ (t + d)/u ≤ r ≤ −log(1 − r); root: (t + d)/2u ≤ r/2 ≤ 1 − √(1 − r);
        square: 2ut − t² + 2(u − t)d ≤ 2u(t + d) ≤ 2r·u².
    A root that starts at 0 goes on as a constant there, |√û − √u| ≤ √|û − u|. Above its largest argument h, √t +
    (a − t)/(2√h) rises in t as long as t ≤ h, so that it is at most √a if a ≤ h = `most`.
    """
    a, r = argument.absolute, argument.relative
    match step.function:
        case "exp":
            return absolute, math.expm1(a) if a < 700 else math.inf
        case "reciprocal" if r < 0.5:
            return absolute, r / (1 - r)
        case "log" if r < 0.5:
            return min(absolute, -math.log1p(-r)), math.inf
        case "sqrt":
            # 1 − √(1 − r) without the cancellation.
            return (
                math.sqrt(a) if absolute == math.inf and a <= most else absolute,
                r / (1 + math.sqrt(1 - r)) if r < 0.5 else math.inf,
            )
        case "square" if r < 0.5:
            return absolute, 2 * r + r * r
    return absolute, math.inf


def _of_product(first: float, second: float) -> float:
    """The relative error of a product whose factors have these; never NaN, also where one is infinite."""
    return first + second + first * second if max(first, second) < math.inf else math.inf


def _relative_doubt(value: float, doubt: float) -> float:
    return 0.0 if not doubt else doubt / (abs(value) - doubt) if doubt < abs(value) else math.inf


def _signs(r: Range, factor: float) -> set[int]:
    """The signs that factor·v can have."""
    low, high = (r[0], r[1]) if factor >= 0 else (-r[1], -r[0])
    return ({1} if high > 0 else set()) | ({-1} if low < 0 else set())
