"""Operands brought to the same axes: plain arrays become constants, and entries that belong to tokens meet tokens."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.programs.builder import Builder
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.tracing.axes import Axis, Kind, broadcast_axes, sized
from anyformer.programs.tracing.pairs import pair_forms
from anyformer.programs.tracing.pairs.fixed import Fixed, Hidden
from anyformer.programs.tracing.pairs.multilinear import Multilinear
from anyformer.programs.tracing.pairs.pair_forms import PairForm
from anyformer.programs.tracing.runs import Run
from anyformer.programs.tracing.traced import Entries, Entry, Traced, as_pair, as_single, boxed, each


def aligned(run: Run, operands: Sequence[Any]) -> tuple[tuple[Axis, ...], list[Entries]]:
    """The axes of the result, and the entries of every operand over its sized axes; plain arrays become constants."""
    traced = [one for one in operands if isinstance(one, Traced)]
    axes = broadcast_axes([one.axes if isinstance(one, Traced) else _plain_axes(run, one, traced) for one in operands])
    rank = sum(axis.kind is Kind.TOKENS for axis in axes)
    return axes, [
        _fitted(one, axes, rank) if isinstance(one, Traced) else constants(run, one, axes) for one in operands
    ]


def _plain_axes(run: Run, array: Any, traced: Sequence[Traced]) -> list[Axis]:
    """Ordinary axes, except for a table over pairs of tokens: if one of its axes meets tokens, so does the other.

    table * x[:, None], with a (tokens, tokens, 1) table, is an array over pairs of tokens.
    """
    axes = [sized(size) for size in np.shape(array)]
    whole = [at for at in range(-len(axes), 0) if axes[at].size == run.tokens]
    met = {at: [one.axes[at] for one in traced if len(one.axes) >= -at and one.axes[at].size != 1] for at in whole}
    if any(axis.kind is Kind.TOKENS for at in whole for axis in met[at]):
        for at in whole:
            if not met[at]:
                axes[at] = Axis(Kind.TOKENS, run.tokens)
    return axes


def _fitted(traced: Traced, axes: tuple[Axis, ...], rank: int) -> Entries:
    """The entries of an array over the axes that it is broadcast to."""
    start = len(axes) - len(traced.axes)
    for at, axis in enumerate(traced.axes):
        if axis.kind is Kind.SIZED and axis.size != 1 and axes[start + at].kind is Kind.TOKENS:
            return _fitted(as_tokens(traced, at), axes, rank)
    names: dict[int, int] = {}
    index: list[Any] = []
    for at, axis in enumerate(axes):
        own = traced.axes[at - start] if at >= start else None
        if own is not None and own.kind is Kind.TOKENS:
            slot = sum(one.kind is Kind.TOKENS for one in axes[:at])
            names[traced.slot(at - start)] = slot
        if axis.kind is Kind.SIZED:
            index.append(slice(None) if own is not None else None)
        elif own is not None and own.kind is Kind.SIZED:
            index.append(0)  # of size 1, met by tokens or by the batch
    entries = boxed(traced.entries[tuple(index)])
    if rank <= 1:
        return entries
    if traced.rank <= 1:
        slot = next(iter(names.values()), 0)
        return each(lambda entry: _lifted(traced.builder, entry, slot), entries)
    return each(lambda entry: pair_forms.moved(traced.builder, entry, names), entries)


def _lifted(builder: Builder, entry: Entry, slot: int) -> PairForm:
    return as_pair(entry, slot) if isinstance(entry, Form) else pair_forms.moved(builder, entry, {0: slot})


def constants(run: Run, array: Any, axes: tuple[Axis, ...]) -> Entries:
    """A plain array as entries; along tokens it may differ from place to place, along the batch it must not."""
    values = np.asarray(array)
    if values.dtype.kind not in "biuf":
        raise NotTraceable(f"numbers that meet a traced array must be real; got {values.dtype}.")
    values = values.astype(np.float64)
    values = values.reshape((1,) * (len(axes) - values.ndim) + values.shape)
    for at in reversed(range(len(axes))):
        if axes[at].kind is Kind.BATCH:
            values = _without_batch(values, at)
    inner = [axis for axis in axes if axis.kind is not Kind.BATCH]
    tokens = [at for at, axis in enumerate(inner) if axis.kind is Kind.TOKENS]
    entries = np.empty([values.shape[at] for at in range(len(inner)) if at not in tokens], dtype=object)
    values = np.moveaxis(values, tokens, range(values.ndim - len(tokens), values.ndim))
    for index in np.ndindex(entries.shape):
        entries[index] = _constant(run, values[index])
    return entries


def _without_batch(values: Any, at: int) -> Any:
    first = np.take(values, 0, axis=at)
    if not np.array_equal(values, np.broadcast_to(np.expand_dims(first, at), values.shape), equal_nan=True):
        raise NotTraceable("constants must be the same for all elements of the batch; got an array that differs.")
    return first


def _constant(run: Run, values: Any) -> Entry:
    """A constant entry, from its values over the token axes."""
    if np.isnan(values).any() or np.isposinf(values).any():
        raise NotTraceable(f"constants must be finite; got {values[~np.isfinite(values)].flat[0]}.")
    values = _whole_length(run, values)
    if values.ndim <= 1:
        if np.isneginf(values).any():
            raise NotTraceable("constants must be finite; got -inf. Use it only as a mask over pairs of tokens.")
        return Form.of(float(values.reshape(-1)[0]) if values.size == 1 else values)
    return PairForm(fixed_numbers(run, values))


def fixed_numbers(run: Run, values: Any) -> Multilinear:
    """Constants over several slots, −∞ as hidden."""
    hidden = np.isneginf(values)
    slots = tuple(at for at, size in enumerate(values.shape) if size != 1)
    kept = np.where(hidden, 0.0, values).reshape([size for size in values.shape if size != 1])
    result = Multilinear.of_fixed(Fixed(slots, Number(kept if slots else float(kept))))
    if not hidden.any():
        return result
    return result + masked(values.shape, hidden)


def masked(shape: tuple[int, ...], hidden: Any) -> Multilinear:
    """−∞ where hidden, over the slots along which it differs."""
    slots = tuple(at for at, size in enumerate(shape) if size != 1)
    return Multilinear(hidden=Hidden(slots, hidden.reshape([size for size in shape if size != 1])))


def _whole_length(run: Run, values: Any) -> Any:
    """Constants for the first tokens, continued by the last of them: a legal value, which nothing looks at."""
    for at, size in enumerate(values.shape):
        if 1 < size < run.tokens:
            last = np.take(values, [-1], axis=at)
            values = np.concatenate([values, np.repeat(last, run.tokens - size, axis=at)], axis=at)
    return values


def as_tokens(traced: Traced, axis: int) -> Traced:
    """A sized axis as one of tokens: entry i belongs to token i. Every entry must be the same for all tokens."""
    run, size, place = traced.run, traced.axes[axis].size, traced.place(axis)
    if size > run.tokens:
        raise NotTraceable(f"an axis of {size} entries cannot become one of {run.tokens} tokens.")
    if traced.rank:
        raise NotTraceable(
            "an array over tokens is stacked along tokens once more; write x[:, :, None] and x[:, None]."
        )
    rows = np.moveaxis(traced.entries, place, 0)
    entries = np.empty(rows.shape[1:], dtype=object)
    for index in np.ndindex(entries.shape):
        entries[index] = _in_places(run, rows[(slice(None), *index)].tolist())
    axes = (*traced.axes[:axis], Axis(Kind.TOKENS, size), *traced.axes[axis + 1 :])
    return traced.with_entries(axes, entries)


def _in_places(run: Run, column: Sequence[Entry]) -> Form:
    """The form that is the i-th of the column at token i."""
    forms = [as_single(run.builder, entry) for entry in column]
    if all(form.key() == forms[0].key() for form in forms):
        return forms[0]
    total = Form()
    if all(form.is_fixed for form in forms):
        values = [form.constant for form in forms]
        values += [values[-1]] * (run.tokens - len(values))
        numbers = Number(np.array([v.value for v in values]), np.array([v.doubt for v in values]))
        return Form(constant=numbers)
    for at, form in enumerate(forms):
        here = np.zeros(run.tokens)
        here[at if at + 1 < len(forms) else slice(at, None)] = 1.0
        total = total + run.builder.gate(Number(here), form)
    return total
