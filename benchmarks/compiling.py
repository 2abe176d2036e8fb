"""One compiled model with everything that the tables show: sizes, proof, measured error, seconds."""

import math
import time
from collections.abc import Callable
from typing import Any

from anyformer import construct
from anyformer.certificates.checker import Verdict
from anyformer.model import Model
from anyformer.targets import Target
from benchmarks.sampling import largest_error

# A network that is exact but for rounding: its bound says nothing about the steps.
ROUNDING = 1e-9


def compiled(target: Target, tolerance: float, samples: int) -> dict[str, Any]:
    """Build, prove, verify and sample."""
    model, build = clocked(lambda: construct(target, tolerance, p=math.inf, method="compile"))
    verification, verify = clocked(model.verify)
    assert verification.verdict is Verdict.PROVED, verification.verdict
    measured = largest_error(model, target, samples)
    certified = model.certificate.certified_error
    assert measured <= certified <= tolerance, (measured, certified, tolerance)
    return {
        **sizes(model),
        "tokens": target.tokens,
        "width": target.width,
        "tolerance": tolerance,
        "certified": certified,
        "measured": measured,
        "samples": samples,
        "build": build,
        "verify": verify,
    }


def sizes(model: Model) -> dict[str, int]:
    """Of the network."""
    network = model.network
    return {
        "layers": network.layer_count,
        "stream_width": network.stream_width,
        "hidden_units": network.hidden_unit_count,
        "parameters": network.parameter_count,
    }


def clocked(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What a call returns, and its seconds by the wall clock and of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    result = call()
    return result, {"wall": time.perf_counter() - wall, "cpu": time.process_time() - processor}


def shown(row: dict[str, Any]) -> str:
    """The columns of `HEAD` for a row."""
    return (
        f"{row['layers']} | {row['stream_width']} | {row['hidden_units']:,} | {row['parameters']:,} "
        f"| {row['certified']:.3g} | {row['measured']:.3g} | {row['build']['cpu']:.2f} | {row['verify']['cpu']:.2f}"
    )


HEAD = "layers | stream | hidden units | parameters | proved | measured | build, s | verify, s"
