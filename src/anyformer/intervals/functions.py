"""How the arguments of NumPy's functions are read, before a rule encloses their values. The table is `supported`."""

import inspect
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, Final

import numpy as np

from anyformer.intervals import arithmetic, conditions
from anyformer.intervals.conditions import AS_NUMBERS, refuse_conditions, refuse_other_types
from anyformer.intervals.ends import Ends, Held, ends_of, is_truth, opened
from anyformer.intervals.errors import IntervalError, refuse_options, unsupported

# How to sort makes no difference to what is sorted.
_IGNORED: Final = ("kind", "stable")
# Powers of ten are exact in float64 up to here.
MOST_DECIMALS: Final = 22


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


def clipped(a: Ends, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Ends:
    """np.clip: what is below the lower bound is raised to it, then what is above the upper one lowered."""
    lower = a_min if min is None else min
    upper = a_max if max is None else max
    refuse_conditions("np.clip", [lower, upper])
    raised = a if lower is None else arithmetic.maximum(a, ends_of(lower))
    return arithmetic.positive(raised if upper is None else arithmetic.minimum(raised, ends_of(upper)))


def rounded(a: Ends, decimals: int = 0) -> Ends:
    """np.round, step by step as NumPy computes it: scaled by a power of ten, rounded to an integer, scaled back."""
    decimals = operator.index(decimals)
    if not decimals:
        return Ends(np.rint(a.low), np.rint(a.high))
    if abs(decimals) > MOST_DECIMALS:
        raise unsupported(f"np.round to {decimals} decimals, whose power of ten is no float64,")
    power = ends_of(10.0 ** abs(decimals))
    there, back = (arithmetic.multiply, arithmetic.divide)[:: 1 if decimals > 0 else -1]
    scaled = there(a, power)
    return back(Ends(np.rint(scaled.low), np.rint(scaled.high)), power)


def chosen(condition: Any, *branches: Any) -> Ends:
    """np.where, for choices that NumPy makes float64 or booleans of."""
    _refuse_choices("np.where", branches)
    return conditions.where(condition, *branches)


def selected(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Ends:
    """np.select, likewise."""
    _refuse_choices("np.select", [*choicelist, default])
    refuse_other_types("np.select", choicelist)
    return conditions.select(condlist, choicelist, default)


def _refuse_choices(name: str, choices: Sequence[Any]) -> None:
    """Choices are all conditions, or numbers of which NumPy makes float64."""
    if all(map(is_truth, choices)):
        return
    refuse_conditions(f"{name} with a choice between numbers and conditions, as it is", choices)
    if choices:
        refuse_other_types(name, choices)


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


def count_nonzero(a: Ends, **how: Any) -> Ends:
    """Refused: it gives integers."""
    raise IntervalError(
        f"np.count_nonzero gives integers, and intervals are of float64. Add up numbers instead. {AS_NUMBERS}"
    )


def size(a: Ends, axis: int | None = None) -> int:
    """np.size."""
    return a.low.size if axis is None else a.low.shape[axis]
