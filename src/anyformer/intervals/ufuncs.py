"""Which rule encloses which ufunc, and how a call is read: `np.add(x, y)`, `np.add.reduce(x)` and their like."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from anyformer.intervals import (
    arithmetic,
    conditions,
    contractions,
    elementary,
    orders,
    periodic,
    powers,
    products,
    sums,
)
from anyformer.intervals.conditions import (
    BITWISE,
    COMPARISONS,
    LOGIC,
    as_truth,
    refuse_conditions,
    refuse_other_types,
)
from anyformer.intervals.elementary import INCREASING
from anyformer.intervals.ends import Ends, Held, ends_of, is_condition, is_point, is_truth, truth_of
from anyformer.intervals.errors import refuse_options, unsupported
from anyformer.intervals.functions import number


def _stepping(function: np.ufunc) -> Callable[[Ends], Ends]:
    """A function that is increasing and exact in float64, jumps and all."""
    return lambda a: Ends(function(a.low), function(a.high))


ELEMENTWISE: Final[dict[np.ufunc, Callable[..., Ends]]] = {
    np.add: arithmetic.add,
    np.subtract: arithmetic.subtract,
    np.multiply: arithmetic.multiply,
    np.divide: arithmetic.divide,
    np.reciprocal: arithmetic.reciprocal,
    np.negative: arithmetic.negative,
    np.positive: arithmetic.positive,
    np.conjugate: arithmetic.positive,
    np.absolute: arithmetic.absolute,
    np.fabs: arithmetic.absolute,
    np.square: arithmetic.square,
    np.maximum: arithmetic.maximum,
    np.minimum: arithmetic.minimum,
    np.fmax: arithmetic.maximum,
    np.fmin: arithmetic.minimum,
    np.power: powers.power,
    np.float_power: powers.power,
    np.sqrt: elementary.sqrt,
    np.cosh: elementary.cosh,
    np.arccos: elementary.arccos,
    np.sin: periodic.sin,
    np.cos: periodic.cos,
    np.tan: periodic.tan,
    np.heaviside: conditions.heaviside,
    np.matmul: contractions.matmul,
    **{ufunc: _stepping(ufunc) for ufunc in (np.sign, np.floor, np.ceil, np.rint, np.trunc)},
    **INCREASING,
    **COMPARISONS,
}

REDUCTIONS: Final[dict[np.ufunc, Callable[..., Ends]]] = {
    np.add: sums.total,
    np.multiply: products.product,
    np.maximum: orders.greatest,
    np.minimum: orders.least,
}

ACCUMULATIONS: Final[dict[np.ufunc, Callable[..., Ends]]] = {
    np.add: sums.running_total,
    np.multiply: products.running_product,
    np.maximum: orders.running_maximum,
    np.minimum: orders.running_minimum,
}


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Ends:
    """Enclose what `ufunc.method(*inputs, **options)` returns for members of the inputs."""
    name = ufunc_name(ufunc, method)
    if method == "__call__":
        rule, operands = _rule(ufunc, inputs, name)
        refuse_options(name, options)
        return _of_arrays(rule(*operands))
    if method == "outer" and len(inputs) == 2:
        refuse_conditions(name, inputs)
        first, second = (ends_of(operand) for operand in inputs)
        return call_ufunc(ufunc, "__call__", (_with_axes(first, second.low.ndim), second), options)
    return _of_arrays(_along_axis(ufunc, method, inputs, options, name))


def _of_arrays(result: Ends) -> Ends:
    """Ends that are arrays, or numbers where there are no axes."""
    ends: Ends = number(Ends(np.asarray(result.low), np.asarray(result.high)))
    return ends


def ufunc_name(ufunc: np.ufunc, method: str = "__call__") -> str:
    """How the user wrote it."""
    name = f"np.{ufunc.__name__}" if getattr(np, ufunc.__name__, None) is ufunc else ufunc.__name__
    return name if method == "__call__" else f"{name}.{method}"


def _rule(ufunc: np.ufunc, inputs: tuple[Any, ...], name: str) -> tuple[Callable[..., Ends], list[Ends]]:
    if ufunc in LOGIC:
        return LOGIC[ufunc], [as_truth(operand) for operand in inputs]
    if all(map(is_truth, inputs)) and ufunc in BITWISE:
        return BITWISE[ufunc], [truth_of(operand) for operand in inputs]
    if ufunc not in ELEMENTWISE:
        raise unsupported(name)
    if ufunc not in COMPARISONS:
        _refuse_types(ufunc, inputs, name)
    return ELEMENTWISE[ufunc], [ends_of(operand) for operand in inputs]


def _refuse_types(ufunc: np.ufunc, inputs: tuple[Any, ...], name: str) -> None:
    """Raise for what NumPy would compute in another type than float64. Beside an interval array it never does."""
    if ufunc is np.matmul or len(inputs) == 1:
        refuse_conditions(name, inputs)
    if not any(_is_array_of_numbers(operand) for operand in inputs):
        # A quotient of integers is of float64.
        refuse_other_types(name, [*inputs, 1.0] if ufunc is np.divide else inputs)


def _is_array_of_numbers(operand: Any) -> bool:
    if isinstance(operand, Held):
        return not operand._is_number and not is_condition(operand)
    return isinstance(operand, Ends)


def _along_axis(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any], name: str) -> Ends:
    tables = {"reduce": REDUCTIONS, "accumulate": ACCUMULATIONS}
    if method not in tables or len(inputs) != 1 or ufunc not in tables[method]:
        raise unsupported(name)
    refuse_conditions(name, inputs)
    axis = options.pop("axis", 0)
    kept = {"keepdims": options.pop("keepdims", False)} if method == "reduce" else {}
    refuse_options(name, options)
    return tables[method][ufunc](ends_of(inputs[0]), axis=axis, **kept)


def _with_axes(a: Ends, more: int) -> Ends:
    shape = a.low.shape + (1,) * more
    if is_point(a):
        return ends_of(a.low.reshape(shape))
    return Ends(a.low.reshape(shape), a.high.reshape(shape))
