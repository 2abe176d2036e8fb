"""Which rule encloses which NumPy function that is not a ufunc, and how its arguments are read."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from anyformer.intervals import arithmetic, conditions, contractions, movement, orders, products, sums
from anyformer.intervals.conditions import AS_NUMBERS, refuse_conditions, refuse_other_types
from anyformer.intervals.ends import Ends, Held, ends_of, is_truth, opened
from anyformer.intervals.errors import IntervalError, refuse_options, refuse_order, unsupported

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
        given = dict(_signature(function).bind(*args, **kwargs).arguments)
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


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def call_function(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Enclose what `function(*args, **kwargs)` returns for members of the arguments."""
    if function in RULES:
        return RULES[function](function, args, kwargs)
    name = function_name(function)
    if function in UNORDERED:
        raise IntervalError(
            f"{name} is not supported on intervals: which entry it names differs from member to member."
            " Use the values instead: np.sort, np.max, np.min, np.maximum.accumulate, np.where."
        )
    if function not in DIRECT:
        raise unsupported(name)
    refuse_options(name, {"out": kwargs.pop("out", None)})
    if "order" in kwargs:
        refuse_order(name, kwargs["order"])
    return DIRECT[function](*args, **kwargs)


def function_name(function: Callable[..., Any]) -> str:
    """How the user wrote it, as in np.linalg.norm."""
    module = (function.__module__ or "numpy").removeprefix("numpy").split("._")[0]
    return f"np{module}.{function.__name__}"


def _clip(a: Ends, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Ends:
    lower = a_min if min is None else min
    upper = a_max if max is None else max
    refuse_conditions("np.clip", [lower, upper])
    raised = a if lower is None else arithmetic.maximum(a, ends_of(lower))
    return arithmetic.positive(raised if upper is None else arithmetic.minimum(raised, ends_of(upper)))


def _round(a: Ends, decimals: int = 0) -> Ends:
    if decimals:
        raise unsupported("np.round to decimals")
    return Ends(np.rint(a.low), np.rint(a.high))


def _where(condition: Any, *branches: Any) -> Ends:
    _refuse_choices("np.where", branches)
    return conditions.where(condition, *branches)


def _select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Ends:
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


def _contraction(name: str, rule: Callable[..., Ends]) -> Callable[..., Ends]:
    def enclose(*operands: Any, **how: Any) -> Ends:
        refuse_conditions(name, operands)
        arrays = [operand for operand in operands if hasattr(operand, "dtype")]
        if name != "np.einsum" or len(arrays) > 1:
            refuse_other_types(name, arrays)
        return rule(*operands, **how)

    return enclose


def _count_nonzero(a: Ends, **how: Any) -> Ends:
    raise IntervalError(
        f"np.count_nonzero gives integers, and intervals are of float64. Add up numbers instead. {AS_NUMBERS}"
    )


def _size(a: Ends, axis: int | None = None) -> int:
    return a.low.size if axis is None else a.low.shape[axis]


RULES: Final[dict[Callable[..., Any], Rule]] = {
    np.sum: Rule(sums.total),
    np.mean: Rule(sums.mean),
    np.var: Rule(sums.variance, ("axis", "ddof", "keepdims")),
    np.std: Rule(sums.standard_deviation, ("axis", "ddof", "keepdims")),
    np.cumsum: Rule(sums.running_total, ("axis",)),
    np.diff: Rule(sums.differences, ("n", "axis")),
    np.linalg.norm: Rule(sums.norm, ("ord", "axis", "keepdims")),
    np.prod: Rule(products.product),
    np.cumprod: Rule(products.running_product, ("axis",)),
    np.max: Rule(orders.greatest),
    np.amax: Rule(orders.greatest),
    np.min: Rule(orders.least),
    np.amin: Rule(orders.least),
    np.ptp: Rule(orders.spread),
    np.sort: Rule(orders.ordered, ("axis",)),
    np.median: Rule(orders.median),
    np.any: Rule(conditions.any_of, takes_conditions=True),
    np.all: Rule(conditions.all_of, takes_conditions=True),
    np.count_nonzero: Rule(_count_nonzero, takes_conditions=True),
    np.clip: Rule(_clip, ("a_min", "a_max", "min", "max")),
    np.round: Rule(_round, ("decimals",)),
    np.around: Rule(_round, ("decimals",)),
    np.shape: Rule(lambda a: a.low.shape, (), takes_conditions=True),
    np.ndim: Rule(lambda a: a.low.ndim, (), takes_conditions=True),
    np.size: Rule(_size, ("axis",), takes_conditions=True),
}

DIRECT: Final[dict[Callable[..., Any], Callable[..., Any]]] = {
    np.where: _where,
    np.select: _select,
    np.dot: _contraction("np.dot", lambda a, b: number(contractions.dot(ends_of(a), ends_of(b)))),
    np.tensordot: _contraction("np.tensordot", contractions.tensordot),
    np.einsum: _contraction("np.einsum", lambda *args, **how: number(contractions.einsum(*args, **how))),
    np.pad: movement.padded,
    np.zeros_like: movement.zeros_like,
    np.ones_like: movement.ones_like,
    np.full_like: movement.full_like,
    np.empty_like: movement.empty_like,
    **movement.moves(),
}

# The functions whose result shares memory with their argument or not, depending on how that lies in memory.
AMBIGUOUS: Final = (np.reshape, np.ravel)

UNORDERED: Final = (np.argsort, np.argmax, np.argmin, np.argpartition, np.argwhere, np.nonzero, np.flatnonzero)
