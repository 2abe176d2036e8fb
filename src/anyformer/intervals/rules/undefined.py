"""Steps that may have no value for some members: √−1, 1/0, ∞ − ∞, 0·∞, sin ∞. NumPy's float64 is NaN there.

A rule that finds such entries reports them here. Nothing is known about these entries, and their whole box is suspect
(`runs`). Infinite values are different: log 0 = −∞, an overflow to ∞ and masks of −∞ are values, as long as no NaN can
follow from them. So an infinite end may also stand for ±∞ itself.
"""

import numpy as np

from anyformer.intervals.ends import Ends, Plain
from anyformer.intervals.errors import ADVICE
from anyformer.intervals.runs import current

INFINITIES = "∞ − ∞, 0·∞ or ∞/∞ may occur on this box, which is no number."


def unknown(result: Ends, entries: Plain, reason: str) -> Ends:
    """The result with some entries unknown and their boxes suspect; if there are no such entries, nothing is done."""
    if not entries.any():
        return result
    run = current()
    if run is not None:
        run.suspect(entries, reason)
    low, high = np.where(entries, -np.inf, result.low), np.where(entries, np.inf, result.high)
    return Ends(np.asarray(low), np.asarray(high))


def outside(name: str, needed: str, a: Ends, entries: Plain, advice: str = ADVICE) -> str:
    """Why a function may have no value, with the first argument for which this may happen."""
    low, high = (float(np.broadcast_to(end, entries.shape)[entries].flat[0]) for end in (a.low, a.high))
    return (
        f"The function may leave its domain on this box: {name} needs arguments {needed};"
        f" got the interval [{low!r}, {high!r}]. {advice}"
    )
