"""The form of what a NumPy function returns, from the forms of its arguments. The table is `table`.

The values on the box are known when this is called: intervals follow them with or without slopes. What is done here
changes nothing about them, and cannot fail: where slopes are not known there is no form.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from anyformer.errors import NoSlopes
from anyformer.intervals.conditions import as_truth
from anyformer.intervals.ends import Ends, Held, is_point, is_truth
from anyformer.intervals.errors import IntervalError
from anyformer.intervals.rules.arguments import signature
from anyformer.intervals.rules.elementwise.special import scipy_special
from anyformer.intervals.rules.linear_algebra.contractions import matmul
from anyformer.intervals.runs import current, running
from anyformer.intervals.slopes import movement, table
from anyformer.intervals.slopes.forms import Form, Slopes, added, dense, each, form_of, moved_ends
from anyformer.intervals.supported import RULES
from anyformer.intervals.ufuncs import call_ufunc

Known = dict[int, Form]


def inputs_followed() -> int:
    """How many inputs the current run follows slopes for; 0 if none."""
    run = current()
    return 0 if run is None else run.inputs


def form_of_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any], result: Any) -> Any:
    """The form of `ufunc.method(*inputs, **options)`, if it is known."""
    if not isinstance(result, Ends) or is_truth(result):
        return None

    def find(count: int) -> Form:
        rule = _ufunc_rule(ufunc, method)
        operands = [form_of(operand, count) for operand in inputs]
        with running(None):
            if method == "outer":
                operands[0] = _with_axes(operands[0], np.ndim(operands[1].box.low))
            y = _value(result, operands, lambda *parts: call_ufunc(ufunc, _plain(method), parts, dict(options)))
            return _completed(y, rule(y, *operands, **_axis(method, options)))

    return _if_known(find)


def _ufunc_rule(ufunc: np.ufunc, method: str) -> Callable[..., Slopes]:
    if ufunc is np.matmul and method == "__call__":
        return lambda y, u, v: _bilinear(matmul, u, v)
    tables = {"reduce": table.REDUCTIONS, "accumulate": table.ACCUMULATIONS}
    rule = tables.get(method, table.ELEMENTWISE).get(ufunc)
    if rule is None and scipy_special(ufunc.__name__) is ufunc:
        rule = table.SPECIAL.get(ufunc.__name__)
    if rule is None:
        raise NoSlopes
    return rule


def _plain(method: str) -> str:
    return "__call__" if method == "outer" else method


def _axis(method: str, options: dict[str, Any]) -> dict[str, Any]:
    if method not in ("reduce", "accumulate"):
        return {}
    kept = {"keepdims": options.get("keepdims", False)} if method == "reduce" else {}
    return {"axis": options.get("axis", 0), **kept}


def _with_axes(form: Form, more: int) -> Form:
    return form.each(lambda part: moved_ends(lambda end: end.reshape(end.shape + (1,) * more), part))


def form_of_function(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """The form of `function(*args, **kwargs)`, if it is known; a list of forms for a list of results."""

    def find(count: int) -> Any:
        if isinstance(result, Ends) and is_truth(result):
            return None
        if function in table.CHOICES:
            return _chosen(function, args, kwargs, count)
        known = {id(array): form_of(array, count) for array in movement.held_in((args, kwargs))}
        if function in table.MOVES:
            return _moved(function, args, kwargs, known, count, result)
        if not isinstance(result, Ends):
            return None
        if function in table.FILLED:
            return _filled(result, known, count)
        if function in table.BILINEAR:
            return _product(function, args, kwargs, known, count, result)
        return _of_array(function, args, kwargs, known, count, result)

    return _if_known(find)


def _filled(result: Ends, known: Known, count: int) -> Form:
    """An array of one number that no input moves; about np.empty_like nothing is known until it is written to."""
    if not all(form.is_constant for form in list(known.values())[1:]):
        raise NoSlopes
    return Form(result, result, (None,) * count)


def _if_known(find: Callable[[int], Any]) -> Any:
    try:
        # What a slope cannot be known from need not be an error: the values are followed without it.
        with np.errstate(all="ignore"):
            return find(inputs_followed())
    except (NoSlopes, IntervalError, ValueError, TypeError, IndexError):
        return None


def _of_array(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], known: Known, count: int, result: Ends
) -> Form:
    """A function of one array with options."""
    if function not in table.OF_ARRAYS:
        raise NoSlopes
    given = dict(signature(function).bind(*args, **kwargs).arguments)
    first = given.pop(next(iter(given)))
    a = known[id(first)] if isinstance(first, Held) else form_of(first, count)
    options = {name: given[name] for name in RULES[function].takes if name in given}
    bounds = {name: _bound(value, known, count) for name, value in options.items()} if function is np.clip else options
    if function is not np.clip and movement.held_in(options):
        raise NoSlopes
    with running(None):
        centres = {name: value.centre if isinstance(value, Form) else value for name, value in bounds.items()}
        y = _value(result, [a, *_forms(bounds)], lambda part, *_: RULES[function].enclose(part, **centres))
        return _completed(y, table.OF_ARRAYS[function](y, a, **bounds))


def _bound(value: Any, known: Known, count: int) -> Form | None:
    if value is None:
        return None
    return known[id(value)] if isinstance(value, Held) else form_of(value, count)


def _forms(options: dict[str, Any]) -> list[Form]:
    return [value for value in options.values() if isinstance(value, Form)]


def _chosen(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], count: int) -> Form:
    """np.where and np.select."""
    if kwargs or not 2 <= len(args) <= 3:
        raise NoSlopes
    if function is np.where:
        conditions, choices, default = [args[0]], [args[1]], args[2]
    else:
        conditions, choices, default = list(args[0]), list(args[1]), args[2] if len(args) == 3 else 0
    truths = [as_truth(condition) for condition in conditions]
    branches = [form_of(choice, count) for choice in choices]
    last = form_of(default, count)
    with running(None):
        return _completed(form := table.selected(truths, branches, last), form.slopes)


def _product(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], known: Known, count: int, result: Ends
) -> Form:
    before = args[:1] if function is np.einsum else ()
    operands = [known[id(x)] if isinstance(x, Held) else form_of(x, count) for x in args[len(before) :][:2]]
    after = args[len(before) + 2 :]
    if movement.held_in(kwargs) or movement.held_in(after):
        raise NoSlopes

    def product(*parts: Ends) -> Ends:
        multiplied = table.BILINEAR[function](*before, *parts, *after, **kwargs)
        return Ends(np.asarray(multiplied.low), np.asarray(multiplied.high))

    with running(None):
        y = _value(result, operands, product)
        if len(operands) == 1:
            return _completed(y, each(product, operands[0].slopes))
        return _completed(y, _bilinear(product, *operands))


def _bilinear(product: Callable[[Ends, Ends], Ends], u: Form, v: Form) -> Slopes:
    """B(u, v) − B(u₀, v₀) = B(u − u₀, (v + v₀)/2) + B((u + u₀)/2, v − v₀)."""
    first = each(lambda slope: product(slope, v.centre if v.is_constant else v.mean), u.slopes)
    second = each(lambda slope: product(u.centre if u.is_constant else u.mean, slope), v.slopes)
    return added(first, second)


def _moved(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], known: Known, count: int, result: Any) -> Any:
    joins = function in table.JOINS
    if joins and set(kwargs) - {"axis"}:
        raise NoSlopes
    slope_args, slope_kwargs = args, kwargs
    if joins:
        arrays = 2 if function is np.append else 1
        slope_args = (*(movement.without_constants(part) for part in args[:arrays]), *args[arrays:])
    elif function is np.pad:
        slope_args, slope_kwargs = movement.padded(args, kwargs)
    with running(None):
        centres = movement.moved(function, args, kwargs, lambda array: known[id(array)].centre)
        slopes = [
            None
            if all(form.slopes[k] is None for form in known.values())
            else movement.moved(function, slope_args, slope_kwargs, partial(_slope, known, k))
            for k in range(count)
        ]
    if not isinstance(result, Ends):
        return [
            Form(part, centres[at], tuple(None if s is None else s[at] for s in slopes))
            if isinstance(part, Ends)
            else None
            for at, part in enumerate(result)
        ]
    return Form(result, centres, tuple(slopes))


def _slope(known: Known, k: int, array: Held) -> Ends:
    form = known[id(array)]
    return dense(form.slopes[k], form.box)


def _value(result: Ends, operands: list[Form], call: Callable[..., Ends]) -> Form:
    """The value on the box and at the centre, without slopes yet."""
    box = Ends(np.asarray(result.low), np.asarray(result.high))
    if all(is_point(form.box) for form in operands):
        return Form(box, box, ())
    centre = call(*(form.centre for form in operands))
    return Form(box, Ends(np.asarray(centre.low), np.asarray(centre.high)), ())


def _completed(y: Form, slopes: Slopes) -> Form:
    """The form with slopes of the value's shape."""
    shape = np.shape(y.box.low)

    def spread(part: Ends) -> Ends:
        return part if np.shape(part.low) == shape else moved_ends(lambda end: np.broadcast_to(end, shape), part)

    return Form(y.box, y.centre, each(spread, slopes))
