"""What counts as proof: enclosures, cells, the certificate and the independent checker. Never imports construction."""

from anyformer.certificates.bound import ErrorBound, derive_bound
from anyformer.certificates.cells import Grid
from anyformer.certificates.certificate import Certificate
from anyformer.certificates.checker import Verdict, Verification, verify
from anyformer.certificates.claim import Claim
from anyformer.certificates.contextual_map import ContextualMapReport, check_contextual_map
from anyformer.certificates.effort import Effort
from anyformer.certificates.evidence import Evidence
from anyformer.certificates.measured import MeasuredError, measure_error
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
