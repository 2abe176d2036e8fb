"""Calling a user's function: it gets a copy of the input, and its output is checked before it is used."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyformer.arrays import Array, shown
from anyformer.errors import TargetError, raised

_ONE_AT_A_TIME = "It seems to take one (tokens, width) array: declare vectorised=False."
_MEND = "Fix the function there, or choose a domain that leaves this input out."
IN_FLOAT64 = (
    "Compute in float64 (x.astype(np.float64), constants of float64, no dtype=np.float32), or declare"
    " evaluation_error=…, a bound on its rounding relative to 1 + |f|."
)
_UNIT_ROUNDOFF = 2.0**-53


@dataclass(frozen=True)
class Declared:
    """A user's function, and what is declared about its values."""

    function: Callable[[Array], Any]
    name: str
    evaluation_error: float


class _Fault(Exception):
    """The bare fact about one call; the public functions say which input it was."""


def evaluate_batch(declared: Declared, batch: Array) -> Array:
    """The function of the whole (batch, tokens, width) array, as a new float64 array.

    Raises TargetError with the input at fault.
    """
    if len(batch) == 0:
        return batch.copy()
    try:
        return _call(declared, batch)
    except _Fault as fault:
        raise _blame(declared, batch, fault) from fault.__cause__


def evaluate_as_it_lies(declared: Declared, x: Array) -> Array:
    """The function of an array that is not copied first, so that it keeps its layout in memory.

    Raises TargetError with the input.
    """
    try:
        return _called(declared, x)
    except _Fault as fault:
        raise TargetError(f"{_must(declared.name)} At the input {shown(x)} {fault}. {_MEND}") from fault.__cause__


def evaluate_each(declared: Declared, batch: Array) -> Array:
    """The function of every (tokens, width) element in turn, as a new float64 array.

    Raises TargetError with the input at fault.
    """
    outputs = np.empty_like(batch)
    for index, x in enumerate(batch):
        try:
            outputs[index] = _call(declared, x)
        except _Fault as fault:
            raise TargetError(f"{_must(declared.name)} At the input {shown(x)} {fault}. {_MEND}") from fault.__cause__
    return outputs


def _call(declared: Declared, x: Array) -> Array:
    return _called(declared, x.copy())


def _called(declared: Declared, x: Array) -> Array:
    shape = x.shape
    # Overflow and division by zero show in the result, which is checked below; a warning would only repeat this.
    with np.errstate(all="ignore"):
        try:
            result = declared.function(x)
        except Exception as error:
            raise _Fault(f"it raised {raised(error)}") from error
        try:
            array = np.asarray(result)
        except ValueError as error:
            raise _Fault("it returned something that is not an array") from error
        if array.dtype.kind not in "biuf":
            raise _Fault(f"it returned {type(result).__name__} of {array.dtype} entries, which are not real numbers")
        _check_precision(declared, array)
        outputs = np.array(array, dtype=np.float64)
    if outputs.shape != shape:
        raise _Fault(f"it returned shape {outputs.shape} for an argument of shape {shape}")
    if not np.isfinite(outputs).all():
        *_, token, coordinate = np.argwhere(~np.isfinite(outputs))[0].tolist()
        value = outputs[~np.isfinite(outputs)][0]
        raise _Fault(f"it returned {value} at token {token}, coordinate {coordinate}")
    return outputs


def _check_precision(declared: Declared, array: NDArray[Any]) -> None:
    """Raise if the output's type rounds by more than is declared: no certificate would cover that error."""
    if (rounding := _rounding_of(array)) > declared.evaluation_error:
        raise TargetError(
            f"The target {declared.name!r} must return numbers as accurate as its evaluation_error,"
            f" {declared.evaluation_error:.3g} relative to 1 + |f|. It returned {array.dtype}, which rounds by up to"
            f" {rounding:.3g}. {IN_FLOAT64}"
        )


def _rounding_of(array: NDArray[Any]) -> float:
    """The relative error of rounding a number to this type and then to float64; small integers are exact in both."""
    if array.dtype == np.float64:
        return 0.0
    if array.dtype.kind == "f":
        return max(float(np.finfo(array.dtype).eps) / 2, _UNIT_ROUNDOFF)
    is_exact = array.dtype.itemsize < 8 or (np.abs(array.astype(np.float64)) < 2**53).all()
    return 0.0 if is_exact else _UNIT_ROUNDOFF


def _blame(declared: Declared, batch: Array, fault: _Fault) -> TargetError:
    """The error for the first element of the batch that fails alone, if there is one."""
    for x in batch:
        try:
            _call(declared, x[np.newaxis])
        except _Fault as alone:
            advice = _ONE_AT_A_TIME if _works(declared, x) else _MEND
            return TargetError(f"{_must(declared.name)} At the input {shown(x)} {alone}. {advice}")
    return TargetError(
        f"{_must(declared.name)} On a batch of shape {batch.shape} {fault}, though it works on each element as a batch"
        " of one. Keep it from mixing axis 0, or, if it takes one (tokens, width) array, declare vectorised=False."
    )


def _works(declared: Declared, x: Array) -> bool:
    try:
        _call(declared, x)
    except _Fault:
        return False
    return True


def _must(name: str) -> str:
    return f"The target {name!r} must return one finite number for every entry of its input."
