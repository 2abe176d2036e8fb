"""The largest, the smallest, and everything that sorts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyformer.programs.builder import Builder
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.sorting import sorted_lines, token_lines
from anyformer.programs.tracing.axes import Kind
from anyformer.programs.tracing.pairs import sums
from anyformer.programs.tracing.rules.elementwise import arithmetic
from anyformer.programs.tracing.rules.reductions import axes_of, one_axis, over_entries, over_tokens, without_axis
from anyformer.programs.tracing.traced import Traced, each


def greatest(traced: Traced, axis: Any = None, keepdims: bool = False) -> Traced:
    """The maximum."""
    builder = traced.builder
    for at in sorted(axes_of(traced, axis, "np.max"), reverse=True):
        if traced.axes[at].kind is Kind.TOKENS:
            traced = over_tokens(
                traced,
                at,
                keepdims,
                lambda form, size: builder.largest(_repeated_first(builder, form, size)),
                lambda entry, slot, size: sums.largest(builder, entry, slot, size),
            )
        else:
            traced = over_entries(traced, at, keepdims, lambda a, b: arithmetic(a.run, np.maximum, a, b))
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
            traced = over_entries(traced, at, keepdims, lambda a, b: arithmetic(a.run, np.minimum, a, b))
    return traced


def spread(traced: Traced, axis: Any = None, keepdims: bool = False) -> Traced:
    """np.ptp."""
    return arithmetic(traced.run, np.subtract, greatest(traced, axis, keepdims), least(traced, axis, keepdims))


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
    return traced.with_entries(without_axis(traced, at, keepdims), entries)


def _middle(builder: Builder, lines: Sequence[Form]) -> Form:
    ordered_lines = sorted_lines(builder, list(lines))
    return (ordered_lines[(len(lines) - 1) // 2] + ordered_lines[len(lines) // 2]).scaled(0.5)
