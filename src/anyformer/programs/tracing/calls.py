"""How a call of a NumPy function is read when an argument is traced. The table is `supported`."""

import inspect
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.intervals.rules.arguments import function_name
from anyformer.intervals.rules.elementwise.special import scipy_special
from anyformer.intervals.ufuncs import ufunc_name
from anyformer.programs.tracing.rules import conditions, contractions
from anyformer.programs.tracing.rules.conditions import is_condition
from anyformer.programs.tracing.rules.elementwise import ARITHMETIC, SINGLE, SPECIAL, apply_each, arithmetic
from anyformer.programs.tracing.rules.refusals import (
    REFUSED_FUNCTIONS,
    REFUSED_SPECIAL,
    REFUSED_UFUNCS,
    sentence,
    unknown,
)
from anyformer.programs.tracing.rules.supported import ACCUMULATIONS, FUNCTIONS, REDUCTIONS
from anyformer.programs.tracing.runs import Run
from anyformer.programs.tracing.traced import Traced

# Keywords that make no difference to the result, and the values that are the usual ones anyway.
_IGNORED: Final = ("kind", "stable", "subok", "optimize", "casting", "order")


_USUAL: Final = (None, np._NoValue)


def call_ufunc(run: Run, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Trace `ufunc.method(*inputs, **options)`."""
    name = ufunc_name(ufunc, method)
    options = _options(name, options)
    if method == "__call__":
        if options:
            raise _refused_options(name, options)
        return _elementwise(run, ufunc, name, inputs)
    if method == "reduce" and ufunc in REDUCTIONS:
        return REDUCTIONS[ufunc](*_numbers(name, inputs), **{"axis": 0, **options})
    if method == "accumulate" and ufunc in ACCUMULATIONS:
        return ACCUMULATIONS[ufunc](*_numbers(name, inputs), **{"axis": 0, **options})
    raise NotTraceable(unknown(name))


def _elementwise(run: Run, ufunc: np.ufunc, name: str, inputs: tuple[Any, ...]) -> Any:
    if ufunc in conditions.LOGIC:
        return conditions.combined(run, ufunc, *inputs)
    if ufunc in REFUSED_UFUNCS:
        raise NotTraceable(sentence(name, REFUSED_UFUNCS[ufunc]))
    if ufunc is np.multiply and any(is_condition(one) for one in inputs if isinstance(one, Traced)):
        return conditions.times_condition(run, *inputs)
    _numbers(name, inputs)
    if ufunc in conditions.COMPARISONS:
        return conditions.compared(run, ufunc, *inputs)
    if ufunc is np.matmul:
        return contractions.matmul(run, *inputs)
    if ufunc in ARITHMETIC or ufunc in SINGLE:
        return arithmetic(run, ufunc, *inputs)
    if scipy_special(ufunc.__name__) is ufunc:
        if ufunc.__name__ in SPECIAL:
            return apply_each(run, name, inputs, SPECIAL[ufunc.__name__], None)
        if ufunc.__name__ in REFUSED_SPECIAL:
            raise NotTraceable(sentence(name, REFUSED_SPECIAL[ufunc.__name__]))
    raise NotTraceable(unknown(name))


def _numbers(name: str, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    if any(one.is_condition for one in inputs if isinstance(one, Traced)):
        raise NotTraceable(f"{name} of a condition. {conditions.AS_NUMBERS}")
    return inputs


def call_function(run: Run, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Trace `function(*args, **kwargs)`."""
    name = function_name(function)
    if function in REFUSED_FUNCTIONS:
        raise NotTraceable(sentence(name, REFUSED_FUNCTIONS[function]))
    if function not in FUNCTIONS:
        raise NotTraceable(unknown(name))
    rule = FUNCTIONS[function]
    options = _options(name, kwargs)
    if function not in (np.where, np.select, np.shape, np.ndim, np.size):
        _numbers(name, args)
    try:
        inspect.signature(rule).bind(run, *args, **options)
    except TypeError as error:
        raise NotTraceable(f"{name} is called in a way that cannot be traced: {error}.") from error
    return rule(run, *args, **options)


def _options(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The keywords that say something."""
    kept = {}
    for key, value in options.items():
        if key == "dtype" and value is not None and np.dtype(value) != np.float64:
            raise NotTraceable(f"{name} is traced in float64 only; got dtype={value!r}. Leave it out.")
        is_usual = key != "axis" and any(value is usual for usual in _USUAL)
        if key in (*_IGNORED, "dtype") or is_usual or (key == "where" and value is True):
            continue
        kept[key] = value
    if "out" in kept:
        raise NotTraceable(
            f"{name}(…, out=…) cannot be traced: a plain array cannot hold traced numbers. Write y = y + x instead of"
            " y += x, and make arrays to be filled with np.zeros_like(x)."
        )
    return kept


def _refused_options(name: str, options: dict[str, Any]) -> NotTraceable:
    return NotTraceable(f"{name} does not take {', '.join(sorted(options))} when it is traced; leave it out.")
