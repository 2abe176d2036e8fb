"""The range of a target on boxes, from its own formula run on intervals."""

from anyformer.arrays import Array
from anyformer.intervals import (
    IntervalArray,
    MeanValueForms,
    enclose,
    enclose_each,
    enclose_slopes,
    enclose_slopes_each,
)
from anyformer.targets.target import Target

# Following slopes takes memory and time in proportion to the number of inputs. With more of them than this, no proof
# has few enough cells anyway.
MOST_INPUTS = 32


def enclosure(target: Target, low: Array, high: Array) -> IntervalArray:
    """The target on boxes (batch, tokens, width), on all at once or, if it takes one sequence, on one after the other.

    Raises IntervalError if intervals cannot follow its function.
    """
    return (enclose if target.vectorised else enclose_each)(target.function, low, high)


def range_on_boxes(target: Target, low: Array, high: Array) -> tuple[Array, Array]:
    """Bounds of every output entry on boxes of inputs, all of shape (batch, tokens, width); infinite if unknown."""
    values = enclosure(target, low, high)
    return values.low, values.high


def can_have_slopes(target: Target) -> bool:
    """Whether mean value forms may be asked for: of a function with few inputs."""
    return target.tokens * target.width <= MOST_INPUTS


def forms_on_boxes(target: Target, low: Array, high: Array) -> MeanValueForms:
    """The target on boxes as mean value forms; infinite where nothing is known."""
    return (enclose_slopes if target.vectorised else enclose_slopes_each)(target.function, low, high)
