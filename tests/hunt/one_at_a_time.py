"""Functions that take one sequence at a time: on a batch of boxes they mean something else."""

from collections.abc import Callable

import numpy as np
from flint import arb, fmpq

from anyformer.certificates import Evidence, Grid
from anyformer.networks import BlockShape, FeedForwardStage, Network
from anyformer.targets.target import Symmetry, Target
from tests.hunt.claims import ClaimCase
from tests.hunt.real import exact

# A formula for one sequence, and the matrix that it multiplies the tokens with.
Template = tuple[str, Callable[[np.ndarray], np.ndarray], Callable[[int], np.ndarray]]
TEMPLATES: list[Template] = [
    ("x − x[0]", lambda x: x - x[0], lambda n: np.eye(n) - np.eye(n)[[0] * n]),
    ("x − x[−1]", lambda x: x - x[-1], lambda n: np.eye(n) - np.eye(n)[[-1] * n]),
    ("x[::−1]", lambda x: x[::-1], lambda n: np.eye(n)[::-1]),
    ("x.sum(axis=0) + 0·x", lambda x: x.sum(axis=0) + 0 * x, lambda n: np.ones((n, n))),
    ("x.mean(axis=0) + 0·x", lambda x: np.mean(x, axis=0) + 0 * x, lambda n: np.ones((n, n)) / n),
    ("cumsum(x, axis=0)", lambda x: np.cumsum(x, axis=0), lambda n: np.tril(np.ones((n, n)))),
    ("x·(x.ndim == 2)", lambda x: x * (x.ndim == 2), np.eye),
    ("x + x[0]", lambda x: x + x[0], lambda n: np.eye(n) + np.eye(n)[[0] * n]),
    ("x / len(x)", lambda x: x / len(x), lambda n: np.eye(n) / n),
    ("roll(x, 1, axis=0)", lambda x: np.roll(x, 1, axis=0), lambda n: np.roll(np.eye(n), 1, axis=0)),
]


def one_at_a_time(rng: np.random.Generator) -> ClaimCase:
    """A linear function of the tokens against a multiple of the input, in L², where the truth is a sum of squares."""
    shown, function, matrix = TEMPLATES[rng.integers(len(TEMPLATES))]
    tokens = int(rng.choice([2, 2, 4]))
    slope = float(rng.choice([0.0, 1.0, 1.0, 0.5]))
    A = matrix(tokens)
    truth = _square_mean(A - slope * np.eye(tokens))
    cells = int(rng.choice([1, 8, 32])) if tokens == 2 else 2
    cuts = np.linspace(0.0, 1.0, cells + 1)
    target = Target(function, tokens, 1, None, "one at a time", symmetry=Symmetry.NONE, vectorised=False)
    return ClaimCase(
        f"f = {shown} for {tokens} tokens, one sequence at a time; g = {slope}·x; {cells} cells",
        _multiple(slope, tokens),
        target,
        Grid((cuts[:-1],), (cuts[1:],)),
        2.0,
        float(truth.mid()) * float(rng.choice([0.2, 0.5, 0.9])) or 0.1,
        lambda: truth,
        Evidence.UNCONDITIONAL,
        float(rng.choice([1.5, 1e6])),
    )


def _square_mean(A: np.ndarray) -> arb:
    """√∫‖A x‖² over the unit cube: entries of x have mean 1/2 and variance 1/12."""
    total = fmpq(0)
    for row in A.tolist():
        entries = [exact(a) for a in row]
        total += sum(entries, fmpq(0)) ** 2 / 4 + sum((a * a for a in entries), fmpq(0)) / 12
    return arb(total).sqrt()


def _multiple(slope: float, tokens: int) -> Network:
    """slope·x for x at least 0."""
    stage = FeedForwardStage(
        "multiple", np.ones((1, 1, 1)), np.zeros((1, 1)), np.full((1, 1, 1), slope - 1), np.zeros((1, 1))
    )
    return Network(tokens, 1, BlockShape(2, 1, 1), (stage,))
