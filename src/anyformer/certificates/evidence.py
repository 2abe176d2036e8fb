"""What a bound on the target rests on: its own formula run on intervals, or a modulus that the user declared."""

import enum

import numpy as np

from anyformer.errors import TargetError
from anyformer.intervals import IntervalError, enclose
from anyformer.networks.activations import Array
from anyformer.targets.target import Target


class Evidence(enum.Enum):
    """The kind of a certificate."""

    UNCONDITIONAL = "unconditional"
    MODULUS = "given the declared modulus"


def evidence_for(target: Target) -> Evidence:
    """Unconditional if the function runs on intervals, else the declared modulus; an error if there is neither."""
    trouble = _trouble_with_intervals(target)
    if trouble is None:
        return Evidence.UNCONDITIONAL
    if target.modulus is None:
        raise TargetError(
            f"the function {target.name!r} cannot be run on intervals, so nothing can be proved of it unaided: "
            f"{trouble}. Write it in plain NumPy, or declare a Lipschitz constant (--lipschitz, lipschitz=…)."
        )
    return Evidence.MODULUS


def _trouble_with_intervals(target: Target) -> str | None:
    if not target.vectorised:
        return "it takes one sequence at a time"
    shape = (1, target.tokens, target.width)
    low, high = (
        np.broadcast_to(end, shape) for end in (target.domain.lows(target.width), target.domain.highs(target.width))
    )
    try:
        range_on_boxes(target, low, high)
    except (IntervalError, TargetError) as error:
        return str(error)
    return None


def range_on_boxes(target: Target, low: Array, high: Array) -> tuple[Array, Array]:
    """Bounds of every output entry on boxes of inputs, all of shape (batch, tokens, width)."""
    values = enclose(target.function, low, high)
    return values.low, values.high
