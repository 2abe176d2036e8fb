"""The error bound of a network that interpolates: what the weights add to the table, and the table to the target."""

import math
from collections.abc import Sequence

import numpy as np

from anyformer.certificates.bounds.bound import ErrorBound
from anyformer.certificates.bounds.effort import ORDINARY, Effort
from anyformer.certificates.bounds.evidence import Evidence, evidence_for
from anyformer.certificates.bounds.refinement import TIGHTNESS
from anyformer.certificates.interpolation.bound import interpolation_bound
from anyformer.certificates.interpolation.knowledge import Knowledge, KnownFormula, KnownModulus, KnownSteps
from anyformer.certificates.programs.bound import bound_of_program
from anyformer.certificates.programs.error_bound import norm_of_one
from anyformer.certificates.programs.errors import UP
from anyformer.certificates.programs.hints import Hint
from anyformer.certificates.propagation.walls import Reach
from anyformer.errors import NotShown, NotTraceable, TargetError
from anyformer.networks.network import Network
from anyformer.programs.kuhn import Interpolant, interpolant, program_of
from anyformer.programs.tracing import trace
from anyformer.targets.checks.enclosures import check_enclosures
from anyformer.targets.target import Target


def derive_interpolation_bound(
    network: Network,
    target: Target,
    hints: Sequence[Hint],
    cells: int,
    p: float,
    tolerance: float = math.inf,
    tightness: float = TIGHTNESS,
    evidence: Evidence | None = None,
    effort: Effort = ORDINARY,
) -> ErrorBound:
    """Interpolate the target, read the weights, and bound |f − g| in every entry.

    Raises NotShown if the weights are not what the hints say, or if there are too many cells.
    """
    evidence = interpolation_evidence(target) if evidence is None else evidence
    knowledge = knowledge_of(target, evidence)
    table = _table(target, cells)
    with np.errstate(all="ignore"):  # a bound that overflows is infinite, and refused
        computed = bound_of_program(program_of(table), network, hints).largest
    scale = norm_of_one(target, p)
    found = interpolation_bound(table, knowledge, tolerance / scale / UP - computed, tightness, effort.cells)
    return ErrorBound(
        upper=(found.upper + computed) * scale * UP,
        lower=max(found.lower - computed * UP, 0.0) if p == math.inf else 0.0,
        terms={"interpolation": found.upper, "computation": computed},
        worst_input=found.worst_input,
        vanishes_outside=True,
        cells=found.boxes,
        evidence=evidence,
        reach=Reach.DOMAIN,
    )


def _table(target: Target, cells: int) -> Interpolant:
    try:
        return interpolant(target, cells)
    except NotTraceable as error:
        raise NotShown(str(error)) from error


def interpolation_evidence(target: Target) -> Evidence:
    """The target's own formula if it can be traced or run on intervals, else its declared modulus."""
    try:
        _steps(target)
    except NotTraceable:
        relies_on = evidence_for(target)
        return Evidence.INTERPOLATED if relies_on is Evidence.UNCONDITIONAL else Evidence.INTERPOLATED_MODULUS
    return Evidence.INTERPOLATED


def knowledge_of(target: Target, evidence: Evidence) -> Knowledge:
    """What a proof of this kind knows of the target."""
    if evidence is Evidence.INTERPOLATED_MODULUS:
        if target.modulus is None:
            raise NotShown("the proof relies on a modulus, and none is declared for the target")
        return KnownModulus(target, target.modulus)
    try:
        return _steps(target)
    except NotTraceable:
        _check_meaning(target)
        return KnownFormula(target)


def _check_meaning(target: Target) -> None:
    """Samples must show that the function means the same on intervals."""
    try:
        check_enclosures(target)
    except TargetError as error:
        raise NotShown(str(error)) from error


def _steps(target: Target) -> KnownSteps:
    """The traced target, if its derivatives are known at the middle of the domain."""
    program = trace(target)
    middle = (target.domain.lows(target.width) + target.domain.highs(target.width)) / 2
    at = np.broadcast_to(middle, (1, target.tokens, target.width))
    known = KnownSteps(program)
    known.values(at, at)
    return known
