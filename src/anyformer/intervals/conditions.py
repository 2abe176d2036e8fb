"""Comparisons of intervals, logic on their outcome, and the choices that `np.where` makes by it.

An outcome has two ends: low says that the comparison holds for all members, high that it holds for some. Where they
agree it is decided. On what is undecided a choice takes the hull of both branches, which holds whichever is taken.

Conditions are a type of their own. NumPy's booleans become int64 in a sum and beside an integer, float16 in np.exp,
int8 elsewhere; intervals know float64 alone. So a condition is a number only beside float64, where NumPy makes 0.0 and
1.0 of it as well, or after `astype(float)`. `refuse_other_types` refuses everything that NumPy computes in other types.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from anyformer.intervals.ends import Ends, Held, ends_of, is_condition, is_truth, truth_of
from anyformer.intervals.errors import IntervalError

AS_NUMBERS = "Conditions are no numbers: use condition.astype(float), and write numbers beside them as floats, 1.0."


def less(a: Ends, b: Ends) -> Ends:
    """a < b."""
    return Ends(a.high < b.low, a.low < b.high)


def less_equal(a: Ends, b: Ends) -> Ends:
    """a ≤ b."""
    return Ends(a.high <= b.low, a.low <= b.high)


def greater(a: Ends, b: Ends) -> Ends:
    """a > b."""
    return less(b, a)


def greater_equal(a: Ends, b: Ends) -> Ends:
    """a ≥ b."""
    return less_equal(b, a)


def equal(a: Ends, b: Ends) -> Ends:
    """a = b: for all members only if both are the same point, for some if the intervals meet."""
    return Ends((a.low == b.high) & (a.high == b.low), (a.low <= b.high) & (b.low <= a.high))


def not_equal(a: Ends, b: Ends) -> Ends:
    """a ≠ b."""
    return logical_not(equal(a, b))


def logical_not(a: Ends) -> Ends:
    """Not a."""
    return Ends(~a.high, ~a.low)


def logical_and(a: Ends, b: Ends) -> Ends:
    """Both: increasing in both outcomes."""
    return Ends(a.low & b.low, a.high & b.high)


def logical_or(a: Ends, b: Ends) -> Ends:
    """Either: increasing in both outcomes."""
    return Ends(a.low | b.low, a.high | b.high)


def logical_xor(a: Ends, b: Ends) -> Ends:
    """One but not the other."""
    return logical_or(logical_and(a, logical_not(b)), logical_and(logical_not(a), b))


def as_truth(value: Any) -> Ends:
    """An operand of logic: booleans as they are, numbers by whether they differ from 0, as NumPy takes them."""
    if is_truth(value):
        return truth_of(value)
    ends = ends_of(value)
    return not_equal(ends, Ends(np.asarray(0.0), np.asarray(0.0)))


def refuse_other_types(name: str, operands: Sequence[Any]) -> None:
    """Raise if NumPy would not compute in float64 with these operands."""
    kinds = [_as_numpy_sees_it(operand) for operand in operands]
    if (found := np.result_type(*kinds)) != np.float64:
        raise IntervalError(f"{name} would be of {found}, and intervals are of float64. {AS_NUMBERS}")


def _as_numpy_sees_it(operand: Any) -> Any:
    if isinstance(operand, (Held, Ends)):
        dtype = np.dtype(np.bool_ if is_truth(operand) else np.float64)
        return dtype.type(0) if isinstance(operand, Held) and operand._is_number else dtype
    return operand if isinstance(operand, (int, float, complex)) else np.asarray(operand)


def refuse_conditions(name: str, operands: Sequence[Any]) -> None:
    """Raise if an operand has booleans: NumPy may then compute the function in another type than float64."""
    if any(map(is_condition, operands)):
        raise IntervalError(f"{name} of conditions is not supported on intervals. {AS_NUMBERS}")


def any_of(a: Any, axis: Any = None, keepdims: bool = False) -> Ends:
    """Whether any entry holds: increasing in every entry."""
    truth = as_truth(a)
    return Ends(*(np.asarray(end.any(axis=axis, keepdims=keepdims)) for end in (truth.low, truth.high)))


def all_of(a: Any, axis: Any = None, keepdims: bool = False) -> Ends:
    """Whether all entries hold: increasing in every entry."""
    truth = as_truth(a)
    return Ends(*(np.asarray(end.all(axis=axis, keepdims=keepdims)) for end in (truth.low, truth.high)))


def where(condition: Any, *branches: Any) -> Ends:
    """Where the condition is decided, the branch it picks; elsewhere the hull of both."""
    if len(branches) != 2:
        raise IntervalError(
            "np.where(condition) alone asks where an undecided condition holds, which differs from member to member."
            " Give it both branches: np.where(condition, this, that)."
        )
    choice = as_truth(condition)
    first, second = branches_of(*branches)
    hull_low, hull_high = np.minimum(first.low, second.low), np.maximum(first.high, second.high)
    low = np.where(choice.low, first.low, np.where(choice.high, hull_low, second.low))
    high = np.where(choice.low, first.high, np.where(choice.high, hull_high, second.high))
    return Ends(low, high)


def branches_of(*branches: Any) -> tuple[Ends, ...]:
    """The branches as ends of one kind: booleans if all are, numbers otherwise."""
    convert = truth_of if all(map(is_truth, branches)) else ends_of
    return tuple(convert(branch) for branch in branches)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Ends:
    """np.select: the first choice whose condition holds, as nested `where`."""
    if not all(map(is_truth, condlist)):
        raise IntervalError("np.select takes conditions made of booleans; got numbers. Write x != 0.")
    result = ends_of(default)
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        result = where(condition, choice, result)
    return result


def heaviside(a: Ends, at_zero: Ends) -> Ends:
    """0 below 0, 1 above, `at_zero` at 0."""
    zero = Ends(np.asarray(0.0), np.asarray(0.0))
    return where(less(a, zero), 0.0, where(greater(a, zero), 1.0, at_zero))


def decided(truth: Ends) -> bool:
    """Whether every entry of an outcome is decided."""
    return bool(np.array_equal(truth.low, truth.high))


COMPARISONS: Final[dict[np.ufunc, Callable[[Ends, Ends], Ends]]] = {
    np.less: less,
    np.less_equal: less_equal,
    np.greater: greater,
    np.greater_equal: greater_equal,
    np.equal: equal,
    np.not_equal: not_equal,
}

LOGIC: Final[dict[np.ufunc, Callable[..., Ends]]] = {
    np.logical_not: logical_not,
    np.logical_and: logical_and,
    np.logical_or: logical_or,
    np.logical_xor: logical_xor,
}

# On booleans alone NumPy's arithmetic is logic: True + True is True.
BITWISE: Final[dict[np.ufunc, Callable[..., Ends]]] = {
    np.invert: logical_not,
    np.bitwise_and: logical_and,
    np.bitwise_or: logical_or,
    np.bitwise_xor: logical_xor,
    np.add: logical_or,
    np.multiply: logical_and,
    np.maximum: logical_or,
    np.minimum: logical_and,
}
