"""Which rule encloses which NumPy function that is not a ufunc, and how its arguments are read."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from anyformer.intervals import arithmetic, conditions, contractions, movement, orders, products, sums
from anyformer.intervals.ends import Ends, ends_of, refuse_short_floats
from anyformer.intervals.errors import IntervalError, refuse_options, unsupported

# Said of entries in memory, not of numbers.
_IGNORED: Final = ("order", "subok", "device", "overwrite_input", "kind", "stable")


@dataclass(frozen=True)
class Rule:
    """The interval version of a function whose first argument is an array; keywords it does not take are refused."""

    enclose: Callable[..., Any]
    takes: tuple[str, ...] = ("axis", "keepdims")

    def __call__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Enclose what `function(*args, **kwargs)` returns for members of the arguments."""
        given = dict(_signature(function).bind(*args, **kwargs).arguments)
        array = ends_of(given.pop(next(iter(given))))
        taken = {name: given.pop(name) for name in self.takes if name in given}
        if given.get("dtype") is not None and np.dtype(given["dtype"]) == np.float64:
            del given["dtype"]
        refuse_options(function_name(function), {name: given[name] for name in given if name not in _IGNORED})
        return self.enclose(array, **taken)


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
    return DIRECT[function](*args, **kwargs)


def function_name(function: Callable[..., Any]) -> str:
    """How the user wrote it, as in np.linalg.norm."""
    module = (function.__module__ or "numpy").removeprefix("numpy").split("._")[0]
    return f"np{module}.{function.__name__}"


def _clip(a: Ends, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Ends:
    lower = a_min if min is None else min
    upper = a_max if max is None else max
    raised = a if lower is None else arithmetic.maximum(a, ends_of(lower))
    return arithmetic.positive(raised if upper is None else arithmetic.minimum(raised, ends_of(upper)))


def _round(a: Ends, decimals: int = 0) -> Ends:
    if decimals:
        raise unsupported("np.round to decimals")
    return Ends(np.rint(a.low), np.rint(a.high))


def _where(condition: Any, *branches: Any) -> Ends:
    refuse_short_floats(branches)
    return conditions.where(condition, *branches)


def _select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Ends:
    refuse_short_floats([*choicelist, default])
    return conditions.select(condlist, choicelist, default)


def _count_nonzero(a: Ends, axis: Any = None, keepdims: bool = False) -> Ends:
    return sums.total(ends_of(conditions.as_truth(a)), axis, keepdims)


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
    np.any: Rule(conditions.any_of),
    np.all: Rule(conditions.all_of),
    np.count_nonzero: Rule(_count_nonzero),
    np.clip: Rule(_clip, ("a_min", "a_max", "min", "max")),
    np.round: Rule(_round, ("decimals",)),
    np.around: Rule(_round, ("decimals",)),
    np.zeros_like: Rule(lambda a, **how: movement.filled_like(a, 0.0, **how), ("dtype", "shape")),
    np.ones_like: Rule(lambda a, **how: movement.filled_like(a, 1.0, **how), ("dtype", "shape")),
    np.full_like: Rule(
        lambda a, fill_value, **how: movement.filled_like(a, fill_value, **how), ("fill_value", "dtype", "shape")
    ),
    np.shape: Rule(lambda a: a.low.shape, ()),
    np.ndim: Rule(lambda a: a.low.ndim, ()),
    np.size: Rule(_size, ("axis",)),
}

DIRECT: Final[dict[Callable[..., Any], Callable[..., Any]]] = {
    np.where: _where,
    np.select: _select,
    np.dot: lambda a, b: contractions.dot(ends_of(a), ends_of(b)),
    np.tensordot: contractions.tensordot,
    np.einsum: contractions.einsum,
    np.pad: movement.padded,
    np.empty_like: movement.unfilled_like,
    **movement.moves(),
}

UNORDERED: Final = (np.argsort, np.argmax, np.argmin, np.argpartition, np.argwhere, np.nonzero, np.flatnonzero)
