"""Where the exact values of forms and nodes lie, for all inputs of the domain and all tokens.

Intervals, rounded outwards, with three facts that plain intervals miss: v_j − mean(v) has less room than v minus an
independent mean; v_j/(c₀ + c·mean(v)) and v_j − log mean exp(v) rise in v_j and fall in all other tokens.
"""

import math

import numpy as np

from anyformer.errors import LeavesDomain, NotTraceable
from anyformer.programs.curves import Curve
from anyformer.programs.forms import Form, Node
from anyformer.programs.numbers import ONE, ZERO, Number
from anyformer.programs.program import Program
from anyformer.programs.roots import Roots
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

Range = tuple[float, float]
EVERYTHING: Range = (-math.inf, math.inf)
# One rounding, relatively, with room for the rounding of this bound itself.
ULP = 2.0**-52
# Products that underflow are off by up to TINY; SMALL is far above it, and far below what matters.
TINY, SMALL = 2.0**-1074, 2.0**-1000


def size(r: Range) -> float:
    """The largest magnitude in a range."""
    return max(abs(r[0]), abs(r[1]))


def least_size(r: Range) -> float:
    """The smallest magnitude in a range."""
    return 0.0 if r[0] <= 0 <= r[1] else min(abs(r[0]), abs(r[1]))


def meet(a: Range, b: Range) -> Range:
    """What lies in both."""
    return max(a[0], b[0]), min(a[1], b[1])


def outward(low: float, high: float, roundings: int = 4) -> Range:
    """Wider by a few roundings of the ends; 0 is exact."""
    return low - roundings * ULP * abs(low), high + roundings * ULP * abs(high)


def scaled(c: float, r: Range) -> Range:
    """c times a range, not rounded outwards."""
    return (c * r[0], c * r[1]) if c >= 0 else (c * r[1], c * r[0])


def _multiplied(number: Number, r: Range) -> Range:
    """A number with its doubt, times a range; up to two roundings of the ends."""
    value, doubt = float(number.value), number.most_doubt
    factors = (value - doubt, value + doubt) if doubt else (value,)
    ends = [scaled(c, r) for c in factors]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    # Products that underflow may be off by this; what is 0, or has one sign, stays so.
    some_negative = (min(factors) < 0 < r[1]) or (max(factors) > 0 > r[0])
    some_positive = (max(factors) > 0 and r[1] > 0) or (min(factors) < 0 and r[0] < 0)
    return low - TINY if some_negative else low, high + TINY if some_positive else high


def _relative_doubt(number: Number) -> float:
    doubt, value = number.most_doubt, abs(float(number.value))
    return 0.0 if not doubt else doubt / value if value else math.inf


def _finite(found: Range, what: object) -> Range:
    """The range if it is one; NaN and infinite ends are refused, for comparisons would lose them."""
    if not (math.isfinite(found[0]) and math.isfinite(found[1])):
        raise NotTraceable(f"the step {what} must have finite values on the domain; no bound of them was found")
    return found


class Ranges:
    """Ranges of a program's forms and nodes; remembers what it found."""

    def __init__(self, program: Program) -> None:
        self.program, self.roots = program, Roots()
        self._nodes: dict[Node, Range] = {}
        self._forms: dict[object, Range] = {}
        self._curves: dict[Node, Curve] = {}

    def form(self, form: Form) -> Range:
        """The range of a form."""
        key = form.key()
        if key not in self._forms:
            self._forms[key] = self._form(form)
        return self._forms[key]

    def node(self, node: Node) -> Range:
        """The range of a node."""
        if node not in self._nodes:
            self._nodes[node] = self._node(node)
        return self._nodes[node]

    def curve(self, node: Node) -> Curve:
        """A node with a root as a function of it."""
        if node not in self._curves:
            root = self.roots.of(node)
            assert root is not None
            self._curves[node] = Curve(self.roots.curve(node), *self.form(root))
        return self._curves[node]

    def _form(self, form: Form) -> Range:
        found = meet(self._sum(form), self._log_share(form))
        root = self.roots.shared([form]) if len(form.terms) > 1 else None
        if root is not None:
            curve = Curve(self.roots.form_curve(form, root), *self.form(root))
            found = meet(found, self._within_domain(curve, form))
        return _finite(found, form)

    def _sum(self, form: Form) -> Range:
        """Term by term; a token's own share in a mean is counted with the token."""
        only = form.only_node()
        if only is not None and only[1].key() == ONE.key():
            return self.node(only[0])
        n = self.program.tokens
        own: dict[Node, list[Number]] = {}
        for node, number in form.terms.items():
            inner = node.args[0].only_node() if isinstance(node.step, Mean) else None
            inner = inner if inner is not None and inner[1].key() == ONE.key() else None
            of_token, of_mean = own.setdefault(node if inner is None else inner[0], [ZERO, ZERO])
            own[node if inner is None else inner[0]] = (
                [of_token + number, of_mean] if inner is None else [of_token, of_mean + number]
            )
        values, doubt = form.constant.value, form.constant.most_doubt
        lows, highs = [float(np.min(values)) - doubt], [float(np.max(values)) + doubt]
        for node, (of_token, of_mean) in own.items():
            # a·v_j + b·mean(v) = (a + b/n)·v_j + (b/n)·(all other tokens)
            for c in (of_token + of_mean * Number(1 / n, ULP / n), of_mean * Number((n - 1) / n, ULP)):
                low, high = _multiplied(c, self.node(node))
                lows.append(low)
                highs.append(high)
        if not all(map(math.isfinite, (*lows, *highs))):
            return EVERYTHING
        # Sums of exact zeros are exact, and what is not negative stays so: a mean of squares may go to a root.
        roundings = (len(lows) + 4) * ULP if form.terms or doubt else 0.0
        return sum(lows) - roundings * sum(map(abs, lows)), sum(highs) + roundings * sum(map(abs, highs))

    def _node(self, node: Node) -> Range:
        args = [self.form(form) for form in node.args]
        found = EVERYTHING
        match node.step:
            case Input(coordinate):
                return float(self.program.low[coordinate]), float(self.program.high[coordinate])
            case Mean() | Mix() | TokenMaximum():
                return args[0]
            case Attend():
                return args[-1]
            case Norm():
                found = outward(math.hypot(*map(least_size, args)), math.hypot(*map(size, args)))
            case Maximum():
                found = max(args[0][0], args[1][0]), max(args[0][1], args[1][1])
            case Minimum():
                found = min(args[0][0], args[1][0]), min(args[0][1], args[1][1])
            case Gate(factors):
                ends = [scaled(float(c), args[0]) for c in (factors.values.min(), factors.values.max())]
                doubt = float(factors.doubts.max()) * size(args[0])
                found = outward(min(e[0] for e in ends) - doubt, max(e[1] for e in ends) + doubt)
            case Relu():
                found = max(args[0][0], 0.0), max(args[0][1], 0.0)
            case Absolute():
                found = least_size(args[0]), size(args[0])
            case Product():
                corners = [x * y for x in args[0] for y in args[1]]
                found = meet(outward(min(corners), max(corners)), self._share(node))
        if self.roots.of(node) is not None:
            found = meet(found, self._within_domain(self.curve(node), node))
        return _finite(found, node)

    def _within_domain(self, curve: Curve, what: object) -> Range:
        try:
            return curve.range
        except LeavesDomain as error:
            raise NotTraceable(
                f"the step {what} must have a value for every input of the domain; its argument lies between "
                f"{curve.low:g} and {curve.high:g} as far as intervals tell, and there {error}. Keep it away from 0, "
                f"as in x / (0.1 + y), or choose a smaller domain."
            ) from None

    def _log_share(self, form: Form) -> Range:
        """c·(w_j − log mean exp(w)) + e with c > 0."""
        n = self.program.tokens
        for node, number in form.terms.items():
            if not isinstance(node.step, Apply) or node.step.function != "log" or not float(number.value) < 0:
                continue
            mean = node.args[0].only_node()
            if mean is None or not isinstance(mean[0].step, Mean) or mean[1].key() != ONE.key():
                continue
            inner = mean[0].args[0].only_node()
            if inner is None or inner[0].step != Apply("exp") or inner[1].key() != ONE.key():
                continue
            exponent, c = inner[0].args[0], -float(number.value)
            rest = form - Form({node: number}) - exponent.scaled(c)
            if not rest.is_fixed or number.most_doubt:
                continue
            low, high = self.form(exponent)
            room = (high - low) * (1 + 2 * ULP)
            if not room < 700:
                continue
            ends = [-math.log((1 + (n - 1) * math.exp(sign * room)) / n) for sign in (1, -1)]
            offset = float(rest.constant.value)
            # exp, the sum and the quotient are a handful of roundings, which log turns into as many absolute ones.
            grown = 64 * ULP * (abs(offset) + c * (1 + max(map(abs, ends)))) + rest.constant.most_doubt * (1 + ULP)
            return c * ends[0] + offset - grown, c * ends[1] + offset + grown
        return EVERYTHING

    def _share(self, node: Node) -> Range:
        """k·v_j / (c·mean(v) + c₀), if v, c, c₀ and k are not negative."""
        n = self.program.tokens
        for a, b in (node.args, node.args[::-1]):
            top, inverse = a.only_node(), b.only_node()
            if top is None or inverse is None or inverse[0].step != Apply("reciprocal"):
                continue
            bottom = inverse[0].args[0]
            if len(bottom.terms) != 1 or not bottom.constant.is_steady:
                continue
            ((mean, c_number),) = bottom.terms.items()
            if not isinstance(mean.step, Mean) or mean.args[0].key() != Form.node(top[0]).key():
                continue
            factor = top[1] * inverse[1]
            k, c, c0 = (float(number.value) for number in (factor, c_number, bottom.constant))
            low, high = self.node(top[0])
            if not min(k, c, c0, low) >= 0 or (low == 0 and c0 == 0):
                continue
            below = [c / n * (low + (n - 1) * high) + c0, c / n * (high + (n - 1) * low) + c0]
            of_top, of_bottom = _relative_doubt(factor), max(map(_relative_doubt, (c_number, bottom.constant)))
            if not min(below) > SMALL or not of_bottom < 0.5:
                continue
            # (1 ± of_top)/(1 ∓ of_bottom), and a dozen roundings.
            grown = (of_top + of_bottom) / (1 - of_bottom) + 32 * ULP
            return max(k * low / below[0] * (1 - grown) - SMALL, 0.0), k * high / below[1] * (1 + grown) + SMALL
        return EVERYTHING
