"""Identities that make a program smaller, or its errors easier to bound. Every one is exact in real numbers."""

from fractions import Fraction
from typing import Protocol

import numpy as np

from anyformer.programs.constants import applied
from anyformer.programs.forms import Form, Node
from anyformer.programs.numbers import ONE, UNIT, UP, ZERO, Number, enclosed
from anyformer.programs.steps import Apply, Mean, Minimum, Norm, Product, Step

SQUARE, EXP, RECIPROCAL = Apply("square"), Apply("exp"), Apply("reciprocal")


class Steps(Protocol):
    """What a rewriting needs of a builder."""

    def node(self, step: Step, *args: Form, is_uniform: bool | None = None) -> Form:
        """The step on these forms."""
        ...

    def apply(self, function: str, form: Form, parameter: float | None = None) -> Form:
        """A smooth function of a form."""
        ...

    def absolute(self, form: Form) -> Form:
        """|form|."""
        ...

    def mean(self, form: Form) -> Form:
        """The mean over tokens."""
        ...

    def attend(self, queries: list[Form], keys: list[Form], value: Form) -> Form:
        """A softmax head."""
        ...


def ratio(a: Form, b: Form) -> Number | None:
    """The c with a = c·b in their terms, if there is one: they are multiples of one core, or of one node.

    With a doubt if c was rounded; constants are not looked at.
    """
    if a.terms.keys() != b.terms.keys() or not b.terms:
        return None
    if len(b.terms) == 1:
        (above,), (below,) = a.terms.values(), b.terms.values()
    elif a.core.key() == b.core.key():
        above, below = a.factor, b.factor
    else:
        return None
    if above.key() == below.key():
        return ONE
    if abs(float(below.value)) <= below.most_doubt:
        return None  # it may be 0
    return above if below.key() == ONE.key() else above * applied("reciprocal", below, None)


def proportional(a: Form, b: Form) -> tuple[Number, Form] | None:
    """(c, r) with a = c·b + r, if a is proportional to b as far as rounding lets one see; b is no constant.

    The values of r are 0, its doubts cover what is left. So r also covers a left-over that counts for some inputs only.
    """
    node = next((node for node in b.terms if float(b.terms[node].value)), None)
    if node is None or not a.terms.keys() <= b.terms.keys() or node not in a.terms:
        return None
    slope = Number(float(a.terms[node].value) / float(b.terms[node].value))
    rest = a - b.times(slope)
    parts = [(number, a.terms.get(node, ZERO)) for node, number in rest.terms.items()]
    for number, own in [*parts, (rest.constant, a.constant)]:
        # The slope is rounded once, and a few roundings more are no difference that anybody meant.
        if np.any(np.abs(number.value) > number.doubt + 4 * UNIT * np.abs(own.value)):
            return None
    return slope, Form({node: _left_over(number) for node, number in rest.terms.items()}, _left_over(rest.constant))


def _left_over(number: Number) -> Number:
    bound = (np.abs(number.value) + np.asarray(number.doubt)) * UP
    return Number(np.zeros_like(bound), bound) if bound.ndim else Number(0.0, float(bound))


def settled(form: Form) -> Form:
    """The form with c·min(a, b) + c·max(a, b) written as c·(a + b): what cancels need not be computed first."""
    for node, number in form.terms.items():
        if not isinstance(node.step, Minimum):
            continue
        a, b, top = node.args
        (largest,) = top.terms
        if largest in form.terms and form.terms[largest].key() == number.key() and not number.most_doubt:
            rest = {one: other for one, other in form.terms.items() if one not in (node, largest)}
            return settled(Form(rest, form.constant) + (a + b).times(number))
    return form


def norm(builder: Steps, form: Form) -> Form | None:
    """√(c₁u₁² + c₂u₂² + …) with positive c: √c·|u| for one square, norms of pairs, of pairs of those, … for more."""
    if not form.terms or not form.constant.is_exactly_zero:
        return None
    if not all(node.step == SQUARE and float(number.value) > 0 for node, number in form.terms.items()):
        return None
    parts = [node.args[0].times(_root(number)) for node, number in form.terms.items()]
    if len(parts) == 1:
        return builder.absolute(parts[0])
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [builder.node(Norm(), *pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]


def product(builder: Steps, a: Form, b: Form) -> Form | None:
    """A product that is a square, a softmax or a softmax head in disguise."""
    proportional = _proportional(builder, a, b)
    if proportional is not None:
        return proportional
    for top, bottom in ((a, b), (b, a)):
        found = _softmax(builder, top, bottom)
        if found is None:
            found = _pooled(builder, top, bottom)
        if found is not None:
            return found
    return None


def _proportional(builder: Steps, a: Form, b: Form) -> Form | None:
    """b = c·a + e: one square instead of two."""
    if not a.constant.is_steady or not b.constant.is_steady:
        return None
    slope = ratio(b, a)
    if slope is None:
        return None
    # a·(c·a + e)
    return builder.apply("square", a).times(slope) + a.times(b.constant + -(a.constant * slope))


def _softmax(builder: Steps, top: Form, bottom: Form) -> Form | None:
    """exp(u)/mean(exp(u)) = exp(u − log mean exp u): one step less than a reciprocal and a product.

    What is the same for all tokens cancels, such as a maximum that was subtracted so that nothing overflows.
    """
    parts = _reciprocal_of_mean(bottom)
    first = top.only_node()
    if parts is None or first is None or first[0].step != EXP:
        return None
    mean, factor = parts
    if mean.args[0].key() != Form.node(first[0]).key():
        return None
    exponent = _varying(first[0].args[0])
    mean_of = builder.mean(builder.apply("exp", exponent))
    return builder.apply("exp", exponent - builder.apply("log", mean_of)).times(first[1] * factor)


def _pooled(builder: Steps, top: Form, bottom: Form) -> Form | None:
    """mean(exp(u)·v)/mean(exp(u)) is what a softmax head with keys u and values v returns."""
    parts = _reciprocal_of_mean(bottom)
    first = top.only_node()
    if parts is None or first is None or not isinstance(first[0].step, Mean):
        return None
    mean, factor = parts
    inside, weight = first[0].args[0].only_node(), mean.args[0].only_node()
    if inside is None or weight is None or weight[0].step != EXP or not isinstance(inside[0].step, Product):
        return None
    for one, value in (inside[0].args, inside[0].args[::-1]):
        if one.key() == mean.args[0].key():
            return builder.attend([Form.of(1.0)], [_varying(weight[0].args[0])], value).times(first[1] * factor)
    return None


def _varying(form: Form) -> Form:
    """The form without what is the same for all tokens."""
    terms = {node: number for node, number in form.terms.items() if not node.is_uniform}
    return Form(terms, ZERO if form.constant.is_steady else form.constant)


def _reciprocal_of_mean(form: Form) -> tuple[Node, Number] | None:
    """The mean m and the factor c if the form is c/m."""
    only = form.only_node()
    if only is None or only[0].step != RECIPROCAL:
        return None
    inner = only[0].args[0].only_node()
    if inner is None or not isinstance(inner[0].step, Mean):
        return None
    return inner[0], only[1] * applied("reciprocal", inner[1], None)


def _root(number: Number) -> Number:
    value, doubt = float(number.value), float(number.doubt)
    root = float(np.sqrt(value))
    if doubt == 0 and Fraction(root) ** 2 == Fraction(value):
        return Number(root)
    # A difference and a root are rounded once each.
    low, high = np.sqrt(max(value - doubt, 0.0)), np.sqrt(value + doubt)
    down, up = np.nextafter(np.nextafter(low, 0.0), 0.0), np.nextafter(np.nextafter(high, np.inf), np.inf)
    return enclosed(float(down), float(up))
