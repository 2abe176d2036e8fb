"""Which nodes are functions of one affine form alone, their *root*: such a node is one polyline, however long its
formula.

GELU, x·Φ(x), is a function of x: its product, erf and scaling are one curve, and need one group of hidden units.
"""

from collections.abc import Callable, Iterable

from anyformer.programs.forms import Form, Node
from anyformer.programs.jets import Jet
from anyformer.programs.numbers import ONE, ZERO, Number
from anyformer.programs.rewriting import ratio
from anyformer.programs.steps import Absolute, Apply, Choice, Maximum, Minimum, Product, Relu

SMOOTH = (Apply,)
JOINING = (Product, Choice, Absolute, Relu, Maximum, Minimum)


class Roots:
    """Finds roots, and jets of nodes as functions of their roots; remembers what it found."""

    def __init__(self) -> None:
        self._of: dict[Node, Form | None] = {}

    def of(self, node: Node) -> Form | None:
        """The root of a node: a form without constant, or None if the node is no curve."""
        if node not in self._of:
            self._of[node] = self._find(node)
        return self._of[node]

    def _find(self, node: Node) -> Form | None:
        if not isinstance(node.step, (*SMOOTH, *JOINING)):
            return None
        if not all(form.constant.is_steady for form in node.args):
            return self._plain_root(node)
        shared = self.shared(node.args)
        return shared if shared is not None else self._plain_root(node)

    def _plain_root(self, node: Node) -> Form | None:
        """The terms of the argument of an elementary function; a constant of the place stays in its root."""
        if not isinstance(node.step, SMOOTH):
            return None
        return normal(node.args[0])

    def shared(self, forms: Iterable[Form]) -> Form | None:
        """The root of which all these forms are functions, if one of them has a curve in it."""
        forms = list(forms)
        inner = [self.of(node) for form in forms for node in form.terms]
        found = next((root for root in inner if root is not None), None)
        if found is None or not found.constant.is_exactly_zero:
            return None
        for form in forms:
            if not form.constant.is_steady or self._line(form, found) is None:
                return None
            if any(root is not None and root.key() != found.key() for root in map(self.of, form.terms)):
                return None
        return found

    def _line(self, form: Form, root: Form) -> Number | None:
        """The c with which the root enters the form beside its curves."""
        terms = {node: number for node, number in form.terms.items() if self.of(node) is None}
        straight = form if len(terms) == len(form.terms) else Form(terms)
        return ZERO if straight.is_constant else ratio(straight, root)

    def curve(self, node: Node) -> Callable[[Jet], Jet]:
        """The node as a function of its root."""
        root = self.of(node)
        assert root is not None
        return lambda u: self._jet(node, root, u)

    def form_curve(self, form: Form, root: Form) -> Callable[[Jet], Jet]:
        """A form whose nodes share a root, as a function of it."""
        return lambda u: self._form_jet(form, root, u)

    def _jet(self, node: Node, root: Form, u: Jet) -> Jet:
        args = [self._form_jet(form, root, u) for form in node.args]
        match node.step:
            case Apply(function, parameter):
                return args[0].apply(function, parameter)
            case Product():
                return args[0] * args[1]
            case Choice():
                return args[0].chosen(args[1], args[2])
            case Absolute():
                return args[0].absolute()
            case Relu():
                return args[0].relu()
            case Maximum():
                return args[1] + (args[0] - args[1]).relu()
            case Minimum():
                return args[0] - (args[0] - args[1]).relu()
        raise AssertionError(f"{node} is no curve")

    def _form_jet(self, form: Form, root: Form, u: Jet) -> Jet:
        if root.key() == form.key():
            return u
        if (slope := _multiple(form, root)) is not None:
            return u.times(slope[0]).plus(slope[1])
        slope_in = self._line(form, root)
        assert slope_in is not None
        total = u.times(slope_in).plus(form.constant)
        for node, number in form.terms.items():
            if self.of(node) is not None:
                total = total + self._jet(node, root, u).times(number)
        return total


def _multiple(form: Form, root: Form) -> tuple[Number, Number] | None:
    """(c, e) with form = c·root + e, if it is so; a root with a constant of the place enters as a whole."""
    if form.is_constant:
        return ZERO, form.constant
    slope = ratio(form, root)
    if slope is None:
        return None
    offset = form.constant + -(root.constant * slope)
    return (slope, offset) if Number(offset.value, offset.doubt).is_steady else None


def normal(form: Form) -> Form:
    """The direction of a form: its core, or its one node.

    A constant of the place stays: it cannot be moved into the curve, which is the same for all tokens.
    """
    if not form.constant.is_steady:
        return form
    return Form(dict.fromkeys(form.terms, ONE)) if len(form.terms) == 1 else form.core
