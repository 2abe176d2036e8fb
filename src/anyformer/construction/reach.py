"""How large the target's values are."""

import itertools
import math

import numpy as np

from anyformer.certificates.bounds.evidence import Evidence
from anyformer.errors import TargetError
from anyformer.targets.ranges import enclosure
from anyformer.targets.target import Target

COARSE_CELLS = 4096


def reach_of(target: Target, evidence: Evidence) -> float:
    """A bound on |f|: from intervals, or from values at the centres of coarse cells and the modulus."""
    per_axis = max(1, int(COARSE_CELLS ** (1 / (target.tokens * target.width))))
    lows = target.domain.lows(target.width)
    sides = (target.domain.highs(target.width) - lows) / per_axis
    spots = itertools.product(range(per_axis), repeat=target.tokens * target.width)
    corner = lows + np.array(list(spots), dtype=np.float64).reshape(-1, target.tokens, target.width) * sides
    if evidence is Evidence.UNCONDITIONAL:
        values = enclosure(target, corner, corner + sides * (1 + 1e-9))
        reach = float(np.maximum(np.abs(values.low), np.abs(values.high)).max())
        if not math.isfinite(reach):
            raise TargetError(
                f"the target {target.name!r} must have bounds that intervals can find; it has none on part of its "
                f"domain. {values.why_unknown or 'It overflows there.'}"
            )
        return reach
    assert target.modulus is not None
    half = np.broadcast_to(sides / 2, (target.tokens, target.width))
    return float(np.abs(target(corner + sides / 2)).max() + target.modulus.largest_deviation(half).max())
