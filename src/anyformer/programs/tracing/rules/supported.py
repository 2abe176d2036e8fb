"""What can be traced: every function of NumPy and SciPy with its rule. Functions in no table are refused.

It has the same functions as the table for intervals (`intervals.supported`); those without a rule here are refused,
each with its own reason (`refusals`).
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.programs.tracing.rules import (
    conditions,
    contractions,
    indexing,
    interpolation,
    joining,
    moments,
    movement,
    orders,
    reductions,
)
from anyformer.programs.tracing.rules.elementwise import ARITHMETIC, SINGLE
from anyformer.programs.tracing.runs import Run
from anyformer.programs.tracing.traced import Traced

Rule = Callable[..., Any]


def _of_array(rule: Callable[..., Any]) -> Rule:
    """A rule whose first argument is the traced array."""

    def called(run: Run, array: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(array, Traced):
            raise NotTraceable("traced arrays must be what a function works on, not one of its settings.")
        return rule(array, *args, **kwargs)

    return called


def _filled(value: float) -> Rule:
    return lambda run, a, shape=None: movement.filled_like(a, value, shape)


def _full_like(run: Run, a: Any, fill_value: Any, shape: Any = None) -> Traced:
    if isinstance(fill_value, Traced):
        return movement.broadcast(run, fill_value, a.shape)
    return movement.filled_like(a, fill_value, shape)


def _copied(run: Run, a: Traced, order: Any = None, subok: bool = False) -> Traced:
    return a


def _reshaped(run: Run, a: Traced, shape: Any, order: str = "C") -> Traced:
    if order != "C":
        raise NotTraceable("np.reshape is traced in the order 'C', the usual one; leave the order out.")
    return movement.reshaped(a, shape)


def _sum(array: Traced, axis: Any = None, keepdims: bool = False) -> Traced:
    return reductions.total(array, axis, keepdims)


def _broadcast_arrays(run: Run, *arrays: Any) -> tuple[Any, ...]:
    shape = np.broadcast_shapes(*(one.shape if isinstance(one, Traced) else np.shape(one) for one in arrays))
    return tuple(
        movement.broadcast(run, one, shape) if isinstance(one, Traced) else np.broadcast_to(one, shape)
        for one in arrays
    )


def _size(array: Traced, axis: Any = None) -> int:
    return int(np.prod(array.shape)) if axis is None else array.shape[axis]


_MOVES: Final[dict[str, Rule]] = {
    "transpose": movement.transposed,
    "permute_dims": movement.transposed,
    "matrix_transpose": lambda a: movement.swapped(a, -1, -2),
    "swapaxes": movement.swapped,
    "moveaxis": movement.moved_axis,
    "squeeze": movement.squeezed,
    "expand_dims": movement.expanded,
    "flip": movement.flipped,
    "roll": movement.rolled,
    "take": indexing.taken,
    "tile": movement.tiled,
    "repeat": movement.repeated,
    "split": movement.split,
    "array_split": lambda a, sections, axis=0: movement.split(a, sections, axis, is_even=False),
}


FUNCTIONS: Final[dict[Any, Rule]] = {
    **{getattr(np, name): _of_array(rule) for name, rule in _MOVES.items() if hasattr(np, name)},
    **{getattr(np, name): joining.concatenated for name in ("concatenate", "concat") if hasattr(np, name)},
    np.stack: joining.stacked,
    np.reshape: _reshaped,
    np.copy: _copied,
    np.broadcast_to: lambda run, array, shape: movement.broadcast(run, array, shape),
    np.broadcast_arrays: _broadcast_arrays,
    np.zeros_like: _filled(0.0),
    np.ones_like: _filled(1.0),
    np.full_like: _full_like,
    np.diff: _of_array(joining.differences),
    np.pad: _of_array(joining.padded),
    **dict.fromkeys((np.sum, np.nansum), _of_array(_sum)),
    **dict.fromkeys((np.mean, np.nanmean), _of_array(reductions.mean)),
    **dict.fromkeys((np.var, np.nanvar), _of_array(moments.variance)),
    **dict.fromkeys((np.std, np.nanstd), _of_array(moments.deviation)),
    **dict.fromkeys((np.max, np.amax, np.nanmax), _of_array(orders.greatest)),
    **dict.fromkeys((np.min, np.amin, np.nanmin), _of_array(orders.least)),
    **dict.fromkeys((np.prod, np.nanprod), _of_array(reductions.product)),
    **dict.fromkeys((np.cumsum, np.nancumsum), _of_array(reductions.running_total)),
    **dict.fromkeys((np.median, np.nanmedian), _of_array(orders.median)),
    np.ptp: _of_array(orders.spread),
    np.average: _of_array(moments.average),
    np.linalg.norm: _of_array(moments.norm),
    np.sort: _of_array(orders.ordered),
    np.where: conditions.chosen,
    np.select: conditions.selected,
    np.clip: interpolation.clipped,
    np.interp: interpolation.interpolated,
    np.polyval: interpolation.polynomial,
    np.dot: contractions.dot,
    np.tensordot: contractions.tensordot,
    np.einsum: contractions.einsum,
    np.inner: contractions.inner,
    np.shape: _of_array(lambda a: a.shape),
    np.ndim: _of_array(lambda a: len(a.axes)),
    np.size: _of_array(_size),
}


UFUNCS: Final = {**ARITHMETIC, **SINGLE, **conditions.COMPARISONS, **conditions.LOGIC, np.matmul: contractions.matmul}


REDUCTIONS: Final[dict[np.ufunc, Rule]] = {
    np.add: _sum,
    np.multiply: reductions.product,
    np.maximum: orders.greatest,
    np.minimum: orders.least,
    np.logaddexp: reductions.log_sum,
}


ACCUMULATIONS: Final[dict[np.ufunc, Rule]] = {
    np.add: reductions.running_total,
    np.maximum: orders.running_maximum,
    np.minimum: lambda a, axis=0: orders.running_maximum(a, axis, np.minimum),
}


# The results of these are views of their argument in NumPy; of `reshape` it depends on the memory.
VIEWS: Final = frozenset(
    getattr(np, name)
    for name in (
        *("transpose", "permute_dims", "matrix_transpose", "swapaxes", "moveaxis", "squeeze", "expand_dims", "flip"),
        *("split", "array_split", "reshape", "broadcast_to", "broadcast_arrays"),
    )
    if hasattr(np, name)
)
