"""Functions on sequences, written in plain NumPy, run on intervals: this bounds their range on boxes."""

from anyformer.intervals.arrays import IntervalArray
from anyformer.intervals.boxes import MeanValueForms, enclose, enclose_each, enclose_slopes, enclose_slopes_each
from anyformer.intervals.errors import IntervalError

__all__ = [
    "IntervalArray",
    "IntervalError",
    "MeanValueForms",
    "enclose",
    "enclose_each",
    "enclose_slopes",
    "enclose_slopes_each",
]
