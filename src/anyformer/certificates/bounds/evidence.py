"""What a bound on the target relies on: its own formula, run on intervals or traced, or a modulus it declares."""

import enum

import numpy as np

from anyformer.errors import TargetError, words_of
from anyformer.intervals import IntervalError
from anyformer.targets.checks import samples as sampled
from anyformer.targets.checks.enclosures import check_enclosures
from anyformer.targets.ranges import enclosure
from anyformer.targets.target import Target

_POINTS = 16


class Evidence(enum.Enum):
    """The kind of a certificate."""

    UNCONDITIONAL = "unconditional"
    MODULUS = "given the declared modulus"
    PROGRAM = "unconditional, step by step"
    INTERPOLATED = "unconditional, by interpolation"
    INTERPOLATED_MODULUS = "by interpolation, given the declared modulus"

    @property
    def is_interpolated(self) -> bool:
        """Whether the network is compared with a table that interpolates the target."""
        return self in (Evidence.INTERPOLATED, Evidence.INTERPOLATED_MODULUS)

    @property
    def has_hints(self) -> bool:
        """Whether the proof starts from hints about channels; otherwise it starts from cells."""
        return self is Evidence.PROGRAM or self.is_interpolated

    @property
    def uses_modulus(self) -> bool:
        """Whether the declared modulus and symmetry are trusted."""
        return self in (Evidence.MODULUS, Evidence.INTERPOLATED_MODULUS)


def evidence_for(target: Target) -> Evidence:
    """Unconditional if the function runs on intervals, else the declared modulus; an error if there is neither.

    A function of one sequence must be run box by box, which takes long; a declared modulus is preferred then.
    """
    if not target.vectorised and target.modulus is not None:
        return Evidence.MODULUS
    trouble = _trouble_with_intervals(target)
    if trouble is None:
        return Evidence.UNCONDITIONAL
    if target.modulus is None:
        raise TargetError(
            f"the function {target.name!r} cannot be run on intervals, so nothing can be proved of it unaided: "
            f"{words_of(trouble)}. Write it in plain NumPy, or declare a Lipschitz constant "
            "(--lipschitz, lipschitz=…)."
        )
    return Evidence.MODULUS


def _trouble_with_intervals(target: Target) -> str | None:
    """Why intervals cannot bound the target: they refuse it, it has no values, or it means something else there."""
    try:
        trouble = _why_nowhere_known(target)
        if trouble is None:
            check_enclosures(target)
    except (IntervalError, TargetError) as error:
        return str(error)
    return trouble


def _why_nowhere_known(target: Target) -> str | None:
    """The step that has no value even at single points, if there is one."""
    shape = (1, target.tokens, target.width)
    low, high = (
        np.broadcast_to(end, shape) for end in (target.domain.lows(target.width), target.domain.highs(target.width))
    )
    if enclosure(target, low, high).why_unknown is None:
        return None
    # Smaller boxes may have values. If even single points have none, no box will.
    points = sampled.inside(target, _POINTS, np.random.default_rng(0))[:_POINTS]
    values = enclosure(target, points, points)
    return values.why_unknown if np.isinf(values.low).any(axis=(1, 2)).all() else None
