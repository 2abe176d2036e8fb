"""What counts as proof: enclosures, cells, the certificate and the independent checker. Never imports construction."""

from anyformer.certificates.bounds.bound import ErrorBound, derive_bound
from anyformer.certificates.bounds.cells import Grid
from anyformer.certificates.bounds.effort import Effort
from anyformer.certificates.bounds.evidence import Evidence
from anyformer.certificates.checker import Verdict, Verification, verify
from anyformer.certificates.claims.certificate import Certificate
from anyformer.certificates.claims.claim import Claim
from anyformer.certificates.claims.measured import MeasuredError, measure_error
from anyformer.certificates.contextual_map import ContextualMapReport, check_contextual_map
from anyformer.errors import NotShown

__all__ = [
    "Certificate",
    "Claim",
    "ContextualMapReport",
    "Effort",
    "ErrorBound",
    "Evidence",
    "Grid",
    "MeasuredError",
    "NotShown",
    "Verdict",
    "Verification",
    "check_contextual_map",
    "derive_bound",
    "measure_error",
    "verify",
]
