"""Families with faults planted in them, for the tests of the hunt itself."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from anyformer.errors import CertificateError
from tests.hunt.rulings import Family, Outcome, Ruling


@dataclass(frozen=True, eq=False)
class PlantedCase:
    """Does what it is told to when judged."""

    description: str
    act: Callable[[], object]

    def judge(self) -> Outcome:
        """Act, and find nothing wrong."""
        self.act()
        return Outcome(Ruling.PROVED)


def _refuse() -> None:
    raise CertificateError("refused")


def _family(act: Callable[[], object], **limits: float) -> Family:
    return Family(lambda rng: PlantedCase("planted", act), **limits)  # type: ignore[arg-type]


FAMILIES = {
    "good": _family(lambda: None),
    "refusing": _family(_refuse),
    "crashing": _family(lambda: 1 / 0),
    "hanging": _family(lambda: time.sleep(60), seconds=0.5),
    "greedy": _family(lambda: np.ones(1 << 26).sum(), megabytes=200),
    "endless": _family(lambda: np.ones(1 << 34).sum()),
}
