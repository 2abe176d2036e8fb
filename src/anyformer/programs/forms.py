"""Affine forms over nodes. Affine steps cost nothing in a Transformer: they live in the weights that read them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from anyformer.programs.numbers import ONE, ZERO, Number, Real, steady
from anyformer.programs.steps import Step


class Node:
    """One step that is not affine, with the forms it is applied to. Compared by identity: a program has it once.

    number: its place in the program; arguments come before it.
    is_uniform: whether it is the same for all tokens of a sequence.
    """

    __slots__ = ("args", "is_uniform", "number", "step")

    def __init__(self, number: int, step: Step, args: "tuple[Form, ...]", is_uniform: bool) -> None:
        self.number, self.step, self.args, self.is_uniform = number, step, args, is_uniform

    def __repr__(self) -> str:
        return f"{type(self.step).__name__.lower()}{self.number}"


class Form:
    """Σ coefficient · node + constant; the constant may differ from token to token. Not changed once made.

    A multiple of a form remembers of which, its *core*, and the factor: rounded coefficients would not show it.
    """

    __slots__ = ("_core", "_key", "constant", "factor", "terms")

    def __init__(
        self,
        terms: Mapping[Node, Number] | None = None,
        constant: Number = ZERO,
        core: "Form | None" = None,
        factor: Number = ONE,
    ) -> None:
        self.terms = {node: number for node, number in (terms or {}).items() if not number.is_exactly_zero}
        self.constant = steady(constant)
        self._core, self.factor = (core, factor) if self.terms else (None, ONE)
        self._key: Any = None

    @property
    def core(self) -> "Form":
        """The terms are `factor` times those of the core, which has no constant."""
        return self.without_constant if self._core is None else self._core

    @classmethod
    def of(cls, constant: Real) -> "Form":
        """A constant, one for all tokens or one each."""
        return cls(constant=Number(constant if np.ndim(constant) else float(constant)))

    @classmethod
    def node(cls, node: Node) -> "Form":
        """A node by itself."""
        return cls({node: ONE})

    def __add__(self, other: "Form") -> "Form":
        for form, added in ((self, other), (other, self)):
            if not added.terms:
                return Form(form.terms, form.constant + added.constant, form._core, form.factor)
        terms = dict(self.terms)
        for node, number in other.terms.items():
            terms[node] = terms[node] + number if node in terms else number
        constant = self.constant + other.constant
        if self._has_core_of(other):
            return Form(terms, constant, self.core, self.factor + other.factor)
        return Form(terms, constant)

    def _has_core_of(self, other: "Form") -> bool:
        """Whether both are multiples of one core whose coefficients are exact: then c·core + d·core = (c + d)·core."""
        if self.terms.keys() != other.terms.keys() or (self._core is None and other._core is None):
            return False
        core = self.core
        return core.key() == other.core.key() and not any(number.most_doubt for number in core.terms.values())

    def __sub__(self, other: "Form") -> "Form":
        return self + -other

    def __neg__(self) -> "Form":
        return self.times(Number(-1.0))

    def times(self, factor: Number) -> "Form":
        """Multiplied by one number for all tokens."""
        assert factor.is_steady
        if factor.key() == ONE.key():
            return self
        terms = {node: number * factor for node, number in self.terms.items()}
        return Form(terms, self.constant * factor, self.core, self.factor * factor)

    def scaled(self, factor: float) -> "Form":
        """Multiplied by an exact number."""
        return self.times(Number(float(factor)))

    @property
    def is_constant(self) -> bool:
        """Whether it depends on no input; it may still depend on the token's place."""
        return not self.terms

    @property
    def is_fixed(self) -> bool:
        """Whether it is one constant for all inputs and all tokens."""
        return not self.terms and self.constant.is_steady

    @property
    def is_uniform(self) -> bool:
        """Whether it is the same for all tokens of a sequence."""
        return self.constant.is_steady and all(node.is_uniform for node in self.terms)

    @property
    def without_constant(self) -> "Form":
        """The terms alone."""
        return Form(self.terms, ZERO, self._core, self.factor)

    def renamed(self, nodes: Mapping[Node, Node]) -> "Form":
        """The same form over other nodes."""
        core = None if self._core is None else self._core.renamed(nodes)
        return Form({nodes[node]: number for node, number in self.terms.items()}, self.constant, core, self.factor)

    @property
    def constant_value(self) -> Number:
        """The float64 constant, without its doubt."""
        return Number(self.constant.value)

    def only_node(self) -> "tuple[Node, Number] | None":
        """Its node and coefficient if it is one node times a number, with nothing added."""
        if len(self.terms) != 1 or not self.constant.is_exactly_zero:
            return None
        return next(iter(self.terms.items()))

    def key(self) -> tuple[Any, ...]:
        """Equal for equal forms."""
        if self._key is None:
            terms = sorted((node.number, *number.key()) for node, number in self.terms.items())
            self._key = (tuple(terms), self.constant.key())
        key: tuple[Any, ...] = self._key
        return key

    def __repr__(self) -> str:
        parts = [f"{number.value:g}·{node}" for node, number in self.terms.items()]
        if not self.constant.is_exactly_zero or not parts:
            parts.append(f"{self.constant.value:g}" if self.constant.is_steady else "c(token)")
        return " + ".join(parts)
