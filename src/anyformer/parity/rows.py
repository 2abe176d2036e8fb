"""What a comparison of runtimes found, as data."""

import enum
from dataclasses import dataclass

from anyformer.certificates.checker import Verdict


class Outcome(enum.Enum):
    """Whether a runtime ran; its value is how reports say it."""

    RAN = "ran"
    NOT_INSTALLED = "not installed"
    REFUSED = "does not run"


@dataclass(frozen=True)
class Row:
    """One runtime in one type. Differences and errors are infinite where an output is not a finite number."""

    runtime: str
    dtype: str
    outcome: Outcome
    note: str = ""
    """Why it did not run."""
    difference: float | None = None
    """max |output − output of the float64 definition|, over all inputs."""
    difference_on_cells: float | None = None
    """The same over the centres of a table's cells, where all runtimes should give the same bits in float64."""
    error: float | None = None
    """max |output − target|, over all inputs."""
    distance: float | None = None
    """The error in the certificate's norm: the largest one seen, or an estimate of the L^p distance."""
    holds: bool | None = None
    """Whether what was measured agrees with the certificate's tolerance. No proof: see `Proof`."""


@dataclass(frozen=True)
class Proof:
    """What the checker says of the tolerance for the network in one type."""

    dtype: str
    verdict: Verdict | None
    """None if nothing can be asked: the weights do not fit the type."""
    reason: str
    bound: float | None = None


@dataclass(frozen=True)
class Parity:
    """All runtimes in all types, for one model."""

    target: str
    p: float
    tolerance: float
    certified_error: float
    dtype: str
    """The model's own type: what its certificate is about."""
    inputs: int
    rows: tuple[Row, ...]
    proofs: tuple[Proof, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no runtime breaks the guarantee in the model's own type, and the checker does not refute it."""
        measured = all(row.holds is not False for row in self.rows if row.dtype == self.dtype)
        return measured and not any(
            proof.verdict is Verdict.REFUTED for proof in self.proofs if proof.dtype == self.dtype
        )

    @property
    def ends_at(self) -> str | None:
        """The first type, from float64 down, in which the guarantee was seen broken or the weights do not fit."""
        return next((row.dtype for row in self.rows if row.holds is False), None)

    def proof(self, dtype: str) -> Proof | None:
        """What the checker says of a type, if it was asked."""
        return next((proof for proof in self.proofs if proof.dtype == dtype), None)
