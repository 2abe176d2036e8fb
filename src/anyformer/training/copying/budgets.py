"""What is compared: sparsity patterns with about equally many links, at every depth, under one budget."""

from dataclasses import asdict, dataclass
from typing import Any

from anyformer.patterns import Arrangement, Fixed, Full, Longformer, PatternFamily, Random, SlidingWindow, Star, Strided
from anyformer.patterns import to_json as pattern_to_json
from anyformer.training.copying.task import Alphabet
from anyformer.training.run.recipe import Schedule


@dataclass(frozen=True)
class Entrant:
    """One pattern of the comparison; the factorised ones come in several arrangements."""

    kind: str
    family: PatternFamily
    arrangement: Arrangement | None = None

    @property
    def name(self) -> str:
        """The kind and its arrangement."""
        return self.kind if self.arrangement is None else f"{self.kind}-{self.arrangement.value}"


def entrants(window: int) -> tuple[Entrant, ...]:
    """The paper's patterns, a window without far links, and dense attention as the control.

    The offset of a copy is a multiple of the paper's stride: one link of "strided" is enough for each symbol. Strides
    one shorter need two.

    Args:
        window: the paper's w: the stride, the block, and how far a window reaches on either side.
    """
    factorised = (
        ("strided", lambda how: Strided(window, how)),
        ("strided-off", lambda how: Strided(window - 1, how)),
        ("fixed", lambda how: Fixed(window, how)),
    )
    return (
        Entrant("dense", Full()),
        *(Entrant(kind, make(how), how) for kind, make in factorised for how in Arrangement),
        Entrant("star", Star()),
        Entrant("star-window", Longformer(half_width=window, global_tokens=1)),
        Entrant("random", Random()),
        Entrant("window", SlidingWindow(window)),
    )


@dataclass(frozen=True)
class Budget:
    """The task, the model and the steps: the same for all patterns."""

    alphabet: Alphabet
    window: int
    width: int
    heads: int
    depths: tuple[int, ...]
    schedule: Schedule
    evaluated: int
    """Sequences measured while training."""
    judged: int
    """Other sequences, measured at the end."""
    seeds: int

    @property
    def entrants(self) -> tuple[Entrant, ...]:
        """What is compared."""
        return entrants(self.window)

    def to_json(self) -> dict[str, Any]:
        """Everything that decides the outcomes; seeds are left out, because more of them may follow."""
        told = asdict(self)
        schedule = {name: value for name, value in told.pop("schedule").items() if name != "seed"}
        patterns = {entrant.name: pattern_to_json(entrant.family) for entrant in self.entrants}
        del told["seeds"]
        return {**told, "depths": list(self.depths), "schedule": schedule, "patterns": patterns}


BUDGETS = {
    "smoke": Budget(
        Alphabet(length=7, symbols=7),
        *(4, 16, 2, (1, 2)),
        Schedule(steps=20, batch=8, learning_rate=2e-3, weight_decay=0.0, evaluate_every=10, save_every=10),
        *(16, 32, 1),
    ),
    "hour": Budget(
        Alphabet(length=31, symbols=31),
        *(8, 64, 4, (1, 2, 3, 4)),
        Schedule(steps=2000, batch=32, learning_rate=3e-3, weight_decay=0.0, evaluate_every=100, save_every=500),
        *(256, 2048, 2),
    ),
    "paper": Budget(
        Alphabet(length=127, symbols=127),
        *(16, 256, 4, (1, 2, 3, 4)),
        Schedule(steps=20_000, batch=64, learning_rate=1e-3, weight_decay=0.0, evaluate_every=500, save_every=500),
        *(256, 2048, 3),
    ),
}
"""A smoke test, what two cores do in about an hour, and the paper's size; the paper's number of steps is not known."""
