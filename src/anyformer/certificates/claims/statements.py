"""Everything that a certificate states must be derived or measured again; otherwise it is not proved."""

import math

import numpy as np

from anyformer.certificates.bounds.bound import ErrorBound
from anyformer.certificates.claims.certificate import Certificate
from anyformer.certificates.claims.declaration import Declaration
from anyformer.certificates.claims.measured import measure_error
from anyformer.networks.digest import digest
from anyformer.networks.network import Network
from anyformer.runtime.run import run
from anyformer.targets.target import Target

# The checker is deterministic, but another NumPy may round the last bits of a power or an exponential differently.
AGREEMENT = 1e-9
MEASURED_AGREEMENT = 1e-6


def misstatement(network: Network, certificate: Certificate, target: Target, bound: ErrorBound) -> str | None:
    """A false statement of the certificate, if there is one."""
    if certificate.weights_digest != digest(network):
        return "the certificate was issued for other weights: its digest is not that of this network"
    return (
        _about_target(certificate, Declaration.of(target))
        or _about_terms(certificate, bound)
        or _about_measurement(network, certificate, target)
    )


def _about_target(certificate: Certificate, used: Declaration) -> str | None:
    stated = certificate.target
    names = ["domain", "symmetry"]
    names += ["name", "is_ready_made", "parameters"] if stated.is_ready_made else []
    is_unused = certificate.kind.has_hints and not certificate.kind.uses_modulus
    if not is_unused and (certificate.kind.uses_modulus or stated.is_ready_made):
        names += ["modulus", "evaluation_error"]
    for name in names:
        if getattr(stated, name) != getattr(used, name):
            return f"the certificate states another {name.replace('_', ' ')} than the target has"
    return None


def _about_terms(certificate: Certificate, bound: ErrorBound) -> str | None:
    stated = {"certified_error": certificate.certified_error, **certificate.terms}
    derived = {"certified_error": bound.upper, **bound.terms}
    for name, value in derived.items():
        if name not in stated:
            return f"the certificate does not state the term {name}"
        if not value <= stated[name] * (1 + AGREEMENT) + math.ulp(0.0):
            return f"the certificate states {name} = {stated[name]:.6g}, but only {value:.6g} can be derived"
    if unknown := sorted(set(stated) - set(derived)):
        return f"the certificate states a term {unknown[0]!r} that a bound of this kind does not have"
    if not certificate.is_within_tolerance:
        return f"the certificate itself states an error of {certificate.certified_error:.6g}, above its tolerance"
    return None


def _about_measurement(network: Network, certificate: Certificate, target: Target) -> str | None:
    """The points are drawn again from the same seed, so the measured error must be the same."""
    stated = certificate.measured
    with np.errstate(all="ignore"):  # a value that overflows cannot agree
        again = measure_error(
            lambda x: run(network, x),
            target,
            certificate.p,
            strata=certificate.grid,
            tolerance=certificate.tolerance,
            dtype=network.dtype,
        )
    pairs = ((stated.error, again.error), (stated.low, again.low), (stated.high, again.high))
    agree = all(abs(one - other) <= MEASURED_AGREEMENT * abs(other) for one, other in pairs)
    if agree and stated.samples == again.samples:
        return None
    return f"the certificate states a measured error of {stated.error:.6g}; measured again, it is {again.error:.6g}"
