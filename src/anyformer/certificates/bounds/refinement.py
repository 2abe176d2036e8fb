"""How finely to cut the cells: the highest threshold per box for which the bound is good enough, found on few chunks.

The threshold falls until a sample of the chunks, scaled up, meets the goal; then all chunks are cut by it. Should the
rest be worse than the sample, the threshold falls a little further. Nothing is kept between chunks but their sums.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.bounds.effort import WORK_BOXES
from anyformer.certificates.bounds.interval_bound import forget, interval_sums
from anyformer.certificates.bounds.job import Job, Sums, together
from anyformer.workers import Progress, counted, each

SAMPLED_CHUNKS = 8
FALL = 2.0
TIGHTNESS = 1.5
"""How close the bound comes to the truth if nothing else is asked for, as a factor, and as far as that is cheap."""
# Bounds this close to each other, as a share, tell whether the tolerance can be met. Closer ones are cheap by slopes.
CLOSE, CLOSE_BY_SLOPES = 0.8, 0.95
# Once the tolerance is met, cells are cut further to come closer to the truth, but into no more boxes than this, or
# this many times those that met it; unless a bound tighter than usual is asked for.
CHEAP_BOXES = 1 << 20
EXTRA = 2
# By slopes a box costs more, and fewer of them come closer to the truth.
TIGHTNESS_BY_SLOPES = 1.1
CHEAP_BOXES_BY_SLOPES = 1 << 16
EXTRA_BY_SLOPES = 1


@dataclass(frozen=True, eq=False)
class Goal:
    """What the sum over all cells may be, given the range of f, and how close to the truth it should come.

    Parts of the sum that are *stated* should come out no larger, if that is cheap: they were derived before.
    """

    allowed: Callable[[Array, Array], float]
    tightness: float
    stated: Mapping[str, float] = field(default_factory=dict)

    def is_met(self, sums: Sums, share: float) -> bool:
        """Whether the sums, of a share of the cells, keep to what is allowed."""
        return sums.upper / share <= self.allowed(sums.f_low, sums.f_high)

    def is_settled(self, sums: Sums, p: float, share: float) -> bool:
        """Whether finer cuts are not wanted, or could not help; the sums are of a share of the cells.

        Tight: the upper bound of the norm is within the given factor of the middle between upper and lower bound, which
        is where the truth mostly lies. Hopeless: the error is surely too large, or nothing is known of some output, or
        the bounds have come close around something too large.
        """
        allowed = self.allowed(sums.f_low, sums.f_high)
        upper, lower = sums.upper / share, sums.lower / share
        middle = (upper ** (1 / p) + lower ** (1 / p)) / 2
        tightness = min(self.tightness, TIGHTNESS_BY_SLOPES) if sums.by_slopes else self.tightness
        if upper <= allowed and upper ** (1 / p) <= tightness * middle:
            return share < 1 or all(sums.parts[name] <= most for name, most in self.stated.items())
        is_close = lower > (CLOSE_BY_SLOPES if sums.by_slopes else CLOSE) ** p * upper and middle**p > allowed
        return lower > allowed or not sums.is_known or is_close


def refined_sums(job: Job, goal: Goal, progress: Progress | None = None) -> Sums:
    """The sums over all cells, cut as finely as the goal asks for and the work allows."""
    chunks = job.chunks()
    picked = np.unique(np.linspace(0, len(chunks) - 1, SAMPLED_CHUNKS).round().astype(int))
    sample = [chunks[k] for k in picked]
    try:
        threshold, sums = lowered(job, goal, sample, progress=progress)
        if len(sample) < len(chunks):
            _, sums = lowered(job, goal, chunks, threshold, progress)
    finally:
        forget()
    return sums


def lowered(
    job: Job,
    goal: Goal,
    chunks: list[tuple[int, int]],
    threshold: float = math.inf,
    progress: Progress | None = None,
    most_boxes: float = math.inf,
) -> tuple[float, Sums]:
    """Let the threshold fall until these chunks are settled, or cutting finer would be too much work."""
    share = sum(stop - start for start, stop in chunks) / job.count
    most = min(WORK_BOXES * share, most_boxes)
    while True:
        parts = [(chunk, threshold) for chunk in chunks]
        sums = together(list(counted(each(interval_sums, job, parts), len(parts), progress)))
        if goal.is_met(sums, share) and goal.tightness >= TIGHTNESS:
            most = min(most, _most_once_met(sums, share))
        # Falling by FALL makes at most about FALL times as many boxes.
        if goal.is_settled(sums, job.p, share) or sums.boxes * FALL > most:
            return threshold, sums
        widest = sums.gap_per_box if math.isfinite(sums.gap_per_box) else (sums.upper - sums.lower) / sums.boxes
        following = min(threshold, widest if math.isfinite(widest) else 1.0) / FALL
        if following == 0 or _is_stuck(sums, threshold):
            return threshold, sums
        threshold = following


def _most_once_met(sums: Sums, share: float) -> float:
    """The boxes that may be used to come closer to the truth, once the tolerance is met."""
    if sums.by_slopes:
        return max(EXTRA_BY_SLOPES * sums.boxes, CHEAP_BOXES_BY_SLOPES * share)
    return max(EXTRA * sums.boxes, CHEAP_BOXES * share)


def _is_stuck(sums: Sums, threshold: float) -> bool:
    """Whether every cell that matters is cut as finely as may be already."""
    return math.isfinite(threshold) and sums.gap_per_box > threshold and not math.isfinite(sums.upper)
