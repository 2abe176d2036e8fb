"""Calling somebody else's function: it gets a copy, and what comes back is checked before anyone relies on it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyformer.arrays import Array, shown
from anyformer.errors import TargetError

_ONE_AT_A_TIME = "It seems to take one (tokens, width) array: declare vectorised=False."
_MEND = "Mend the function there, or choose a domain that leaves this input out."


class _Fault(Exception):
    """The bare fact about one call; the public functions say which input it was."""


def evaluate_batch(function: Callable[[Array], Any], batch: Array, name: str) -> Array:
    """`function` of the whole (batch, tokens, width) array, as a new float64 array.

    Raises TargetError with the input at fault.
    """
    if len(batch) == 0:
        return batch.copy()
    try:
        return _call(function, batch)
    except _Fault as fault:
        raise _blame(function, batch, name, fault) from fault.__cause__


def evaluate_as_it_lies(function: Callable[[Array], Any], x: Array, name: str) -> Array:
    """`function` of an array that is not copied before, so that it lies in memory as it is given.

    Raises TargetError with the input.
    """
    try:
        return _called(function, x)
    except _Fault as fault:
        raise TargetError(f"{_must(name)} At the input {shown(x)} {fault}. {_MEND}") from fault.__cause__


def evaluate_each(function: Callable[[Array], Any], batch: Array, name: str) -> Array:
    """`function` of every (tokens, width) element in turn, as a new float64 array.

    Raises TargetError with the input at fault.
    """
    outputs = np.empty_like(batch)
    for index, x in enumerate(batch):
        try:
            outputs[index] = _call(function, x)
        except _Fault as fault:
            raise TargetError(f"{_must(name)} At the input {shown(x)} {fault}. {_MEND}") from fault.__cause__
    return outputs


def _call(function: Callable[[Array], Any], x: Array) -> Array:
    return _called(function, x.copy())


def _called(function: Callable[[Array], Any], x: Array) -> Array:
    shape = x.shape
    # What overflows or divides by zero shows in the result, which is checked below; a warning would say it twice.
    with np.errstate(all="ignore"):
        try:
            result = function(x)
        except Exception as error:
            raise _Fault(f"it raised {type(error).__name__}: {error}") from error
        try:
            array = np.asarray(result)
        except ValueError as error:
            raise _Fault("it returned something that is not an array") from error
        if array.dtype.kind not in "biuf":
            raise _Fault(f"it returned {type(result).__name__} of {array.dtype} entries, which are not real numbers")
        outputs = np.array(array, dtype=np.float64)
    if outputs.shape != shape:
        raise _Fault(f"it returned shape {outputs.shape} for an argument of shape {shape}")
    if not np.isfinite(outputs).all():
        *_, token, coordinate = np.argwhere(~np.isfinite(outputs))[0].tolist()
        value = outputs[~np.isfinite(outputs)][0]
        raise _Fault(f"it returned {value} at token {token}, coordinate {coordinate}")
    return outputs


def _blame(function: Callable[[Array], Any], batch: Array, name: str, fault: _Fault) -> TargetError:
    """The error that shows the first element of the batch that does it alone, if there is one."""
    for x in batch:
        try:
            _call(function, x[np.newaxis])
        except _Fault as alone:
            advice = _ONE_AT_A_TIME if _works(function, x) else _MEND
            return TargetError(f"{_must(name)} At the input {shown(x)} {alone}. {advice}")
    return TargetError(
        f"{_must(name)} On a batch of shape {batch.shape} {fault}, though it works on each element as a batch of one."
        " Keep it from mixing axis 0, or, if it takes one (tokens, width) array, declare vectorised=False."
    )


def _works(function: Callable[[Array], Any], x: Array) -> bool:
    try:
        _call(function, x)
    except _Fault:
        return False
    return True


def _must(name: str) -> str:
    return f"The target {name!r} must return one finite number for every entry of its input."
