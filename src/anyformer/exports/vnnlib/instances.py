"""An instance: a property, its verdict, and why the verdict is known."""

import enum
from dataclasses import dataclass
from typing import Any

from anyformer.arrays import Array
from anyformer.exports.vnnlib.decimals import exact_decimal
from anyformer.exports.vnnlib.properties import Comparison, Property
from anyformer.strict_json import to_hex


class Verdict(enum.Enum):
    """What a verifier should answer, in the words of the competition."""

    SAT = "sat"
    UNSAT = "unsat"


@dataclass(frozen=True)
class Impossible:
    """Why a comparison can never hold: beyond all values of the target by more than the network may be off.

    sense.sign · threshold > target_bound + certified_error + folding, and `slack` more than that.
    """

    comparison: Comparison
    target_bound: float
    """No input of the box gives sense.sign · f a larger value: from the target's formula, run on intervals."""
    certified_error: float
    """No output entry of the network is further away from the target's: from the certificate."""
    folding: float
    """No output entry of the exported graph is further away from the network's; 0 if nothing was folded."""

    @property
    def slack(self) -> float:
        """What is left of the distance, for the rounding of tools."""
        distance = self.comparison.sense.sign * self.comparison.threshold - self.target_bound
        return distance - self.certified_error - self.folding

    def to_json(self) -> dict[str, Any]:
        """For `verdicts.json`."""
        numbers = {name: float(getattr(self, name)) for name in ("target_bound", "certified_error", "folding", "slack")}
        return {"comparison": _described(self.comparison), **{name: to_hex(one) for name, one in numbers.items()}}


@dataclass(frozen=True, eq=False)
class Refutation:
    """Every alternative has a comparison that can never hold: the property is unsatisfiable."""

    impossible: tuple[Impossible, ...]
    """One for each alternative."""

    verdict = Verdict.UNSAT

    def to_json(self) -> dict[str, Any]:
        """For `verdicts.json`."""
        return {"why": "certificate", "alternatives": [one.to_json() for one in self.impossible]}


@dataclass(frozen=True, eq=False)
class Witness:
    """An input of the box whose output satisfies the property."""

    x: Array
    """(tokens, width), float32 numbers"""
    outputs: dict[str, Array]
    """What the network returns there, by who computed it."""
    margin: float
    """By how much all of these satisfy the property."""

    verdict = Verdict.SAT

    def to_json(self) -> dict[str, Any]:
        """For `verdicts.json`."""
        return {
            "why": "witness",
            "input": [[exact_decimal(float(one)) for one in row] for row in self.x],
            "outputs": {name: to_hex(y.tolist()) for name, y in self.outputs.items()},
            "margin": to_hex(self.margin),
        }


@dataclass(frozen=True, eq=False)
class Instance:
    """One line of `instances.csv`."""

    asked: Property
    reason: Refutation | Witness
    reach: str
    """How large the box is."""
    closeness: str
    """How near the thresholds are to where the verdict would not be known."""
    shape: str
    """How the comparisons are combined."""
    timeout: int

    @property
    def verdict(self) -> Verdict:
        """What a verifier should answer."""
        return self.reason.verdict

    def to_json(self) -> dict[str, Any]:
        """For `verdicts.json`."""
        return {
            "verdict": self.verdict.value,
            "box": self.reach,
            "margin": self.closeness,
            "shape": self.shape,
            "reason": self.reason.to_json(),
        }


def _described(one: Comparison) -> dict[str, Any]:
    return {"output": list(one.entry), "is": one.sense.value, "threshold": exact_decimal(one.threshold)}
