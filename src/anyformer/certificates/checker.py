"""The independent checker: proved, refuted or undecided, from the weights, the target and the cells alone."""

import enum
from dataclasses import dataclass, replace

from anyformer.arrays import Array
from anyformer.certificates.bounds.bound import TIGHTNESS, ErrorBound, derive_bound
from anyformer.certificates.bounds.effort import ORDINARY, Effort
from anyformer.certificates.bounds.evidence import Evidence
from anyformer.certificates.bounds.job import check_effort
from anyformer.certificates.bounds.powers import check_exponent
from anyformer.certificates.claims.certificate import Certificate
from anyformer.certificates.claims.claim import Claim
from anyformer.certificates.claims.declaration import Declaration
from anyformer.certificates.claims.statements import AGREEMENT, misstatement
from anyformer.certificates.interpolation.error_bound import derive_interpolation_bound
from anyformer.certificates.programs.error_bound import derive_program_bound
from anyformer.certificates.propagation.gate import check_no_embedding
from anyformer.errors import CertificateError, NotShown, NotTraceable, TargetError
from anyformer.intervals import IntervalError
from anyformer.networks.digest import digest
from anyformer.networks.network import Network
from anyformer.targets.checks.battery import check_target
from anyformer.targets.checks.enclosures import check_enclosures
from anyformer.targets.domains import CompactSupport
from anyformer.targets.target import Target
from anyformer.workers import Progress


class Verdict(enum.Enum):
    """What the checker found. Only PROVED counts as yes."""

    PROVED = "proved: the error is at most the tolerance"
    REFUTED = "refuted: the error exceeds the tolerance, or the target is not what was declared"
    UNDECIDED = "undecided: the bound could not be established"


@dataclass(frozen=True, eq=False)
class Verification:
    """A verdict with its claim, its reason, the derived bound and, for a refutation, the input that shows it best."""

    claim: Claim
    verdict: Verdict
    reason: str
    bound: ErrorBound | None
    witness: Array | None = None


def verify(
    network: Network,
    certificate: Certificate,
    target: Target | None = None,
    progress: Progress | None = None,
    effort: Effort = ORDINARY,
) -> Verification:
    """Check a certificate against a network by deriving the bound again.

    Args:
        network: the weights.
        certificate: what is claimed of them.
        target: the function, if it is not a ready-made one.
        progress: called with (done, total) while it works.
        effort: what the proof may cost; a claim that needs more is undecided at once.

    Returns:
        The verdict. `PROVED` only if the bound derived from these weights is within the tolerance and within the stated
        error.
    """
    found, target = _examined(network, certificate, target, progress, effort)
    if found.verdict is not Verdict.PROVED or found.bound is None:
        return found
    mistake = misstatement(network, certificate, target, found.bound)
    return replace(found, verdict=Verdict.UNDECIDED, reason=mistake) if mistake else found


def _examined(
    network: Network, certificate: Certificate, target: Target | None, progress: Progress | None, effort: Effort
) -> tuple[Verification, Target]:
    """What can be derived for these weights, whatever else the certificate states; and the target that was used."""
    target = certificate.target.target() if target is None else target
    _check_fit(network, certificate, target)
    declared = Declaration.of(target)
    if certificate.kind is Evidence.PROGRAM:
        declared = replace(declared, modulus=None)  # which the proof does not use
    claim = Claim(
        declared,
        certificate.p,
        certificate.tolerance,
        certificate.kind,
        certificate.weights_digest,
        dtype=network.dtype,
    )
    try:
        bound = _derived(network, certificate, target, progress, effort)
    except TargetError as error:
        return Verification(claim, Verdict.REFUTED, f"the target is not what was declared: {error}", None), target
    except NotShown as error:
        return Verification(claim, Verdict.UNDECIDED, str(error), None), target
    except IntervalError as error:
        return Verification(claim, Verdict.UNDECIDED, f"the target cannot be run on intervals: {error}", None), target
    except NotTraceable as error:
        return Verification(claim, Verdict.UNDECIDED, f"the target cannot be traced: {error}", None), target
    return _judged(certificate.tolerance, replace(claim, reach=bound.reach), bound), target


def verify_anew(
    network: Network,
    claim: Certificate,
    target: Target | None = None,
    progress: Progress | None = None,
    effort: Effort = ORDINARY,
) -> Verification:
    """Examine what a certificate claims for another network, such as the same one in another type.

    Of the certificate, only the target, the norm, the tolerance and what the proof starts from count: whatever else it
    states is about other weights.
    """
    return _examined(
        network, replace(claim, dtype=network.dtype, weights_digest=digest(network)), target, progress, effort
    )[0]


def _derived(
    network: Network, certificate: Certificate, target: Target, progress: Progress | None, effort: Effort
) -> ErrorBound:
    """The bound, from cells, from steps or from an interpolant."""
    if certificate.cells is not None:
        check_target(target)
        return derive_interpolation_bound(
            network,
            target,
            certificate.hints,
            certificate.cells,
            certificate.p,
            certificate.tolerance,
            tightness=_stated_tightness(certificate),
            evidence=certificate.kind,
            effort=effort,
        )
    if certificate.grid is None:
        check_target(replace(target, modulus=None))  # which the proof does not use
        return derive_program_bound(network, target, certificate.hints, certificate.p)
    check_effort(network, target, certificate.grid, certificate.kind, effort)
    check_target(target)
    _check_meaning(certificate, target)
    return derive_bound(
        network,
        target,
        certificate.grid,
        certificate.p,
        certificate.tolerance,
        tightness=_stated_tightness(certificate),
        evidence=certificate.kind,
        progress=progress,
        effort=effort,
        stated={name: value * (1 + AGREEMENT / 2) for name, value in certificate.terms.items()},
    )


def _check_meaning(certificate: Certificate, target: Target) -> None:
    """Where the proof runs the function on intervals, samples must show that it means the same there."""
    if certificate.kind is not Evidence.UNCONDITIONAL:
        return
    try:
        check_enclosures(target)
    except TargetError as error:
        raise NotShown(str(error)) from error


def _stated_tightness(certificate: Certificate) -> float:
    """How far the builder refined; the same value derives the same bound again."""
    stated = certificate.construction.get("tightness")
    return stated if isinstance(stated, float) and stated > 1 else TIGHTNESS


def _check_fit(network: Network, certificate: Certificate, target: Target) -> None:
    """Raise unless network, certificate and target fit together."""
    if not network.stages:
        raise CertificateError("a network must have at least one stage to be certified; this one has none")
    if not network.is_soft:
        raise CertificateError("only softmax and ReLU networks can be certified; this one has hard stages")
    claimed = certificate.target
    sizes = {
        "network": (network.tokens, network.width),
        "certificate": (claimed.tokens, claimed.width),
        "target": (target.tokens, target.width),
    }
    if len(set(sizes.values())) != 1:
        listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise CertificateError(f"network, certificate and target must have the same (tokens, width); got {listed}")
    if certificate.dtype != network.dtype:
        raise CertificateError(
            f"the certificate must be about the network's own type, {network.dtype}; it is about {certificate.dtype}. "
            f"Verify the network that it was made for."
        )
    check_exponent(certificate.p, takes_infinity=certificate.grid is None)
    if not certificate.tolerance > 0:
        raise CertificateError(f"the tolerance must be positive; got {certificate.tolerance!r}")
    if certificate.kind.uses_modulus and target.modulus is None:
        raise CertificateError("the certificate relies on a modulus, but none is declared for the target")
    if (certificate.grid is None) != certificate.kind.has_hints:
        raise CertificateError("a certificate for a program has hints and no grid, any other a grid and no hints")
    if (certificate.cells is not None) != certificate.kind.is_interpolated:
        raise CertificateError("a certificate for an interpolant has the cells of an axis, any other has not")
    if certificate.grid is None:
        _check_box(target)
        return
    check_no_embedding(network)
    if len(certificate.grid.lows) != target.width or not certificate.grid.inside(target.domain):
        raise CertificateError("the certificate's grid must have one row per coordinate of a token, inside the domain")


def _check_box(target: Target) -> None:
    if isinstance(target.domain, CompactSupport):
        raise CertificateError("a program is proved on a box; this target has compact support, where it must vanish")


def _judged(tolerance: float, claim: Claim, bound: ErrorBound) -> Verification:
    if bound.lower > tolerance:
        reason = f"the error is at least {bound.lower:.6g}, the tolerance is {tolerance:.6g}"
        return Verification(claim, Verdict.REFUTED, reason, bound, bound.worst_input)
    if not bound.vanishes_outside:
        return Verification(claim, Verdict.UNDECIDED, "the network was not seen to vanish outside the support", bound)
    if not bound.upper <= tolerance:
        reason = f"the bound derived is {bound.upper:.6g}, the tolerance is {tolerance:.6g}"
        return Verification(claim, Verdict.UNDECIDED, reason, bound)
    reason = f"the error is at most {bound.upper:.6g}, the tolerance is {tolerance:.6g}"
    return Verification(claim, Verdict.PROVED, reason, bound)
