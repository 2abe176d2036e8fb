"""How a call of a ufunc is read: `np.add(x, y)`, `np.add.reduce(x)` and their like. The table is `supported`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyformer.intervals.conditions import (
    BITWISE,
    COMPARISONS,
    LOGIC,
    as_truth,
    refuse_conditions,
    refuse_other_types,
)
from anyformer.intervals.ends import Ends, Held, ends_of, is_condition, is_point, is_truth, truth_of
from anyformer.intervals.errors import refuse_options, unsupported
from anyformer.intervals.rules.arguments import number
from anyformer.intervals.rules.elementwise.special import scipy_special
from anyformer.intervals.supported import ACCUMULATIONS, ELEMENTWISE, REDUCTIONS, SPECIAL


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
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


def _of_arrays(result: Any) -> Any:
    """Ends that are arrays, or numbers where there are no axes; both results of a ufunc that has two."""
    if isinstance(result, tuple):
        return tuple(map(_of_arrays, result))
    return number(Ends(np.asarray(result.low), np.asarray(result.high)))


def ufunc_name(ufunc: np.ufunc, method: str = "__call__") -> str:
    """How the user wrote it."""
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc:
        name = f"np.{name}"
    elif scipy_special(name) is ufunc:
        name = f"scipy.special.{name}"
    return name if method == "__call__" else f"{name}.{method}"


def _rule(ufunc: np.ufunc, inputs: tuple[Any, ...], name: str) -> tuple[Callable[..., Any], list[Ends]]:
    if ufunc in LOGIC:
        return LOGIC[ufunc], [as_truth(operand) for operand in inputs]
    if all(map(is_truth, inputs)) and ufunc in BITWISE:
        return BITWISE[ufunc], [truth_of(operand) for operand in inputs]
    rule = _elementwise(ufunc)
    if rule is None:
        raise unsupported(name)
    if ufunc not in COMPARISONS:
        _refuse_types(ufunc, inputs, name)
    return rule, [ends_of(operand) for operand in inputs]


def _elementwise(ufunc: np.ufunc) -> Callable[..., Any] | None:
    if ufunc in ELEMENTWISE:
        return ELEMENTWISE[ufunc]
    name = ufunc.__name__
    return SPECIAL.get(name) if scipy_special(name) is ufunc else None


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
