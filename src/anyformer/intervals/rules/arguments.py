"""How the arguments of NumPy's functions are read, before a rule encloses their values. The table is `supported`."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, Final

import numpy as np

from anyformer.intervals.conditions import refuse_conditions, refuse_other_types
from anyformer.intervals.ends import Ends, Held, ends_of, opened
from anyformer.intervals.errors import refuse_options

# How to sort makes no difference to what is sorted.
_IGNORED: Final = ("kind", "stable")


@dataclass(frozen=True)
class Rule:
    """The interval version of a function whose first argument is an array; keywords it does not take are refused."""

    enclose: Callable[..., Any]
    takes: tuple[str, ...] = ("axis", "keepdims")
    takes_conditions: bool = False

    def __call__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Enclose what `function(*args, **kwargs)` returns for members of the arguments."""
        given = dict(signature(function).bind(*args, **kwargs).arguments)
        array = self._array(function, given.pop(next(iter(given))))
        taken = {name: given.pop(name) for name in self.takes if name in given}
        if given.get("dtype") is not None and np.dtype(given["dtype"]) == np.float64:
            del given["dtype"]
        refuse_options(function_name(function), {name: given[name] for name in given if name not in _IGNORED})
        return number(self.enclose(array, **taken))

    def _array(self, function: Callable[..., Any], value: Any) -> Ends:
        if not self.takes_conditions:
            refuse_conditions(function_name(function), [value])
            return ends_of(value)
        return opened(value) if isinstance(value, Held) else ends_of(value)


def number(result: Any) -> Any:
    """The result without axes as a number, which NumPy's reductions and ufuncs make of it."""
    if isinstance(result, Ends) and result.low.ndim == 0:
        return Ends(result.low[()], result.high[()])
    return result


def with_numbers(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a function that gives a number where no axes are left."""

    @wraps(rule)
    def enclose(*args: Any, **kwargs: Any) -> Any:
        return number(rule(*args, **kwargs))

    return enclose


@cache
def signature(function: Callable[..., Any]) -> inspect.Signature:
    """Which arguments a function takes."""
    return inspect.signature(function)


def function_name(function: Callable[..., Any]) -> str:
    """How the user wrote it, as in np.linalg.norm."""
    module = (function.__module__ or "numpy").removeprefix("numpy").split("._")[0]
    return f"np{module}.{function.__name__}"


def contraction(name: str, rule: Callable[..., Ends]) -> Callable[..., Ends]:
    """A sum of products, refused for operands that NumPy would not compute in float64 with."""

    @wraps(rule)
    def enclose(*operands: Any, **how: Any) -> Ends:
        given = [*operands, *how.values()]
        refuse_conditions(name, given)
        arrays = [operand for operand in given if hasattr(operand, "dtype")]
        if name != "np.einsum" or len(arrays) > 1:
            refuse_other_types(name, arrays)
        return rule(*operands, **how)

    return enclose
