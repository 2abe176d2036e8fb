"""Sums, means, maxima, … along axes, and running ones."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.programs.constants import applied
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.tracing.axes import Axis, Kind, sized
from anyformer.programs.tracing.pairs import pair_forms, sums
from anyformer.programs.tracing.rules.elementwise import arithmetic, logaddexp
from anyformer.programs.tracing.rules.unrolling import unrolled
from anyformer.programs.tracing.traced import Entry, Traced, as_pair, boxed, each, settled


def axes_of(traced: Traced, axis: Any, name: str) -> list[int]:
    """The axes that a reduction is asked for, all if none is named. Raises for the batch."""
    ndim = len(traced.axes)
    given = range(ndim) if axis is None else np.atleast_1d(axis).tolist()
    result = []
    for at in given:
        if not -ndim <= at < ndim:
            raise np.exceptions.AxisError(at, ndim)
        result.append(at % ndim)
    if any(traced.axes[at].kind is Kind.BATCH for at in result):
        raise NotTraceable(
            f"{name} over the batch axis mixes sequences that have nothing to do with each other, and cannot be traced."
            " Name the axes: axis=1 for the tokens, axis=2 for their coordinates."
        )
    return result


def without_axis(traced: Traced, axis: int, keepdims: bool) -> tuple[Axis, ...]:
    """The axes without one, or with one of size 1 in its place."""
    kept = (sized(1),) if keepdims else ()
    return (*traced.axes[:axis], *kept, *traced.axes[axis + 1 :])


def over_tokens(traced: Traced, axis: int, keepdims: bool, single: Any, pair: Any) -> Traced:
    """Reduce a token axis; `single` takes (form, length), `pair` takes (pair form, slot, length)."""
    slot, size, rank = traced.slot(axis), traced.axes[axis].size, traced.rank
    names = {at: at - 1 for at in range(slot + 1, rank)}
    builder = traced.builder

    def step(entry: Entry) -> Entry:
        if isinstance(entry, Form):
            result: Form = single(entry, size)
            return result
        done = pair_forms.moved(builder, pair(entry, slot, size), names)
        return settled(builder, done, rank - 1)

    entries = each(step, traced.entries)
    if keepdims:
        entries = np.expand_dims(entries, traced.place(axis))
    return traced.with_entries(without_axis(traced, axis, keepdims), entries)


def over_entries(traced: Traced, axis: int, keepdims: bool, fold: Callable[..., Any]) -> Traced:
    """Reduce a sized axis by a step on two arrays."""
    place, size = traced.place(axis), traced.axes[axis].size
    if size == 0:
        raise NotTraceable("a reduction over an axis without entries cannot be traced.")
    rest = (*traced.axes[:axis], *traced.axes[axis + 1 :])
    parts = [traced.with_entries(rest, boxed(traced.entries.take(at, axis=place))) for at in range(size)]
    total = reduce(fold, parts)
    entries = np.expand_dims(total.entries, place) if keepdims else total.entries
    return traced.with_entries(without_axis(traced, axis, keepdims), entries)


def total(traced: Traced, axis: Any = None, keepdims: bool = False, name: str = "np.sum") -> Traced:
    """The sum."""
    builder = traced.builder
    for at in sorted(axes_of(traced, axis, name), reverse=True):
        if traced.axes[at].kind is Kind.TOKENS:
            traced = over_tokens(
                traced,
                at,
                keepdims,
                lambda form, size: sums.total_over(builder, form, size),
                lambda entry, slot, size: sums.summed(builder, entry, slot, size),
            )
        else:
            traced = _sum_of_entries(traced, at, keepdims)
    return traced


def _sum_of_entries(traced: Traced, axis: int, keepdims: bool) -> Traced:
    rank, given = traced.rank, traced.entries
    if any(not isinstance(entry, Form) for entry in given.flat):
        given = each(lambda entry: as_pair(entry, 0), given)
    if given.shape[traced.place(axis)] == 0:
        raise NotTraceable("a sum over an axis without entries cannot be traced.")
    entries = boxed(np.add.reduce(given, axis=traced.place(axis)))
    entries = np.expand_dims(entries, traced.place(axis)) if keepdims else entries
    entries = each(lambda entry: settled(traced.builder, entry, rank), entries)
    return traced.with_entries(without_axis(traced, axis, keepdims), entries)


def mean(traced: Traced, axis: Any = None, keepdims: bool = False) -> Traced:
    """The mean: over all tokens a step of its own, over entries a sum and a factor."""
    builder = traced.builder
    for at in sorted(axes_of(traced, axis, "np.mean"), reverse=True):
        size = traced.axes[at].size
        whole = traced.axes[at].kind is Kind.TOKENS and size == traced.run.tokens
        if whole and all(isinstance(entry, Form) for entry in traced.entries.flat):
            traced = over_tokens(traced, at, keepdims, lambda form, _: builder.mean(form), None)
        else:
            share = applied("reciprocal", Number(float(size)), None)
            traced = scaled(total(traced, at, keepdims, "np.mean"), share)
    return traced


def scaled(traced: Traced, factor: Number) -> Traced:
    """All entries times one number."""
    return traced.mapped(lambda entry: entry.times(factor))


def product(traced: Traced, axis: Any = None, keepdims: bool = False) -> Traced:
    """The product: of entries, or of few tokens."""
    for at in sorted(axes_of(traced, axis, "np.prod"), reverse=True):
        if traced.axes[at].kind is Kind.TOKENS:
            traced = unrolled(traced.forms("np.prod"), at, "np.prod")
        traced = over_entries(traced, at, keepdims, lambda a, b: arithmetic(a.run, np.multiply, a, b))
    return traced


def log_sum(traced: Traced, axis: Any = 0, keepdims: bool = False) -> Traced:
    """np.logaddexp.reduce."""
    (at,) = axes_of(traced, axis, "np.logaddexp.reduce")
    if traced.axes[at].kind is Kind.SIZED:
        return over_entries(traced, at, keepdims, lambda a, b: a.with_entries(a.axes, _log_add(a, b)))
    powers = arithmetic(traced.run, np.exp, traced)
    return arithmetic(traced.run, np.log, total(powers, at, keepdims))


def _log_add(a: Traced, b: Traced) -> Any:
    return each(lambda one, other: logaddexp(a.builder, one, other), a.forms("np.logaddexp").entries, b.entries)


def one_axis(traced: Traced, axis: Any, name: str) -> int:
    """The single axis of a step along an axis."""
    if axis is None:
        raise NotTraceable(f"{name} without an axis would flatten the batch; name one: axis=1 for the tokens.")
    (at,) = axes_of(traced, axis, name)
    return at


def running_total(traced: Traced, axis: Any = None) -> Traced:
    """np.cumsum."""
    at = one_axis(traced, axis, "np.cumsum")
    if traced.axes[at].kind is Kind.TOKENS:
        tokens = traced.run.tokens
        return traced.forms("np.cumsum").mapped(lambda form: traced.builder.mix(np.tri(tokens), form))
    entries = np.add.accumulate(traced.entries, axis=traced.place(at))
    return traced.with_entries(traced.axes, entries)
