"""Comparisons, logic on them, and the choices that they make. A condition holds where its form is positive.

At a tie, where the form is 0, `>` and `>=` differ. A program can hold only choices that are continuous, and for these
it makes no difference.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.programs.builder import Builder
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.tracing.axes import Kind
from anyformer.programs.tracing.broadcasting import aligned
from anyformer.programs.tracing.pairs import pair_forms
from anyformer.programs.tracing.pairs.fixed import Fixed, Hidden
from anyformer.programs.tracing.pairs.heads import MASKED
from anyformer.programs.tracing.pairs.multilinear import Multilinear
from anyformer.programs.tracing.pairs.pair_forms import PairForm
from anyformer.programs.tracing.rules.elementwise import apply_each
from anyformer.programs.tracing.runs import Run
from anyformer.programs.tracing.traced import Traced, as_pair, each, settled

AS_NUMBERS = (
    "Conditions are no numbers: a step from 0 to 1 cannot be traced. Use np.where(condition, this, that), np.maximum or"
    " np.minimum; products with floats can be traced, x * (x > 0)."
)


def _negated(builder: Builder, a: Form) -> Form:
    return -a


COMPARISONS: Final[dict[np.ufunc, Callable[..., Form]]] = {
    np.greater: lambda builder, a, b: a - b,
    np.greater_equal: lambda builder, a, b: a - b,
    np.less: lambda builder, a, b: b - a,
    np.less_equal: lambda builder, a, b: b - a,
}


LOGIC: Final[dict[np.ufunc, Callable[..., Form]]] = {
    np.logical_and: lambda builder, a, b: builder.minimum(a, b),
    np.logical_or: lambda builder, a, b: builder.maximum(a, b),
    np.logical_not: _negated,
    np.bitwise_and: lambda builder, a, b: builder.minimum(a, b),
    np.bitwise_or: lambda builder, a, b: builder.maximum(a, b),
    np.invert: _negated,
}


def compared(run: Run, ufunc: np.ufunc, *operands: Any) -> Traced:
    """A comparison, as a condition."""
    result = apply_each(run, f"np.{ufunc.__name__}", operands, COMPARISONS[ufunc], None)
    if ufunc in (np.greater_equal, np.less_equal):
        # Between constants a tie is decided: nudge it to the side on which it holds.
        result = result.mapped(_with_ties)
    return as_condition(result)


def _with_ties(entry: Any) -> Any:
    if isinstance(entry, Form) and entry.is_constant and not entry.constant.most_doubt:
        return Form.of(np.where(np.asarray(entry.constant.value) >= 0, 1.0, -1.0))
    return entry


def combined(run: Run, ufunc: np.ufunc, *operands: Any) -> Traced:
    """Conditions combined by logic."""
    if not all(is_condition(operand) for operand in operands):
        raise NotTraceable(f"np.{ufunc.__name__} takes conditions, such as x > 0; got numbers. Compare them first.")
    signs = tuple(one if isinstance(one, Traced) else np.where(one, 1.0, -1.0) for one in operands)
    return as_condition(apply_each(run, f"np.{ufunc.__name__}", signs, LOGIC[ufunc], None))


def as_condition(traced: Traced) -> Traced:
    """The same entries, as a condition."""
    return Traced(traced.run, traced.axes, traced.entries, is_condition=True)


def is_condition(operand: Any) -> bool:
    """Whether it is made of truth values."""
    if isinstance(operand, Traced):
        return operand.is_condition
    return bool(np.asarray(operand).dtype == np.bool_)


def times_condition(run: Run, a: Any, b: Any) -> Traced:
    """A number times a condition: the number where it holds, else 0."""
    condition, number = (a, b) if is_condition(a) else (b, a)
    if is_condition(number) or (not isinstance(number, Traced) and not _is_float64(condition, number)):
        raise NotTraceable(AS_NUMBERS)
    return chosen(run, condition, number, 0.0)


def _is_float64(condition: Any, number: Any) -> bool:
    """Whether NumPy's product of the two is of float64: integers beside truth values stay integers."""
    return bool(getattr(condition, "is_converted", False) or np.asarray(number).dtype == np.float64)


def chosen(run: Run, condition: Any, *branches: Any) -> Traced:
    """np.where."""
    if len(branches) != 2:
        raise NotTraceable(
            "np.where(condition) alone asks where a condition holds, which differs from input to input."
            " Give it both branches: np.where(condition, this, that)."
        )
    if any(is_condition(branch) for branch in branches if isinstance(branch, Traced)):
        raise NotTraceable(AS_NUMBERS)
    if not is_condition(condition):
        raise NotTraceable("np.where takes a condition, such as x > 0; got numbers. Write np.where(x != 0, …) in full.")
    if not isinstance(condition, Traced):
        return _chosen_by_mask(run, np.asarray(condition), *branches)
    yes, no = (_finite(branch) for branch in branches)
    return apply_each(run, "np.where", (condition, yes, no), lambda builder, c, a, b: builder.choice(c, a, b), None)


def _finite(branch: Any) -> Any:
    if not isinstance(branch, Traced) and not np.isfinite(np.asarray(branch, dtype=np.float64)).all():
        raise NotTraceable("a branch of np.where may be infinite only beside scores that a constant mask hides.")
    return branch


def _chosen_by_mask(run: Run, mask: Any, yes: Any, no: Any) -> Traced:
    """A choice by place. Beside −∞, or a large negative number, it is a mask for a softmax."""
    for hides, kept, other in ((~mask, yes, no), (mask, no, yes)):
        if isinstance(kept, Traced) and _is_mask_value(other):
            return _hidden(run, kept, hides)
    ones = mask.astype(np.float64)
    axes, (a, b, m) = aligned(run, (_finite(yes), _finite(no), ones))
    rank = sum(axis.kind is Kind.TOKENS for axis in axes)

    def step(first: Any, second: Any, share: Any) -> Any:
        if all(isinstance(entry, Form) for entry in (first, second, share)):
            return run.builder.choice(share, first, second)
        apart = as_pair(first, 0) + as_pair(second, 0).times(Number(-1.0))
        result = as_pair(second, 0) + pair_forms.product(run.builder, as_pair(share, 0), apart)
        return settled(run.builder, result, rank)

    return Traced(run, axes, each(step, a, b, m))


def _is_mask_value(value: Any) -> bool:
    return not isinstance(value, Traced) and bool((np.asarray(value, dtype=np.float64) <= MASKED).all())


def _hidden(run: Run, scores: Traced, hides: Any) -> Traced:
    """The scores with −∞ where a constant mask says so."""
    axes, (entries, places) = aligned(run, (scores, hides.astype(np.float64)))
    rank = sum(axis.kind is Kind.TOKENS for axis in axes)
    if rank == 0:
        raise NotTraceable("-np.inf may hide scores over tokens only; this array has no axis of tokens.")
    return Traced(run, axes, each(lambda entry, place: _with_hidden(run, entry, place), entries, places))


def _with_hidden(run: Run, entry: Any, place: Any) -> PairForm:
    fixed = _table(place)
    if fixed is None:
        return as_pair(entry, 0)
    where = np.broadcast_to(fixed.values > 0, (run.tokens,) * len(fixed.slots))
    return as_pair(entry, 0) + PairForm(Multilinear(hidden=Hidden(fixed.slots, where)))


def _table(place: Any) -> Fixed | None:
    """The 0s and 1s of a mask with the slots that they are over; None if nothing is hidden."""
    if isinstance(place, PairForm):
        if place.plain.is_zero:
            return None
        term = place.plain.terms.get(("fixed",))
        if term is not None:
            return term.fixed
        ((slot, place),) = place.plain.own.items()
    else:
        slot = 0
    if place.constant.is_exactly_zero:
        return None
    return Fixed((slot,), place.constant)


def selected(run: Run, condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0.0) -> Traced:
    """np.select: the first choice whose condition holds, as nested choices."""
    result = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        result = chosen(run, condition, choice, result)
    if not isinstance(result, Traced):
        raise NotTraceable("np.select takes at least one condition.")
    return result
