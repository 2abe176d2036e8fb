"""Sums, means, maxima, … along axes, and running ones."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.programs.builder import Builder
from anyformer.programs.constants import applied
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.sorting import sorted_lines, token_lines
from anyformer.programs.tracing import pairs
from anyformer.programs.tracing.axes import Axis, Kind, sized
from anyformer.programs.tracing.elementwise import arithmetic, logaddexp
from anyformer.programs.tracing.traced import Entry, Traced, as_pair, boxed, each, settled

MOST_FACTORS = 16


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


def _without(traced: Traced, axis: int, keepdims: bool) -> tuple[Axis, ...]:
    kept = (sized(1),) if keepdims else ()
    return (*traced.axes[:axis], *kept, *traced.axes[axis + 1 :])


def _over_tokens(traced: Traced, axis: int, keepdims: bool, single: Any, pair: Any) -> Traced:
    """Reduce a token axis; `single` takes (form, length), `pair` takes (pair form, slot, length)."""
    slot, size, rank = traced.slot(axis), traced.axes[axis].size, traced.rank
    names = {at: at - 1 for at in range(slot + 1, rank)}
    builder = traced.builder

    def step(entry: Entry) -> Entry:
        if isinstance(entry, Form):
            result: Form = single(entry, size)
            return result
        done = pairs.moved(builder, pair(entry, slot, size), names)
        return settled(builder, done, rank - 1)

    entries = each(step, traced.entries)
    if keepdims:
        entries = np.expand_dims(entries, traced.place(axis))
    return traced.with_entries(_without(traced, axis, keepdims), entries)


def _over_entries(traced: Traced, axis: int, keepdims: bool, fold: Callable[..., Any]) -> Traced:
    """Reduce a sized axis by a step on two arrays."""
    place, size = traced.place(axis), traced.axes[axis].size
    if size == 0:
        raise NotTraceable("a reduction over an axis without entries cannot be traced.")
    rest = (*traced.axes[:axis], *traced.axes[axis + 1 :])
    parts = [traced.with_entries(rest, boxed(traced.entries.take(at, axis=place))) for at in range(size)]
    total = reduce(fold, parts)
    entries = np.expand_dims(total.entries, place) if keepdims else total.entries
    return traced.with_entries(_without(traced, axis, keepdims), entries)


def total(traced: Traced, axis: Any = None, keepdims: bool = False, name: str = "np.sum") -> Traced:
    """The sum."""
    builder = traced.builder
    for at in sorted(axes_of(traced, axis, name), reverse=True):
        if traced.axes[at].kind is Kind.TOKENS:
            traced = _over_tokens(
                traced,
                at,
                keepdims,
                lambda form, size: pairs.total_over(builder, form, size),
                lambda entry, slot, size: pairs.summed(builder, entry, slot, size),
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
    return traced.with_entries(_without(traced, axis, keepdims), entries)


def mean(traced: Traced, axis: Any = None, keepdims: bool = False) -> Traced:
    """The mean: over all tokens a step of its own, over entries a sum and a factor."""
    builder = traced.builder
    for at in sorted(axes_of(traced, axis, "np.mean"), reverse=True):
        size = traced.axes[at].size
        whole = traced.axes[at].kind is Kind.TOKENS and size == traced.run.tokens
        if whole and all(isinstance(entry, Form) for entry in traced.entries.flat):
            traced = _over_tokens(traced, at, keepdims, lambda form, _: builder.mean(form), None)
        else:
            share = applied("reciprocal", Number(float(size)), None)
            traced = _scaled(total(traced, at, keepdims, "np.mean"), share)
    return traced


def _scaled(traced: Traced, factor: Number) -> Traced:
    return traced.mapped(lambda entry: entry.times(factor))


def average(traced: Traced, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Traced:
    """np.average with constant or traced weights."""
    if weights is None:
        return mean(traced, axis, keepdims)
    if not isinstance(axis, int | np.integer):
        raise NotTraceable("np.average with weights takes one axis when it is traced; name it.")
    if not isinstance(weights, Traced):
        weights = np.asarray(weights, dtype=np.float64)
        if weights.ndim == 1:
            weights = weights.reshape([-1 if at == axis % len(traced.axes) else 1 for at in range(len(traced.axes))])
        shares = weights / weights.sum(axis=axis, keepdims=True)
        return total(arithmetic(traced.run, np.multiply, traced, shares), axis, keepdims)
    weighted = total(arithmetic(traced.run, np.multiply, traced, weights), axis, keepdims)
    return arithmetic(traced.run, np.divide, weighted, total(weights, axis, keepdims))


def variance(traced: Traced, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Traced:
    """The mean square of the deviations from the mean."""
    axes = axes_of(traced, axis, "np.var")
    count = int(np.prod([traced.axes[at].size for at in axes]))
    apart = arithmetic(traced.run, np.subtract, traced, mean(traced, tuple(axes), keepdims=True))
    squares = arithmetic(traced.run, np.square, apart)
    if ddof == 0:
        return mean(squares, tuple(axes), keepdims)
    share = applied("reciprocal", Number(float(count - ddof)), None)
    return _scaled(total(squares, tuple(axes), keepdims), share)


def deviation(traced: Traced, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Traced:
    """The root of the variance."""
    return arithmetic(traced.run, np.sqrt, variance(traced, axis, ddof, keepdims))


def norm(traced: Traced, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Traced:
    """np.linalg.norm of vectors."""
    if axis is None or (not np.isscalar(axis) and ord is not None):
        raise NotTraceable("np.linalg.norm must be told the axis of its vectors when it is traced: axis=-1.")
    if ord is None or ord == 2:
        return arithmetic(traced.run, np.sqrt, total(arithmetic(traced.run, np.square, traced), axis, keepdims))
    sizes = arithmetic(traced.run, np.absolute, traced)
    if ord == 1:
        return total(sizes, axis, keepdims)
    if ord == np.inf:
        return greatest(sizes, axis, keepdims)
    raise NotTraceable(f"np.linalg.norm of order {ord!r} cannot be traced; take 1, 2 or np.inf.")


def greatest(traced: Traced, axis: Any = None, keepdims: bool = False) -> Traced:
    """The maximum."""
    builder = traced.builder
    for at in sorted(axes_of(traced, axis, "np.max"), reverse=True):
        if traced.axes[at].kind is Kind.TOKENS:
            traced = _over_tokens(
                traced,
                at,
                keepdims,
                lambda form, size: builder.largest(_repeated_first(builder, form, size)),
                lambda entry, slot, size: pairs.largest(builder, entry, slot, size),
            )
        else:
            traced = _over_entries(traced, at, keepdims, lambda a, b: arithmetic(a.run, np.maximum, a, b))
    return traced


def _repeated_first(builder: Builder, form: Form, size: int) -> Form:
    """The first tokens, and the first of all in place of those beyond them."""
    if size == builder.tokens:
        return form
    places = np.arange(builder.tokens)
    return builder.shift(form, np.where(places < size, places, 0))


def least(traced: Traced, axis: Any = None, keepdims: bool = False) -> Traced:
    """The minimum: over entries by comparisons, over tokens as −max(−x)."""
    for at in sorted(axes_of(traced, axis, "np.min"), reverse=True):
        if traced.axes[at].kind is Kind.TOKENS:
            negative = arithmetic(traced.run, np.negative, traced)
            traced = arithmetic(traced.run, np.negative, greatest(negative, at, keepdims))
        else:
            traced = _over_entries(traced, at, keepdims, lambda a, b: arithmetic(a.run, np.minimum, a, b))
    return traced


def spread(traced: Traced, axis: Any = None, keepdims: bool = False) -> Traced:
    """np.ptp."""
    return arithmetic(traced.run, np.subtract, greatest(traced, axis, keepdims), least(traced, axis, keepdims))


def product(traced: Traced, axis: Any = None, keepdims: bool = False) -> Traced:
    """The product: of entries, or of few tokens."""
    for at in sorted(axes_of(traced, axis, "np.prod"), reverse=True):
        if traced.axes[at].kind is Kind.TOKENS:
            traced = unrolled(traced.forms("np.prod"), at, MOST_FACTORS, "np.prod")
        traced = _over_entries(traced, at, keepdims, lambda a, b: arithmetic(a.run, np.multiply, a, b))
    return traced


def unrolled(traced: Traced, axis: int, most: int, name: str) -> Traced:
    """A token axis as a sized one: every token copied to all."""
    size = traced.axes[axis].size
    if size > most:
        raise NotTraceable(f"{name} over {size} tokens would need a step for each; at most {most} are traced so.")
    columns = each(lambda form: token_lines(traced.builder, form, size), traced.entries)
    entries = np.empty((*traced.entries.shape, size), dtype=object)
    for index in np.ndindex(traced.entries.shape):
        for at in range(size):
            entries[(*index, at)] = columns[index][at]
    axes = (*traced.axes[:axis], sized(size), *traced.axes[axis + 1 :])
    return traced.with_entries(axes, np.moveaxis(entries, -1, traced.place(axis)))


def log_sum(traced: Traced, axis: Any = 0, keepdims: bool = False) -> Traced:
    """np.logaddexp.reduce."""
    (at,) = axes_of(traced, axis, "np.logaddexp.reduce")
    if traced.axes[at].kind is Kind.SIZED:
        return _over_entries(traced, at, keepdims, lambda a, b: a.with_entries(a.axes, _log_add(a, b)))
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


def running_maximum(traced: Traced, axis: Any = 0, ufunc: np.ufunc = np.maximum) -> Traced:
    """np.maximum.accumulate, or np.minimum.accumulate."""
    at = one_axis(traced, axis, f"np.{ufunc.__name__}.accumulate")
    traced = traced.forms(f"np.{ufunc.__name__}.accumulate")
    builder = traced.builder
    if traced.axes[at].kind is Kind.TOKENS:
        if ufunc is np.maximum:
            return traced.mapped(builder.running_maximum)
        return traced.mapped(lambda form: -builder.running_maximum(-form))
    step = builder.maximum if ufunc is np.maximum else builder.minimum
    entries = np.frompyfunc(step, 2, 1).accumulate(traced.entries, axis=traced.place(at))
    return traced.with_entries(traced.axes, entries)


def ordered(traced: Traced, axis: Any = -1) -> Traced:
    """np.sort, by comparators."""
    at = one_axis(traced, axis, "np.sort")
    traced = traced.forms("np.sort")
    builder, size = traced.builder, traced.axes[at].size
    if traced.axes[at].kind is Kind.SIZED:
        rows = np.moveaxis(traced.entries, traced.place(at), -1).copy()
        for index in np.ndindex(rows.shape[:-1]):
            rows[index] = sorted_lines(builder, list(rows[index]))
        return traced.with_entries(traced.axes, np.moveaxis(rows, -1, traced.place(at)))
    return traced.mapped(lambda form: _sorted_tokens(builder, form, size))


def _sorted_tokens(builder: Builder, form: Form, size: int) -> Form:
    """All tokens copied to everybody and sorted there; each token keeps the one of its own rank."""
    total = Form()
    for rank, line in enumerate(sorted_lines(builder, token_lines(builder, form, size))):
        here = np.zeros(builder.tokens)
        here[rank] = 1.0
        total = total + builder.gate(Number(here), line)
    return total


def median(traced: Traced, axis: Any = None, keepdims: bool = False) -> Traced:
    """The middle of the sorted entries, or the mean of the two middle ones."""
    at = one_axis(traced, axis, "np.median")
    traced, builder = traced.forms("np.median"), traced.builder
    size = traced.axes[at].size
    if traced.axes[at].kind is Kind.TOKENS:
        entries = each(lambda form: _middle(builder, token_lines(builder, form, size)), traced.entries)
    else:
        rows = np.moveaxis(traced.entries, traced.place(at), -1)
        entries = np.empty(rows.shape[:-1], dtype=object)
        for index in np.ndindex(entries.shape):
            entries[index] = _middle(builder, list(rows[index]))
    if keepdims:
        entries = np.expand_dims(entries, traced.place(at))
    return traced.with_entries(_without(traced, at, keepdims), entries)


def _middle(builder: Builder, lines: Sequence[Form]) -> Form:
    ordered_lines = sorted_lines(builder, list(lines))
    return (ordered_lines[(len(lines) - 1) // 2] + ordered_lines[len(lines) // 2]).scaled(0.5)
