"""How many cells along each coordinate: grow the grid where it helps most until the table is close enough."""

from collections.abc import Callable, Iterator

import numpy as np

from anyformer.certificates.bounds.evidence import Evidence
from anyformer.certificates.bounds.splitting import splitting_groups
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.grids.tables import sampled_error
from anyformer.construction.request import Request
from anyformer.targets.target import Target

# Samples are slightly off, and so is a proof that stops refining, more so if an output depends on many inputs. The
# table must be better than the goal by this factor, by number of inputs.
SAFETY = {1: 1.03, 2: 1.06, 3: 1.15, 4: 1.35}
MOST_SAFETY = 1.6
# The same where a proof by slopes is nearly tight, in norms up to this p.
SAFETY_WITH_SLOPES = {1: 1.01, 2: 1.015, 3: 1.02, 4: 1.03}
MOST_SAFETY_WITH_SLOPES = 1.06
TIGHT_UP_TO = 4.0


def error_of_tables(request: Request) -> Callable[[Lattice], float]:
    """What the proof will find as the error of a grid's table: from samples, or from the modulus where that counts."""
    target, p = request.target, request.p
    if request.evidence is Evidence.UNCONDITIONAL:
        factor, known = safety(request), request.table_errors

        def from_samples(lattice: Lattice) -> float:
            if lattice not in known:
                known[lattice] = sampled_error(target, lattice, p)
            return known[lattice] * factor

        return from_samples
    assert target.modulus is not None
    modulus, volume = target.modulus, target.domain.volume(target.tokens, target.width)

    def from_modulus(lattice: Lattice) -> float:
        half = np.broadcast_to(lattice.cell_sides / 2, (lattice.tokens, lattice.width))
        deviation = modulus.mean_deviation(half, p)
        return float((volume * (deviation**p).sum()) ** (1 / p)) * (1 + 1e-9)

    return from_modulus


def safety(request: Request) -> float:
    """By how much a table must be better than a bound that is to be proved with intervals."""
    inputs = most_inputs(request.target)
    if request.has_slopes and request.p <= TIGHT_UP_TO:
        return SAFETY_WITH_SLOPES.get(inputs, MOST_SAFETY_WITH_SLOPES)
    return SAFETY.get(inputs, MOST_SAFETY)


def most_inputs(target: Target) -> int:
    """How many inputs an output depends on at most, as far as samples show."""
    return max(int((rule.influence > 0).sum()) for rule in splitting_groups(target))


def growing_counts(request: Request, goal: float) -> Iterator[tuple[int, ...]]:
    """Counts of cells per coordinate, each finer than the one before; the last one meets the goal."""
    target = request.target
    counts = (1,) * target.width
    measure = error_of_tables(request)

    def error(some: tuple[int, ...]) -> float:
        return measure(Lattice.with_counts(target, some))

    yield counts
    while error(counts) > goal:
        steps = [_grown(counts, i) for i in range(target.width)]
        counts = min(steps, key=error)
        yield counts
    # Growth goes in large steps; take back what the last step added unnecessarily.
    for i in range(target.width):
        while counts[i] > 1 and error(fewer := (*counts[:i], counts[i] - 1, *counts[i + 1 :])) <= goal:
            counts = fewer
    yield counts


def _grown(counts: tuple[int, ...], i: int) -> tuple[int, ...]:
    more = counts[i] + max(1, counts[i] // 6)
    return (*counts[:i], more, *counts[i + 1 :])
