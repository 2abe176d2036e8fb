"""Functions on sequences, written in plain NumPy, run on intervals: this bounds their range on boxes."""

from anyformer.intervals.arrays import IntervalArray
from anyformer.intervals.boxes import enclose, enclose_each
from anyformer.intervals.errors import IntervalError

__all__ = ["IntervalArray", "IntervalError", "enclose", "enclose_each"]
