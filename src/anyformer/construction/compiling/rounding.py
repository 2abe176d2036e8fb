"""Compiled networks in types narrower than float64: their weights are rounded, and rounding takes its share of the
tolerance."""

import math
from dataclasses import replace

from anyformer.certificates.programs.bound import bound_of_program
from anyformer.construction.compiling.writer import Written
from anyformer.construction.refusal import Refusal, Resource, Shortage
from anyformer.errors import NetworkError, NotShown, PlanError
from anyformer.networks.dtypes import DType
from anyformer.networks.network import cast
from anyformer.programs.program import Program

# Rounding may take so much of the tolerance; the steps share the rest.
MOST_LOST = 0.75


def in_type(written: Written, dtype: DType, method: str) -> Written:
    """The network with its weights rounded to a type."""
    try:
        return replace(written, network=cast(written.network, dtype))
    except NetworkError as error:
        raise PlanError(f"{method} cannot build this in {dtype}: {error}. Take a wider type (--dtype).") from error


def proved_error(written: Written, program: Program, method: str) -> float:
    """The largest error of the network, roundings included."""
    try:
        return bound_of_program(program, written.network, written.hints).largest
    except NotShown as error:
        raise PlanError(
            f"{method} cannot build this in {written.network.dtype}: {error}. Take a wider type (--dtype)."
        ) from error


def check_lost(lost: float, allowed: float, dtype: DType, method: str) -> None:
    """Refuse where rounding leaves too little of the error that is allowed, with the bits that would be enough."""
    most = MOST_LOST * allowed
    if not lost <= most:
        bits = dtype.bits + math.ceil(math.log2(lost / most)) if math.isfinite(lost) else math.inf
        raise Refusal(method, Shortage(Resource.BITS, bits, dtype.bits, dtype.name)).error()
