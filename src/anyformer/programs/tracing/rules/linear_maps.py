"""Coordinates times a plain matrix: sums of forms, which are no steps."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.programs.forms import Form, Node
from anyformer.programs.numbers import ZERO, Number
from anyformer.programs.tracing.axes import Axis, Kind, sized
from anyformer.programs.tracing.rules.reductions import total
from anyformer.programs.tracing.runs import Run
from anyformer.programs.tracing.traced import Traced, boxed


def is_linear_map(traced: Traced) -> bool:
    """Whether all entries are forms of one token."""
    return traced.rank <= 1 and all(isinstance(entry, Form) for entry in traced.entries.flat)


def linear_map(run: Run, first: tuple[Traced, str], second: tuple[Any, str], output: str) -> Traced:
    """Traced coordinates times a plain array over coordinates: one sum of forms for every entry of the result."""
    traced, labels = first
    own = [label for label, axis in zip(labels, traced.axes, strict=True) if axis.kind is Kind.SIZED]
    matrix = np.asarray(second[0], dtype=np.float64)
    if not np.isfinite(matrix).all():
        raise NotTraceable("constants must be finite; a matrix has an entry that is not.")
    shared = [label for label in own if label in second[1] and label in output]
    gone = [label for label in dict.fromkeys([*own, *second[1]]) if label not in output]
    mine = [label for label in own if label in output and label not in second[1]]
    others = [label for label in second[1] if label in output and label not in own]
    sizes = _sizes(traced, labels, matrix, second[1])
    forms = _spread(traced.entries, own, [*shared, *mine, *gone], sizes)
    numbers = _spread(matrix, list(second[1]), [*shared, *others, *gone], sizes)
    result = np.empty([sizes[label] for label in (*shared, *mine, *others)], dtype=object)
    for index in np.ndindex(result.shape):
        s, m = index[: len(shared)], index[len(shared) : len(shared) + len(mine)]
        o = index[len(shared) + len(mine) :]
        result[index] = combination(np.ravel(numbers[(*s, *o)]), boxed(forms[(*s, *m)]).ravel())
    whole = [label for label in output if label in (*shared, *mine, *others)]
    places = [[*shared, *mine, *others].index(label) for label in whole]
    kinds = dict(zip(labels, traced.axes, strict=True))
    axes = [sized(sizes[label]) if label in whole else kinds[label] for label in output]
    reduced = Traced(run, _all_axes(axes, kinds, output), result.transpose(places))
    rest = [at for at, label in enumerate(kinds) if label not in output and kinds[label].kind is not Kind.SIZED]
    return total(reduced, tuple(range(len(output), len(output) + len(rest)))) if rest else reduced


def _all_axes(axes: Sequence[Axis], kinds: dict[str, Axis], output: str) -> tuple[Axis, ...]:
    """Axes of tokens that are summed over later come last."""
    return (*axes, *(axis for label, axis in kinds.items() if label not in output and axis.kind is not Kind.SIZED))


def _sizes(traced: Traced, labels: str, matrix: Any, others: str) -> dict[str, int]:
    sizes = {label: axis.size for label, axis in zip(labels, traced.axes, strict=True)}
    for label, size in zip(others, matrix.shape, strict=True):
        sizes[label] = max(size, sizes.get(label, 1))
    return sizes


def _spread(array: Any, labels: Sequence[str], order: Sequence[str], sizes: dict[str, int]) -> Any:
    """The array with the axes of this order, broadcast along those that it does not have."""
    kept = [label for label in order if label in labels]
    moved = np.transpose(array, [labels.index(label) for label in kept])
    full = moved.reshape([moved.shape[kept.index(label)] if label in kept else 1 for label in order])
    return np.broadcast_to(full, [sizes[label] for label in order])


def combination(numbers: Any, forms: Any) -> Form:
    """Σ number · form."""
    terms: dict[Node, Number] = {}
    constant = ZERO
    for number, form in zip(numbers.tolist(), forms.tolist(), strict=True):
        if number == 0:
            continue
        factor = Number(number)
        for node, own in form.terms.items():
            part = own * factor
            terms[node] = terms[node] + part if node in terms else part
        if not form.constant.is_exactly_zero:
            constant = constant + form.constant * factor
    return Form(terms, constant)
