"""What the universality checker reports."""

import dataclasses
import enum
from dataclasses import dataclass
from typing import Any, final

from anyformer.patterns.universality.conditions import Reach, Relay, SelfLoops, TokenPath
from anyformer.patterns.universality.growth import Growth
from anyformer.patterns.universality.repair import Repair
from anyformer.patterns.universality.witnesses import NeverMeet


class Universality(enum.Enum):
    """What is known about networks with this pattern. "Not covered" does not mean "not universal"."""

    PAPER_B = "universal: it meets all three conditions of Paper B's Assumption 1"
    STAR = "universal: it contains a star, which suffices by BigBird's argument"
    AVERAGING = "universal: every output comes to depend on every input, which suffices for averaging neighbourhoods"
    CAUSAL = "causally universal: outputs depend on all earlier inputs and no later ones, which suffices for averaging"
    NOT_COVERED = "not covered: no theorem here applies, which does not mean that it is not universal"
    REFUTED = "refuted: some output can never depend on some input"


@final
@dataclass(frozen=True)
class UniversalityReport:
    """The verdict on a pattern at one length, and each condition of Assumption 1 with its witness."""

    pattern: str
    tokens: int
    period: int
    verdict: Universality
    self_loops: SelfLoops
    path: TokenPath
    reach: Reach
    relay: Relay | None
    never_meet: NeverMeet | None
    connections: tuple[int, ...]  # of each layer, over all its heads
    growth: Growth | None
    causal_reach: Reach | None  # of a causal pattern: does every output come to depend on every earlier input?
    repair: Repair  # to meet all three conditions; a causal pattern stays causal and becomes causally universal
    repair_without_path: Repair  # to meet conditions 1 and 3, which is more than averaging needs; or as above

    @property
    def is_universal(self) -> bool:
        """Whether some theorem shows that it is universal."""
        return self.verdict in (Universality.PAPER_B, Universality.STAR, Universality.AVERAGING)

    @property
    def is_causally_universal(self) -> bool:
        """Whether a theorem shows that it is universal among functions whose outputs depend on no later input."""
        return self.verdict is Universality.CAUSAL

    @property
    def repair_in_words(self) -> str:
        """What the repair is for, and the repair."""
        aim = "to be causally universal" if self.causal_reach else "to meet Assumption 1"
        return f"{aim}: {self.repair}"

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    def __str__(self) -> str:
        lines = [
            f"{self.pattern}, {self.tokens} tokens: {self.verdict.value}",
            f"  1. self-loops: {self.self_loops}",
            f"  2. path γ: {self.path}",
            f"  3. reach: {self.reach}",
        ]
        lines += [f"  star: {self.relay}"] if self.relay else []
        lines += [f"  causal reach: {self.causal_reach}"] if self.causal_reach else []
        counts = ", ".join(f"{count:,}" for count in self.connections)
        lines.append(f"  connections a layer: {counts}{f'; grow as {self.growth}' if self.growth else ''}")
        lines += [f"  {self.repair_in_words}"] if self.repair.connections else []
        return "\n".join(lines)


def _plain(value: object) -> Any:
    """Values as JSON has them. A value with fields says of what kind it is, and itself in words."""
    if dataclasses.is_dataclass(value):
        fields = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"kind": type(value).__name__, **fields, "in_words": str(value)}
    if isinstance(value, enum.Enum):
        return value.name.lower()
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value
