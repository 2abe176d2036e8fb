"""Plan carried out → proof → certificate: the same derivation as `verify`, and everything that a claim depends on."""

from dataclasses import replace
from typing import Any

from anyformer.certificates.bounds.bound import ErrorBound, derive_bound
from anyformer.certificates.bounds.cells import Grid
from anyformer.certificates.bounds.evidence import Evidence
from anyformer.certificates.claims.certificate import Certificate
from anyformer.certificates.claims.declaration import Declaration
from anyformer.certificates.claims.measured import MeasuredError, measure_error
from anyformer.certificates.interpolation.error_bound import derive_interpolation_bound
from anyformer.certificates.programs.error_bound import derive_program_bound
from anyformer.construction.plans.compiled_plan import CompiledPlan
from anyformer.construction.plans.interpolation_plan import InterpolationPlan
from anyformer.construction.plans.plan import Construction
from anyformer.construction.plans.table_plan import TablePlan
from anyformer.errors import CertificateError
from anyformer.networks.digest import digest
from anyformer.networks.network import Network
from anyformer.patterns.exchange.notation import in_short
from anyformer.programs.text import formulas
from anyformer.runtime.run import run
from anyformer.targets.target import Target
from anyformer.workers import Progress

# A measured error contradicts a proof if it is above it by so many times its 95 % confidence interval's half-width.
DOUBT = 4.0


def prove(construction: Construction, progress: Progress | None = None) -> ErrorBound:
    """Bound the error of a network that was built: the same derivation as `verify`, from its weights alone."""
    request = construction.plan.request
    if construction.cells is not None:
        return derive_interpolation_bound(
            construction.network,
            request.target,
            construction.hints or (),
            construction.cells,
            request.p,
            tolerance=request.tolerance,
            tightness=request.tightness,
            effort=request.effort,
        )
    if construction.grid is None:
        return derive_program_bound(construction.network, request.target, construction.hints or (), request.p)
    return derive_bound(
        construction.network,
        request.target,
        construction.grid,
        request.p,
        tolerance=request.tolerance,
        tightness=request.tightness,
        progress=progress,
        effort=request.effort,
    )


def certify(construction: Construction, bound: ErrorBound) -> Certificate:
    """The certificate of a proved bound, with everything that it depends on."""
    plan, network = construction.plan, construction.network
    request = plan.request
    measured = _measured(network, request.target, request.p, construction.grid, request.tolerance)
    # A proof may come as close to the truth as the measurement, so that chance alone must not make the two disagree.
    if not measured.error - DOUBT * (measured.error - measured.low) <= bound.upper:
        raise CertificateError(
            f"the error measured, {measured.error:.6g}, must not exceed the error proved, {bound.upper:.6g}: one of "
            f"the two is wrong, and nothing is certified. Please report this with the target."
        )
    return Certificate(
        kind=bound.evidence,
        target=_declared(request.target, bound.evidence),
        p=request.p,
        tolerance=request.tolerance,
        certified_error=bound.upper,
        terms=bound.terms,
        weights_digest=digest(network),
        measured=measured,
        construction={
            "method": plan.method.name,
            **_facts(construction),
            **({} if request.pattern is None else {"pattern": in_short(request.pattern)}),
        },
        grid=construction.grid,
        hints=construction.hints or (),
        cells=construction.cells,
        dtype=network.dtype,
    )


def restated(claim: Certificate, network: Network, target: Target, bound: ErrorBound) -> Certificate:
    """The certificate with the numbers that were derived for another network."""
    return replace(
        claim,
        certified_error=bound.upper,
        terms=bound.terms,
        weights_digest=digest(network),
        measured=_measured(network, target, claim.p, claim.grid, claim.tolerance),
        dtype=network.dtype,
    )


def _measured(network: Network, target: Target, p: float, grid: Grid | None, tolerance: float) -> MeasuredError:
    return measure_error(lambda x: run(network, x), target, p, strata=grid, tolerance=tolerance, dtype=network.dtype)


def _declared(target: Target, evidence: Evidence) -> Declaration:
    """What a certificate says of its target. A proof by steps or slopes uses no modulus, which may be large."""
    declared = Declaration.of(target)
    return replace(declared, modulus=None) if evidence.has_hints and not evidence.uses_modulus else declared


def _facts(construction: Construction) -> dict[str, Any]:
    plan = construction.plan
    if isinstance(plan, InterpolationPlan):
        return {"cells_per_axis": plan.cells_per_axis, "nodes": plan.nodes, "tightness": plan.request.tightness}
    if isinstance(plan, CompiledPlan):
        return {"program": formulas(plan.program, {hint.node for hint in plan.written.hints})}
    if construction.grid is None or not isinstance(plan, TablePlan):
        return {}
    return {
        "cells_per_axis": list(construction.grid.cells_per_axis),
        "id_bits": plan.id_bits,
        "tightness": plan.request.tightness,
    }
