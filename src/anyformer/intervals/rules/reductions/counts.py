"""How many entries there are: np.size, and why there is no np.count_nonzero."""

from typing import Any

from anyformer.intervals.conditions import AS_NUMBERS
from anyformer.intervals.ends import Ends
from anyformer.intervals.errors import IntervalError


def size(a: Ends, axis: int | None = None) -> int:
    """np.size."""
    return a.low.size if axis is None else a.low.shape[axis]


def count_nonzero(a: Ends, **how: Any) -> Ends:
    """Refused: it gives integers."""
    raise IntervalError(
        f"np.count_nonzero gives integers, and intervals are of float64. Add up numbers instead. {AS_NUMBERS}"
    )
