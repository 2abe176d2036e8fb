"""Small certificates that claim more than anybody can check: they are to be refused quickly, in little memory."""

import numpy as np
from flint import arb

from anyformer.certificates import Effort, Evidence, Grid
from anyformer.networks import BlockShape, FeedForwardStage, Network
from anyformer.targets.moduli import Lipschitz
from anyformer.targets.target import Symmetry, Target
from tests.hunt.claims import ClaimCase

# What is within it is proved in seconds, what is beyond it must be turned down.
ALLOWED = Effort(cells=1 << 12, memory=1 << 28, seconds=60.0)
# Tokens, width, cells per axis.
SIZES = [
    (12, 1, 4),
    (20, 1, 2),
    (60, 1, 2),
    (3, 1, 2**20),
    (2, 2, 2**15),
    (2, 6, 2**5),
    (2, 30, 2),
    (2, 64, 2),
    (10, 3, 64),
    (200, 1, 2),
    (9, 1, 32),
]


def greedy(rng: np.random.Generator) -> ClaimCase:
    """Zero against zero, on a grid with far too many cells."""
    tokens, width, cells = SIZES[rng.integers(len(SIZES))]
    cuts = np.linspace(0.0, 1.0, cells + 1)
    grid = Grid((cuts[:-1],) * width, (cuts[1:],) * width)
    symmetry = list(Symmetry)[rng.integers(2)]
    kind = list(Evidence)[rng.integers(2)]
    target = Target(lambda x: 0.0 * x, tokens, width, Lipschitz(1.0), "zero", symmetry=symmetry)
    eye = np.eye(width)
    stage = FeedForwardStage(
        "vanish",
        np.concatenate([eye, -eye])[None],
        np.zeros((1, 2 * width)),
        np.concatenate([-eye, eye], axis=1)[None],
        np.zeros((1, width)),
    )
    positions = rng.random((tokens, width)) * 0.0 if rng.random() < 0.3 else None
    network = Network(tokens, width, BlockShape(1, 1, 2 * width), (stage,), positions)
    sizes = f"{tokens} tokens of {width}, {cells} cells per axis"
    what = f"{sizes}, {kind.name}, {symmetry.name}, {'with' if positions is not None else 'without'} positions"
    tolerance = float(rng.choice([1.0, 1e-6]))
    return ClaimCase(what, network, target, grid, 2.0, tolerance, lambda: arb(0), kind, effort=ALLOWED)
