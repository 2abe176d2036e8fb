"""NumPy functions that intervals may misread: judged at points by NumPy itself, and by a proof about a constant."""

from dataclasses import dataclass

import numpy as np
from flint import arb

from anyformer.errors import AnyformerError
from anyformer.intervals import enclose
from anyformer.targets.target import Symmetry, Target
from tests.hunt.build import VANISH, scalar_network
from tests.hunt.claims import ClaimCase, whole
from tests.hunt.rulings import Outcome, Ruling
from tests.hunt.templates import PROGRAMS, Program


@dataclass(frozen=True, eq=False)
class ProgramCase:
    """A function and boxes (batch, tokens, width), within [0, 1]."""

    description: str
    function: Program
    low: np.ndarray
    high: np.ndarray
    seed: int

    def judge(self) -> Outcome:
        """False if a value at a point of a box lies outside of the enclosure, or a proof about a constant is wrong."""
        try:
            found = enclose(self.function, self.low, self.high)
        except AnyformerError as error:
            return Outcome(Ruling.REFUSED, str(error))
        rng = np.random.default_rng(self.seed)
        for _ in range(8):
            x = self.low + rng.random(self.low.shape) * (self.high - self.low)
            values = self.plain(x)
            wrong = np.isfinite(values) & ~((found.low <= values) & (values <= found.high))
            if wrong.any():
                at = tuple(int(k) for k in np.argwhere(wrong)[0])
                shown = f"[{found.low[at]!r}, {found.high[at]!r}]"
                return Outcome(Ruling.FALSE, f"{values[at]!r} at {at}, enclosed by {shown}; x = {x[at[0]].tolist()}")
        return self.about_a_constant(float(np.clip(np.nan_to_num(found.low.min()), -9.0, 9.0)))

    def plain(self, x: np.ndarray) -> np.ndarray:
        """The values at points, one sequence after the other."""
        with np.errstate(all="ignore"):
            return np.concatenate([np.asarray(self.function(one[None].copy()), dtype=np.float64) for one in x])

    def about_a_constant(self, value: float) -> Outcome:
        """Verify that the function is a constant, in L¹, against its mean distance at many points."""
        tokens = self.low.shape[1]
        rng = np.random.default_rng(self.seed)
        distances = np.abs(self.plain(rng.random((2000, tokens, 1))) - value).sum(axis=(1, 2))
        # Six standard errors below the mean.
        truth = float(distances.mean() - 6 * distances.std() / np.sqrt(len(distances)))
        target = Target(self.function, tokens, 1, None, "program", symmetry=Symmetry.NONE)
        network = scalar_network([[VANISH]], tokens, shift=value)
        tolerance = max(truth / 2, 1e-3)
        claim = ClaimCase("", network, target, whole(), 1.0, tolerance, lambda: arb(max(truth, 0.0)).union(arb(1e9)))
        return claim.judge()


def programs(rng: np.random.Generator) -> ProgramCase:
    """A template with a random constant, on random boxes."""
    program = PROGRAMS[rng.integers(len(PROGRAMS))]
    c = float(rng.choice([0.25, 0.5, 0.75, 1 / 3, rng.random() * 0.9 + 0.05]))
    shape = (int(rng.choice([1, 1, 3])), int(rng.integers(2, 4)), 1)
    if rng.random() < 0.4:
        low, high = np.zeros(shape), np.ones(shape)
    else:
        low = rng.random(shape)
        high = np.minimum(low + rng.choice([0.0, 1e-9, 0.1, 0.5]) * rng.random(shape), 1.0)
    return ProgramCase(f"{program.__name__}({c!r})", program(c), low, high, int(rng.integers(2**31)))
