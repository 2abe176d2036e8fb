"""The value map of the averaging method: ids from the largest down, similar neighbours merged, several runs per layer.

A *run* is a stretch of neighbouring ids that get one value. A *group* is the runs that one layer serves. In a group
whose lowest id is `base`, the layer clamps all its tokens down to `base` and moves them to the value of the lowest
run; every higher run adds only its difference to the run below. Tokens of later groups sit below the ramp; tokens of
earlier ones are gone.
"""

from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.construction.stages.draft import Draft
from anyformer.construction.stages.staircase import Steps, step_stage
from anyformer.networks.roles import Role


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs from the highest ids down: the lowest and highest id of each, its value (runs, width), its group."""

    lowest: Integers
    highest: Integers
    values: Array
    group: Integers

    @property
    def layers(self) -> int:
        """How many groups there are."""
        return int(self.group[-1]) + 1

    @property
    def widest(self) -> int:
        """The largest distance, in ids, that a layer clamps over."""
        starts = np.flatnonzero(np.diff(self.group, prepend=-1))
        ends = np.append(starts[1:], len(self.group)) - 1
        return int((self.highest[starts] - self.lowest[ends]).max())


def find_runs(ids: Integers, outputs: Array, spread: float, slots: int, widest: int) -> Runs:
    """Merge neighbours whose values stay within `spread` of each other, then take `slots` runs to a group.

    No group spans more than `widest` ids: that is how far sums stay exact (`TableSizes.widest`).
    """
    order = np.argsort(-ids)
    ids, outputs = ids[order], outputs[order]
    starts = _run_starts(ids, outputs, spread, widest)
    ends = np.append(starts[1:], len(ids)) - 1
    top = np.maximum.reduceat(outputs, starts, axis=0)
    bottom = np.minimum.reduceat(outputs, starts, axis=0)
    lowest, highest = ids[ends], ids[starts]
    return Runs(lowest, highest, (top + bottom) / 2, _groups(lowest, highest, slots, widest))


def _run_starts(ids: Integers, outputs: Array, spread: float, widest: int) -> Integers:
    # Neighbours further apart than the spread are always separated first, so on most targets the loop has little to do.
    parted = np.asarray((np.abs(np.diff(outputs, axis=0)) > spread).any(axis=1))
    starts = [0]
    low = high = outputs[0]
    for k in range(1, len(ids)):
        if not parted[k - 1] and ids[starts[-1]] - ids[k] <= widest:
            lower, higher = np.minimum(low, outputs[k]), np.maximum(high, outputs[k])
            if (higher - lower <= spread).all():
                low, high = lower, higher
                continue
        starts.append(k)
        low = high = outputs[k]
    return np.array(starts, dtype=np.int64)


def _groups(lowest: Integers, highest: Integers, slots: int, widest: int) -> Integers:
    group = np.zeros(len(lowest), dtype=np.int64)
    current, first = 0, 0
    for k in range(1, len(lowest)):
        if k - first == slots or highest[first] - lowest[k] > widest:
            current, first = current + 1, k
        group[k] = current
    return group


def value_stage(runs: Runs, slots: int, unit: float, lift: float) -> Draft:
    """The layers: one group each."""
    width, layers = runs.values.shape[1], runs.layers
    slot = np.arange(len(runs.group)) - np.searchsorted(runs.group, runs.group)
    last = np.append(np.diff(runs.group) > 0, True)
    places = runs.lowest.astype(np.float64) * unit + lift
    jumps = runs.values.copy()
    jumps[:-1] -= np.where(last[:-1, None], 0.0, runs.values[1:])
    jumps[last, 0] -= places[last]
    thresholds = np.repeat(places[last][:, None], slots, axis=1)
    by_layer = np.zeros((layers, slots, width))
    thresholds[runs.group, slot] = places
    by_layer[runs.group, slot] = jumps
    return step_stage("value map", Role.VALUE, Steps(thresholds, by_layer), unit / 2, clamp=places[last])
