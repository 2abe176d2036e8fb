"""What a bound on the target relies on: its own formula, run on intervals or traced, or a modulus it declares."""

import enum

import numpy as np

from anyformer.errors import TargetError, words_of
from anyformer.intervals import IntervalError
from anyformer.targets.checks import samples as sampled
from anyformer.targets.checks.enclosures import check_enclosures
from anyformer.targets.ranges import can_have_slopes, enclosure, forms_on_boxes
from anyformer.targets.target import Target

_POINTS = 16
# Slopes count as known if they are on this share of random boxes with a side of this share of the domain's.
_KNOWN, _SIDE, _BOXES, _ONE_BY_ONE = 0.9, 2.0**-5, 256, 32


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


def has_slopes(target: Target) -> bool:
    """Whether slopes of the target are known on most small boxes, as far as samples show: a proof is then nearly tight.

    For planning only; the proof tries what it uses.
    """
    if not can_have_slopes(target):
        return False
    sides = (target.domain.highs(target.width) - target.domain.lows(target.width)) * _SIDE
    shape = (_BOXES if target.vectorised else _ONE_BY_ONE, target.tokens, target.width)
    low = target.domain.lows(target.width) + np.random.default_rng(7).random(shape) * sides * (1 / _SIDE - 1)
    try:
        slopes = forms_on_boxes(target, low, low + sides).slopes
    except IntervalError:
        return False
    return bool((np.isfinite(slopes.low) & np.isfinite(slopes.high)).all(axis=(1, 2, 3)).mean() >= _KNOWN)
