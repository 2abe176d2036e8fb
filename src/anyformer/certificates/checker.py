"""The independent checker: proved, refuted or undecided, from the weights, the target and the cells alone."""

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass

from anyformer.certificates.bound import TIGHTNESS, ErrorBound, derive_bound
from anyformer.certificates.certificate import Certificate
from anyformer.certificates.evidence import Evidence
from anyformer.errors import CertificateError, TargetError
from anyformer.intervals import IntervalError
from anyformer.networks.activations import Array
from anyformer.networks.digest import digest
from anyformer.networks.network import Network
from anyformer.targets.checks import check_target
from anyformer.targets.target import Target

# The checker is deterministic, but another NumPy may round the last bits of a power or an exponential differently.
AGREEMENT = 1e-9


class Verdict(enum.Enum):
    """What the checker found. Only PROVED counts as yes."""

    PROVED = "proved: the error is at most the tolerance"
    REFUTED = "refuted: the error exceeds the tolerance, or the target is not what was declared"
    UNDECIDED = "undecided: the bound could not be established"


@dataclass(frozen=True, eq=False)
class Verification:
    """A verdict with its reason, the bound derived, and for a refutation the input where it shows most."""

    verdict: Verdict
    reason: str
    bound: ErrorBound | None
    witness: Array | None = None


def verify(
    network: Network,
    certificate: Certificate,
    target: Target | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Check a certificate against a network, deriving the bound anew.

    Args:
        network: the weights.
        certificate: what is claimed of them.
        target: the function, if it is not a ready-made one.
        progress: told (done, of) while it works.

    Returns:
        The verdict. `PROVED` only if the bound derived from these very weights is within the tolerance and within
        what is stated.
    """
    target = certificate.target.target() if target is None else target
    _check_fit(network, certificate, target)
    try:
        check_target(target)
    except TargetError as error:
        return Verification(Verdict.REFUTED, f"the target is not what was declared: {error}", None)
    try:
        bound = derive_bound(
            network,
            target,
            certificate.grid,
            certificate.p,
            certificate.tolerance,
            tightness=_stated_tightness(certificate),
            evidence=certificate.kind,
            progress=progress,
        )
    except IntervalError as error:
        return Verification(Verdict.UNDECIDED, f"the target cannot be run on intervals: {error}", None)
    return _judge(network, certificate, bound)


def _stated_tightness(certificate: Certificate) -> float:
    """How far the builder refined: the same effort derives the same bound again."""
    stated = certificate.construction.get("tightness")
    return stated if isinstance(stated, float) and stated > 1 else TIGHTNESS


def _check_fit(network: Network, certificate: Certificate, target: Target) -> None:
    """Raise where the parts do not even speak of the same thing."""
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
    if not certificate.p >= 1 or not certificate.tolerance > 0:
        raise CertificateError(
            f"p must be at least 1 and the tolerance positive; got p = {certificate.p!r} and "
            f"tolerance = {certificate.tolerance!r}"
        )
    if certificate.kind is Evidence.MODULUS and target.modulus is None:
        raise CertificateError("the certificate rests on a modulus, but none is declared for the target")
    if len(certificate.grid.lows) != target.width or not certificate.grid.inside(target.domain):
        raise CertificateError("the certificate's grid must have one row per coordinate of a token, inside the domain")


def _judge(network: Network, certificate: Certificate, bound: ErrorBound) -> Verification:
    tolerance = certificate.tolerance
    if bound.lower > tolerance:
        reason = f"the error is at least {bound.lower:.6g}, the tolerance is {tolerance:.6g}"
        return Verification(Verdict.REFUTED, reason, bound, bound.worst_input)
    if not bound.vanishes_outside:
        return Verification(Verdict.UNDECIDED, "the network was not seen to vanish outside the support", bound)
    if not bound.upper <= tolerance:
        reason = f"the bound derived is {bound.upper:.6g}, the tolerance is {tolerance:.6g}"
        return Verification(Verdict.UNDECIDED, reason, bound)
    mistake = _misstatement(network, certificate, bound)
    if mistake:
        return Verification(Verdict.UNDECIDED, mistake, bound)
    reason = f"the error is at most {bound.upper:.6g}, the tolerance is {tolerance:.6g}"
    return Verification(Verdict.PROVED, reason, bound)


def _misstatement(network: Network, certificate: Certificate, bound: ErrorBound) -> str | None:
    """Something the certificate states that does not follow, if there is any."""
    if certificate.weights_digest != digest(network):
        return "the certificate was issued for other weights: its digest is not that of this network"
    stated = {"certified_error": certificate.certified_error, **certificate.terms}
    derived = {"certified_error": bound.upper, **bound.terms}
    for name, value in derived.items():
        if name not in stated:
            return f"the certificate does not state the term {name}"
        if not value <= stated[name] * (1 + AGREEMENT) + math.ulp(0.0):
            return f"the certificate states {name} = {stated[name]:.6g}, but only {value:.6g} can be derived"
    if not certificate.is_within_tolerance:
        return f"the certificate itself states an error of {certificate.certified_error:.6g}, above its tolerance"
    return None
