"""Building a program step by step. The same step on the same forms is one node; what is affine becomes no node."""

from typing import Any

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.errors import NotTraceable
from anyformer.programs import rewriting
from anyformer.programs.constants import applied
from anyformer.programs.forms import Form, Node
from anyformer.programs.numbers import Number
from anyformer.programs.program import Program
from anyformer.programs.steps import (
    Absolute,
    Apply,
    Attend,
    Choice,
    Gate,
    Input,
    Maximum,
    Mean,
    Minimum,
    Mix,
    Product,
    Relu,
    Step,
    Table,
    TokenMaximum,
)


class Builder:
    """Nodes in the making, for functions on `tokens` tokens of `width` numbers."""

    def __init__(self, tokens: int, width: int) -> None:
        self.tokens, self.width = tokens, width
        self.nodes: list[Node] = []
        self._known: dict[Any, Node] = {}

    def program(self, low: Array, high: Array, outputs: list[Form]) -> Program:
        """The finished program on a box."""
        return Program(self.tokens, self.width, low, high, tuple(self.nodes), tuple(map(rewriting.settled, outputs)))

    def node(self, step: Step, *args: Form, is_uniform: bool | None = None) -> Form:
        """The step on these forms, as a form."""
        args = tuple(rewriting.settled(form) for form in args)
        key = (step, tuple(form.key() for form in args))
        if key not in self._known:
            uniform = all(form.is_uniform for form in args) if is_uniform is None else is_uniform
            made = Node(len(self.nodes), step, args, uniform)
            self.nodes.append(made)
            self._known[key] = made
        return Form.node(self._known[key])

    def input(self, coordinate: int) -> Form:
        """A coordinate of the token."""
        return self.node(Input(coordinate), is_uniform=False)

    # Functions of one argument

    def apply(self, function: str, form: Form, parameter: float | None = None) -> Form:
        """A smooth function of one form, by its name in `functions`; of constants at once."""
        if form.is_constant:
            return Form(constant=applied(function, form.constant, parameter))
        if function == "sqrt" and (norm := rewriting.norm(self, form)) is not None:
            return norm
        if function == "reciprocal" and (inner := form.only_node()) is not None:
            node, factor = inner
            # 1/(c·(1/u)) = u/c
            if node.step == Apply("reciprocal"):
                return node.args[0].times(applied("reciprocal", factor, None))
        return self.node(Apply(function, parameter), form)

    def absolute(self, form: Form) -> Form:
        """|form|."""
        if form.is_constant:
            return Form(constant=Number(np.abs(form.constant.value), form.constant.doubt))
        return self.node(Absolute(), form)

    def relu(self, form: Form) -> Form:
        """max(form, 0)."""
        if form.is_constant:
            return Form(constant=Number(np.maximum(form.constant.value, 0.0), form.constant.doubt))
        return self.node(Relu(), form)

    # Functions of two

    def product(self, a: Form, b: Form) -> Form:
        """a·b; by a constant it is no node, by a constant of the place a gate."""
        for form, other in ((a, b), (b, a)):
            if form.is_constant:
                return self.gate(form.constant, other)
        if a.key() == b.key():
            return self.apply("square", a)
        rewritten = rewriting.product(self, a, b)
        if rewritten is not None:
            return rewritten
        first, second = sorted((a, b), key=lambda form: form.key())
        return self.node(Product(), first, second)

    def divide(self, a: Form, b: Form) -> Form:
        """a/b."""
        return self.product(a, self.apply("reciprocal", b))

    def maximum(self, a: Form, b: Form) -> Form:
        """The larger of two."""
        apart = a - b
        if apart.is_constant:
            return b + self.relu(apart)
        for form, other in ((a, b), (b, a)):
            if form.is_constant:
                return self.relu(other - form) + form
        first, second = sorted((a, b), key=lambda form: form.key())
        return self.node(Maximum(), first, second)

    def minimum(self, a: Form, b: Form) -> Form:
        """The smaller of two: a + b − max(a, b), but a node of its own, for its error is not the sum of theirs."""
        top = self.maximum(a, b)
        only = top.only_node()
        # The maximum of a and a is a, which may be a maximum of others itself.
        if only is None or {form.key() for form in only[0].args} != {a.key(), b.key()}:
            return a + b - top
        first, second = only[0].args
        return self.node(Minimum(), first, second, top)

    def choice(self, condition: Form, yes: Form, no: Form) -> Form:
        """`yes` where the condition is positive, else `no`; refused unless it is continuous as far as forms tell."""
        apart = yes - no
        if condition.is_constant:
            return self._chosen_by_place(condition.constant, yes, no)
        if (found := rewriting.proportional(apart, condition)) is not None:
            slope, rounding = found
            return no + self.relu(condition).times(slope) + rounding
        return self.node(Choice(), condition, yes, no)

    def _chosen_by_place(self, condition: Number, yes: Form, no: Form) -> Form:
        holds = np.asarray(condition.value) > 0
        if (np.abs(condition.value) <= condition.doubt).any() and np.any(condition.doubt):
            raise NotTraceable("a condition on constants must be decided; this one is within rounding of 0")
        return no + self.gate(Number(np.where(holds, 1.0, 0.0)), yes - no)

    # Steps over tokens

    def mean(self, form: Form) -> Form:
        """The mean over tokens; affine, so term by term."""
        total = Form(constant=_mean_number(form.constant, self.tokens))
        for node, number in form.terms.items():
            inner = Form.node(node)
            total = total + (inner if node.is_uniform else self.node(Mean(), inner, is_uniform=True)).times(number)
        return total

    def gate(self, factors: Number, form: Form) -> Form:
        """The form times a number that may depend on the token's place."""
        factors = Form(constant=factors).constant
        if factors.is_steady:
            return form.times(factors)
        only = form.only_node()
        if only is not None and isinstance(only[0].step, Gate):
            inner = Number(only[0].step.factors.values, only[0].step.factors.doubts)
            return self.gate(factors * inner * only[1], only[0].args[0])
        total = Form(constant=form.constant * factors)
        rest = form.without_constant
        if rest.is_constant:
            return total
        table = Table(np.asarray(factors.value), factors.doubt)
        return total + self.node(Gate(table), rest, is_uniform=False)

    def mix(self, matrix: Array, form: Form) -> Form:
        """Σ_k matrix[j, k]·form_k. The shares of a head add up to 1; the sums of the rows are a gate after it."""
        matrix = np.asarray(matrix, dtype=np.float64)
        total = Form(constant=_mixed_number(matrix, form.constant))
        rest = form.without_constant
        if rest.is_constant:
            return total
        if rest.is_uniform:
            return total + self.gate(_row_sums(matrix), rest)
        if (same := _same_off_diagonal(matrix)) is not None:
            own = self.gate(Number(matrix.diagonal().copy()) + Number(-same), rest)
            return total + own + self.mean(rest).times(Number(same) * Number(float(self.tokens)))
        for sign in (1.0, -1.0):
            part = np.maximum(sign * matrix, 0.0)
            sums = _row_sums(part)
            if np.any(sums.value):
                scale = Number(sign * np.asarray(sums.value), sums.doubt)
                total = total + self.gate(scale, self._head(part, np.asarray(sums.value), rest))
        return total

    def _head(self, part: Array, sums: Array, form: Form) -> Form:
        """The mixing with the shares of the rows; rows without entries take the mean, and are multiplied by 0 later."""
        some = sums > 0
        shares = np.full_like(part, 1 / self.tokens)
        shares[some] = part[some] / sums[some, None]
        if (part == part[:, :1]).all():
            return self.mean(form)
        # Each share is a quotient of numbers that are known up to the rounding of their sum; the only entry of a row is
        # the whole of it.
        is_exact = (part == 0) & some[:, None] | (np.count_nonzero(part, axis=1) == 1)[:, None]
        doubts = np.where(is_exact, 0.0, shares * (self.tokens + 2) * 2.0**-52 + 2.0**-1074)
        alike = bool((shares == shares[0]).all())
        return self.node(Mix(Table(shares, doubts)), form, is_uniform=alike)

    def largest(self, form: Form) -> Form:
        """The maximum over tokens."""
        return form if form.is_uniform else self.node(TokenMaximum(), form, is_uniform=True)

    def smallest(self, form: Form) -> Form:
        """The minimum over tokens."""
        return -self.largest(-form)

    def attend(self, queries: list[Form], keys: list[Form], value: Form, offsets: Number | None = None) -> Form:
        """Softmax attention with scores Σ_i query_i·key_i + offsets; what is the same for all keys does not matter."""
        pairs = [(q, k) for q, k in zip(queries, keys, strict=True) if not k.is_uniform and not _is_zero(q)]
        table = None if offsets is None or offsets.is_exactly_zero else _table(offsets)
        if value.is_uniform:
            return value
        if not pairs and table is None:
            return self.mean(value)
        # Weights add up to 1: constants of the value pass unchanged, and are left out where they do not depend on the
        # place of the key.
        alike = (table is None or table.has_equal_rows) and all(q.is_uniform for q, _ in pairs)
        args = [*(q for q, _ in pairs), *(k for _, k in pairs), value]
        return self.node(Attend(len(pairs), table), *args, is_uniform=alike)

    def shift(self, form: Form, source: Integers) -> Form:
        """Every token j copies token source[j]."""
        return self.mix(np.eye(self.tokens)[np.asarray(source)], form)

    def running_maximum(self, form: Form) -> Form:
        """max_{k ≤ j}: with what lies 1, 2, 4, … tokens before; every token of the prefix is met, none beyond it."""
        reach = 1
        while reach < self.tokens:
            form = self.maximum(form, self.shift(form, np.maximum(np.arange(self.tokens) - reach, 0)))
            reach *= 2
        return form


def _mean_number(number: Number, tokens: int) -> Number:
    return number if number.is_steady else _mixed_number(np.full((1, tokens), 1 / tokens), number, steady=True)


def _mixed_number(matrix: Array, number: Number, steady: bool = False) -> Number:
    """matrix @ number, with n roundings a row."""
    tokens = matrix.shape[1]
    values = np.broadcast_to(np.asarray(number.value), (tokens,))
    doubts = np.broadcast_to(np.asarray(number.doubt), (tokens,))
    if not values.any() and not doubts.any():
        return Number(0.0)
    sizes = np.abs(matrix) @ (np.abs(values) + doubts)
    mixed, doubt = matrix @ values, np.abs(matrix) @ doubts + (tokens + 4) * 2.0**-52 * sizes
    return Number(float(mixed[0]), float(doubt[0])) if steady else Number(mixed, doubt)


def _same_off_diagonal(matrix: Array) -> float | None:
    """The number that all entries off the diagonal are: such a mixing is a factor and a mean."""
    off = matrix[~np.eye(len(matrix), dtype=bool)]
    return float(off[0]) if len(off) and (off == off[0]).all() else None


def _row_sums(matrix: Array) -> Number:
    sums = matrix.sum(axis=1)
    is_exact = (matrix == np.round(matrix)).all(axis=1) & (np.abs(matrix).sum(axis=1) < 2.0**53)
    return Number(sums, np.where(is_exact, 0.0, matrix.shape[1] * 2.0**-52 * np.abs(matrix).sum(axis=1)))


def _table(number: Number) -> Table:
    return Table(np.asarray(number.value), number.doubt)


def _is_zero(form: Form) -> bool:
    return form.is_constant and form.constant.is_exactly_zero
