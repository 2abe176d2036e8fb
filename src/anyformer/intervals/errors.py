"""What goes wrong when a function is run on intervals, and the advice that every such message ends with."""

from anyformer.errors import AnyformerError
from anyformer.intervals.runs import record

ADVICE = "Rewrite it with functions that intervals support, or declare a modulus instead (lipschitz=… / --lipschitz)."


# Keyword values that are allowed because they are the defaults anyway.
_USUAL = {"where": True, "overwrite_input": False, "subok": True, "keepdims": False}


class IntervalError(AnyformerError):
    """A step of a function that intervals cannot follow; the message says which step and what to write instead.

    It is recorded in the current run as soon as it is made: a function that catches it gets no enclosure.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        record(self)


class UnknownAttributeError(IntervalError, AttributeError):
    """An array attribute that intervals do not have. An AttributeError too, as `hasattr` and NumPy expect."""


def unsupported(name: str) -> IntervalError:
    """The error for a NumPy function that has no interval version."""
    return IntervalError(f"{name} is not supported on intervals. {ADVICE}")


def refuse_options(name: str, options: dict[str, object]) -> None:
    """Raise if NumPy keywords were given that intervals do not take, and not as NumPy takes them anyway."""
    given = sorted(key for key, value in options.items() if value is not None and value is not _USUAL.get(key))
    if "out" in given:
        raise IntervalError(
            f"{name}(…, out=…) is not supported on intervals: a plain array cannot hold them."
            " Write y = y + x instead of y += x, and make arrays to be filled with np.zeros_like(x)."
        )
    if given:
        raise IntervalError(f"{name} does not take {', '.join(given)} on intervals. {ADVICE}")


def refuse_order(name: str, order: object) -> None:
    """Raise for an order of entries that depends on how an array lies in memory."""
    if order not in ("C", "F"):
        raise IntervalError(
            f"{name} on intervals takes the orders 'C' and 'F'; got {order!r}, which depends on how the array lies in"
            " memory. Leave the order out."
        )
