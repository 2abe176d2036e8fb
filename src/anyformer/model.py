"""The spine in one place: target → plan → network → proof → run → take away."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from anyformer.certificates.bound import TIGHTNESS, ErrorBound, derive_bound
from anyformer.certificates.certificate import Certificate
from anyformer.certificates.checker import Verification, verify
from anyformer.certificates.declaration import Declaration
from anyformer.certificates.effort import ORDINARY, Effort
from anyformer.certificates.measured import measure_error
from anyformer.construction.assemble import Construction, build
from anyformer.construction.drafts import SOFTMAX
from anyformer.construction.limits import MAX_LAYERS, Limits, Pattern
from anyformer.construction.plans import Plan
from anyformer.construction.select import AUTO, METHODS, plans, positioned
from anyformer.errors import CertificateError, PlanError
from anyformer.exports.folder import load_folder, save_folder
from anyformer.networks.activations import Array
from anyformer.networks.digest import digest
from anyformer.networks.network import Network
from anyformer.networks.probability_maps import ProbabilityMap
from anyformer.patterns.exchange.json_form import in_short
from anyformer.runtime.run import run
from anyformer.targets.target import Target

Progress = Callable[[int, int], None]
# How often a proof that misses the tolerance may be tried again on a finer grid.
ATTEMPTS = 4


@dataclass(frozen=True, eq=False)
class Model:
    """A Transformer with its certificate. Call it on (batch, tokens, width) sequences, or on one (tokens, width)."""

    network: Network
    certificate: Certificate
    target: Target | None = field(default=None, repr=False)
    construction: Construction | None = field(default=None, repr=False)
    """How it came about (the plan and the hard network), if it was built here and not loaded."""

    def __call__(self, x: ArrayLike) -> Array:
        """Run the network."""
        sequences = np.asarray(x, dtype=np.float64)
        return run(self.network, sequences[None])[0] if sequences.ndim == 2 else run(self.network, sequences)

    def verify(
        self, target: Target | None = None, progress: Progress | None = None, effort: Effort = ORDINARY
    ) -> Verification:
        """Prove the error bound anew, trusting neither the certificate nor the construction."""
        return verify(self.network, self.certificate, target or self.target, progress, effort)

    def save(self, folder: str | Path, overwrite: bool = False) -> Path:
        """Write config.json, model.safetensors and certificate.json to a folder, all or nothing."""
        return save_folder(Path(folder), self.network, self.certificate, overwrite)


def construct(
    target: Target,
    tolerance: float,
    p: float = 2.0,
    method: str = AUTO,
    max_layers: int = MAX_LAYERS,
    hidden_size: int = 4,
    tightness: float = TIGHTNESS,
    progress: Progress | None = None,
    pattern: Pattern | None = None,
    probability_map: ProbabilityMap = SOFTMAX,
    effort: Effort = ORDINARY,
) -> Model:
    """Build a Transformer for a target and prove that its L^p error is at most the tolerance. No training.

    Args:
        target: what to approximate, with its domain and symmetry.
        tolerance: the ε of d_p(f, g) <= ε.
        p: the exponent of the error, 1 <= p <= 64.
        method: how to build; "auto" takes the method with the fewest layers.
        max_layers: refuse to build above this many layers.
        hidden_size: hidden units a layer, at least 4; more of them make shallower networks.
        tightness: refine the proof until its bound is within this factor of a lower bound, or the work is used up.
        progress: told (done, of) while the proof is under way.
        pattern: who may look at whom (`anyformer.patterns`); the network is then sparse and has positions.
        probability_map: how scores become weights: softmax, sparsemax or entmax.
        effort: what the proof may cost; requests that need more are refused before anything is built.

    Returns:
        The model, certified; anything that cannot be certified raises instead.

    Example:
        >>> built = construct(targets.softmax(tokens=3), tolerance=0.1)
        >>> built.certificate.certified_error <= 0.1
        True
    """
    limits = Limits(max_layers, hidden_size, pattern, probability_map, effort)
    target = positioned(target, pattern)
    for planned in plans(target, tolerance, p, method, limits):
        construction, bound = _attempt(planned, limits, tightness, progress)
        if bound.upper <= planned.tolerance:
            return Model(construction.network, certify(construction, bound, tightness), target, construction)
    raise CertificateError(
        f"the network was built, but the proof reaches an error of {bound.upper:.6g}, not {tolerance:g}; "
        f"nothing uncertified is returned. Ask for a tolerance of {bound.upper:.3g} or more."
    )


def _attempt(
    planned: Plan, limits: Limits, tightness: float, progress: Progress | None
) -> tuple[Construction, ErrorBound]:
    """Build and bound; where the bound misses the tolerance, try again on finer grids, a few times."""
    for attempt in range(ATTEMPTS):
        construction = build(planned)
        bound = _bound(construction, limits, tightness, progress)
        if bound.upper <= planned.tolerance or attempt + 1 == ATTEMPTS:
            break
        try:
            planned = replace(METHODS[planned.method].finer(planned, limits), probability_map=limits.probability_map)
        except PlanError:
            break
    return construction, bound


def _bound(construction: Construction, limits: Limits, tightness: float, progress: Progress | None) -> ErrorBound:
    plan = construction.plan
    return derive_bound(
        construction.network,
        plan.target,
        construction.grid,
        plan.p,
        plan.tolerance,
        tightness,
        progress=progress,
        effort=limits.effort,
    )


def certify(construction: Construction, bound: ErrorBound, tightness: float = TIGHTNESS) -> Certificate:
    """Write down a bound that was proved, with everything it rests on."""
    target, asked, network = construction.plan.target, construction.plan, construction.network
    measured = measure_error(
        lambda x: run(network, x), target, asked.p, strata=construction.grid, tolerance=asked.tolerance
    )
    if not measured.low <= bound.upper:
        raise CertificateError(
            f"the error measured, {measured.error:.6g}, must not exceed the error proved, {bound.upper:.6g}: one of "
            f"the two is wrong, and nothing is certified. Please report this with the target."
        )
    return Certificate(
        kind=bound.evidence,
        target=Declaration.of(target),
        p=asked.p,
        tolerance=asked.tolerance,
        certified_error=bound.upper,
        terms=bound.terms,
        grid=construction.grid,
        weights_digest=digest(network),
        measured=measured,
        construction={
            "method": asked.method,
            "cells_per_axis": list(construction.grid.cells_per_axis),
            "id_bits": asked.id_bits,
            "tightness": float(tightness),
            **({} if asked.pattern is None else {"pattern": in_short(asked.pattern)}),
        },
    )


def load(folder: str | Path) -> Model:
    """Read a model folder. Nothing is believed: `verify` proves the certificate anew."""
    network, certificate = load_folder(Path(folder))
    return Model(network, certificate)
