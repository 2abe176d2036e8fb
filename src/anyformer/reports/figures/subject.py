"""What a report is about, and what its figures are: plates with captions, or the reason why there is none."""

import math
from dataclasses import dataclass
from typing import Any

from anyformer.certificates.checker import Verdict, Verification
from anyformer.certificates.claims.certificate import Certificate
from anyformer.model import Model
from anyformer.networks.network import Network
from anyformer.targets.target import Target


@dataclass(frozen=True, eq=False)
class Subject:
    """A model, its target if that is known, and what the checker says of the two."""

    model: Model
    target: Target | None
    verification: Verification | None
    """None if nothing could be checked, because the target is not known."""

    @property
    def network(self) -> Network:
        """The weights."""
        return self.model.network

    @property
    def certificate(self) -> Certificate:
        """What is claimed of them."""
        return self.model.certificate

    @property
    def is_proved(self) -> bool:
        """Whether the checker has just derived the bound again."""
        return self.verification is not None and self.verification.verdict is Verdict.PROVED

    @property
    def stands(self) -> str:
        """In a word, what the bound is: proved, or only claimed."""
        return "proved" if self.is_proved else "claimed"

    @property
    def entry_bound(self) -> float | None:
        """What bounds the error of every entry at every input; None where the certificate is about a mean error."""
        return self.certificate.certified_error if self.certificate.p == math.inf else None


@dataclass(frozen=True, eq=False)
class Plate:
    """A figure of a report. All its text is plain; names in it may come from anyone."""

    name: str
    """Of its files, without the suffix."""
    title: str
    caption: str
    picture: Any
    """Matplotlib's."""


@dataclass(frozen=True)
class LeftOut:
    """A figure that a report could have had."""

    title: str
    reason: str
