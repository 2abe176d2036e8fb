"""Putting claims before the checker: a network, a function, a grid and an error it is said to have."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from flint import arb

from anyformer.certificates import (
    Certificate,
    Evidence,
    Grid,
    MeasuredError,
    Verdict,
    derive_bound,
    measure_error,
    verify,
)
from anyformer.certificates.bounds.effort import ORDINARY, Effort
from anyformer.certificates.claims.declaration import Declaration
from anyformer.errors import AnyformerError
from anyformer.networks import Network
from anyformer.networks.digest import digest
from anyformer.runtime import run
from anyformer.targets.moduli import Lipschitz
from anyformer.targets.target import Target
from tests.hunt.build import VANISH, scalar_network
from tests.hunt.rulings import Outcome, Ruling

# What the checker grants a certificate that another machine wrote, doubled.
AGREEMENT = arb(1) + arb(2e-9)
RULINGS = {
    Verdict.PROVED: Ruling.PROVED,
    Verdict.REFUTED: Ruling.REFUTED,
    Verdict.UNDECIDED: Ruling.UNDECIDED,
}


@dataclass(frozen=True, eq=False)
class ClaimCase:
    """A claim, and the truth about it: a ball that holds d_p(f, g)."""

    description: str
    network: Network
    target: Target
    grid: Grid
    p: float
    tolerance: float
    truth: Callable[[], arb]
    kind: Evidence = Evidence.UNCONDITIONAL
    tightness: float = 1.5
    effort: Effort = ORDINARY

    def judge(self) -> Outcome:
        """False if what is proved lies below the truth, or what is refuted above it."""
        return judged(self.network, self.certificate(), self.target, self.truth, self.effort)

    def certificate(self) -> Certificate:
        """What an adversary would write: the tolerance is met, no term is stated too small, the digest is right."""
        return Certificate(
            kind=self.kind,
            target=Declaration.of(self.target),
            p=self.p,
            tolerance=self.tolerance,
            certified_error=self.tolerance,
            terms=dict.fromkeys(_terms(self.kind), 1.7e308),
            grid=self.grid,
            weights_digest=digest(self.network),
            measured=self.measured(),
            construction={"tightness": float(self.tightness)},
        )

    def measured(self) -> MeasuredError:
        """What measuring shows, so that nothing but the bound can turn the claim down."""
        try:
            with np.errstate(all="ignore"):
                return measure_error(
                    lambda x: run(self.network, x), self.target, self.p, strata=self.grid, tolerance=self.tolerance
                )
        except (AnyformerError, ArithmeticError):
            return MeasuredError(0.0, 0.0, 0.0, 1)


def judged(
    network: Network,
    certificate: Certificate,
    target: Target | None,
    truth: Callable[[], arb],
    effort: Effort = ORDINARY,
) -> Outcome:
    """What the checker says, and whether it is right."""
    try:
        result = verify(network, certificate, target, effort=effort)
    except AnyformerError as error:
        return Outcome(Ruling.REFUSED, str(error))
    error, shown = truth(), result.reason
    claimed = arb(min(certificate.certified_error, certificate.tolerance))
    if result.verdict is Verdict.PROVED and claimed * AGREEMENT < error:
        return Outcome(Ruling.FALSE, f"{shown}; the truth is {error.str(8)}")
    if result.bound is not None:
        if arb(result.bound.upper) * AGREEMENT < error:
            return Outcome(Ruling.FALSE, f"bounded by {result.bound.upper!r}, but the truth is {error.str(8)}")
        if arb(result.bound.lower) > error * AGREEMENT:
            return Outcome(Ruling.FALSE, f"at least {result.bound.lower!r}, but the truth is {error.str(8)}")
    return Outcome(RULINGS[result.verdict], shown)


@cache
def _terms(kind: Evidence) -> tuple[str, ...]:
    """The names of the terms that a certificate of this kind states, from one that is beyond doubt."""
    target = Target(lambda x: 0 * x, 2, 1, Lipschitz(1.0), "zero")
    bound = derive_bound(scalar_network([[VANISH]]), target, whole(), 2.0, 1.0, evidence=kind)
    return tuple(bound.terms)


def whole(low: float = 0.0, high: float = 1.0, width: int = 1) -> Grid:
    """One cell for everything: nothing is left over."""
    return Grid((np.array([low]),) * width, (np.array([high]),) * width)
