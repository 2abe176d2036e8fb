"""How far a token's vector moves when other tokens change, by how far away they stand: how far context is carried."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.contextuality.layers import Layered, run_checked
from anyformer.contextuality.report import Sensitivity
from anyformer.contextuality.sequences import Sequences
from anyformer.errors import ContextualityError

SAMPLE: Final = 32
"""Sequences that are changed, at random where there are more."""


def measure_sensitivity(
    model: Layered,
    sequences: Sequences,
    changes: Sequence[int],
    spreads: Sequence[float],
    margins: Sequence[float],
    seed: int,
) -> tuple[Sensitivity, ...]:
    """Replace 1, 2, k tokens of some sequences by others of the same text, and compare the vectors everywhere else.

    Special tokens are neither replaced nor used. A number of changes that no sequence has room for is left out.
    """
    for changed in changes:
        if changed < 1:
            raise ContextualityError(f"the changed tokens must be at least 1; got {changed}.")
    pool = np.concatenate(sequences.rows)
    pool = pool[~np.isin(pool, list(sequences.special))]
    if len(np.unique(pool)) < 2:
        return ()
    found = (_changed(model, sequences, pool, k, spreads, margins, seed) for k in dict.fromkeys(changes))
    return tuple(one for one in found if one is not None)


def _changed(
    model: Layered,
    sequences: Sequences,
    pool: Integers,
    changed: int,
    spreads: Sequence[float],
    margins: Sequence[float],
    seed: int,
) -> Sensitivity | None:
    rng = np.random.default_rng((seed, changed))
    room = [k for k, row in enumerate(sequences.rows) if _free(row, sequences).sum() >= changed and len(row) > changed]
    chosen = rng.permutation(room)[:SAMPLE]
    if not len(chosen):
        return None
    movements: list[list[Array]] = [[] for _ in spreads]
    gaps: list[Integers] = []
    for number in chosen.tolist():
        row = sequences.rows[number]
        where = np.sort(rng.permutation(np.flatnonzero(_free(row, sequences)))[:changed])
        other = row.copy()
        for position in where.tolist():
            other[position] = rng.choice(pool[pool != row[position]])
        others = np.setdiff1d(np.arange(len(row)), where)
        gaps.append(np.abs(others[:, None] - where).min(axis=1))
        for k, layer in enumerate(run_checked(model, sequences, np.stack([row, other]))):
            apart = layer[1].astype(np.float64) - layer[0]
            movements[k].append(np.sqrt((apart[others] ** 2).sum(axis=1)))
    return _summary(changed, np.concatenate(gaps), [np.concatenate(one) for one in movements], spreads, margins)


def _free(row: Integers, sequences: Sequences) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return ~np.isin(row, list(sequences.special))


def _summary(
    changed: int, gaps: Integers, movements: list[Array], spreads: Sequence[float], margins: Sequence[float]
) -> Sensitivity:
    """Gaps in the groups 1, 2, 3–4, 5–8, …: the number of a group is that of the bits of gap − 1."""
    group = np.ceil(np.log2(gaps)).astype(np.int64)
    present = np.unique(group)
    relative = [moved / spread if spread > 0 else moved for moved, spread in zip(movements, spreads, strict=True)]
    return Sensitivity(
        changed=changed,
        gaps=tuple(int(2 ** (k - 1)) + 1 if k > 0 else 1 for k in present.tolist()),
        moved=tuple(tuple(float(one[group == k].mean()) for k in present) for one in relative),
        reached=tuple(float((one > margin).mean()) for one, margin in zip(movements, margins, strict=True)),
        smallest=tuple(float(one.min()) for one in relative),
    )
