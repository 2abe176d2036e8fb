"""Functions that join arrays, or add to them: np.concatenate, np.stack, np.pad, np.diff."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.programs.builder import Builder
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.tracing.axes import Axis, Kind, sized
from anyformer.programs.tracing.broadcasting import aligned, as_tokens, constants
from anyformer.programs.tracing.rules.elementwise import arithmetic
from anyformer.programs.tracing.rules.movement import LONGER, expanded, place_of, refuse_batch, window, zeros
from anyformer.programs.tracing.rules.unrolling import unrolled
from anyformer.programs.tracing.runs import Run
from anyformer.programs.tracing.traced import Traced, each


def concatenated(run: Run, arrays: Sequence[Any], axis: int = 0) -> Traced:
    """np.concatenate along coordinates, or along tokens up to the length of a sequence."""
    if axis is None:
        raise NotTraceable("np.concatenate without an axis would flatten the batch; name one: axis=-1.")
    like = next(array for array in arrays if isinstance(array, Traced))
    at = place_of(axis, len(like.axes))
    parts = [_like_others(run, array, like, at) for array in arrays]
    refuse_batch(like, at, "np.concatenate")
    parts = [part for part in parts if part.axes[at].size] or parts
    if any(part.axes[at].kind is Kind.TOKENS for part in parts):
        return _joined_tokens(run, [_tokens_at(part, at) for part in parts], at)
    place = like.place(at)
    entries = np.concatenate([part.entries for part in parts], axis=place)
    axes = (*parts[0].axes[:at], sized(entries.shape[place]), *parts[0].axes[at + 1 :])
    return Traced(run, axes, entries)


def _tokens_at(part: Traced, axis: int) -> Traced:
    return part if part.axes[axis].kind is Kind.TOKENS else as_tokens(part, axis)


def _like_others(run: Run, array: Any, like: Traced, axis: int) -> Traced:
    """A part with the axes of the others, except for the one along which they are joined."""
    shape = array.shape if isinstance(array, Traced) else np.shape(array)
    if len(shape) != len(like.axes) or any(
        size != own.size for at, (size, own) in enumerate(zip(shape, like.axes, strict=True)) if at != axis
    ):
        raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
    others = [one if at != axis else sized(shape[at]) for at, one in enumerate(like.axes)]
    if isinstance(array, Traced):
        others[axis] = array.axes[axis]
        if array.axes == tuple(others) and array.rank == like.rank:
            return array
        _, (entries, _) = aligned(run, (array, Traced(run, tuple(others), zeros(others))))
    else:
        entries = constants(run, array, tuple(others))
    sizes = [one.size for one in others if one.kind is Kind.SIZED]
    return Traced(run, tuple(others), np.broadcast_to(entries, sizes))


def _joined_tokens(run: Run, parts: Sequence[Traced], axis: int) -> Traced:
    """The first part for the first tokens, and so on: each is moved to its places, and gated there."""
    size = sum(part.axes[axis].size for part in parts)
    if size > run.tokens:
        copies = [unrolled(part, axis, LONGER.format(size=size)) for part in parts]
        return concatenated(run, copies, axis)
    start, entries = 0, zeros([one for one in parts[0].axes if one.kind is Kind.SIZED])
    for part in parts:
        length = part.axes[axis].size
        here = (np.arange(run.tokens) >= start) & (np.arange(run.tokens) < start + length)
        entries = each(
            lambda total, form, start=start, here=here: total + placed(run.builder, form, here, start),
            entries,
            part.forms("np.concatenate along tokens").entries,
        )
        start += length
    axes = (*parts[0].axes[:axis], Axis(Kind.TOKENS, size), *parts[0].axes[axis + 1 :])
    return Traced(run, axes, entries)


def placed(builder: Builder, form: Form, here: Any, start: int) -> Form:
    """The form's tokens 0, 1, … at the places from `start` on, and 0 elsewhere."""
    if start and not form.is_uniform:
        form = builder.shift(form, np.clip(np.arange(builder.tokens) - start, 0, builder.tokens - 1))
    return builder.gate(Number(np.where(here, 1.0, 0.0)), form)


def stacked(run: Run, arrays: Sequence[Any], axis: int = 0) -> Traced:
    """np.stack along a new axis."""
    ndim = next(len(array.axes) for array in arrays if isinstance(array, Traced)) + 1
    at = place_of(axis, ndim)
    parts = [expanded(one, at) if isinstance(one, Traced) else np.expand_dims(one, at) for one in arrays]
    return concatenated(run, parts, at)


def slab(traced: Traced, part: Any, axis: int) -> Any:
    """A number as an array like the others, of size 1 along the axis."""
    if isinstance(part, Traced) or np.ndim(part):
        return part
    return np.full([1 if at == axis else size for at, size in enumerate(traced.shape)], part)


def padded(traced: Traced, pad_width: Any, mode: str = "constant", constant_values: Any = 0.0) -> Traced:
    """np.pad, in the modes that copy entries or add a constant."""
    widths = np.broadcast_to(np.asarray(pad_width), (len(traced.axes), 2)).tolist()
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap") or np.ndim(constant_values):
        raise NotTraceable(f"np.pad is traced with one constant, or with entries of the array; got mode={mode!r}.")
    for at, (before, after) in enumerate(widths):
        if not before and not after:
            continue
        refuse_batch(traced, at, "np.pad")
        if mode == "constant":
            one = slab(traced, constant_values, at)
            slabs = [np.repeat(one, count, axis=at) for count in (before, after)]
            traced = concatenated(traced.run, [slabs[0], traced, slabs[1]], at)
        else:
            places: Any = np.pad(np.arange(traced.axes[at].size), (before, after), mode=mode)  # type: ignore[call-overload]
            traced = window(traced, at, places.tolist())
    return traced


def differences(traced: Traced, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Traced:
    """np.diff: later minus earlier."""
    at = place_of(axis, len(traced.axes))
    refuse_batch(traced, at, "np.diff")
    if n < 1:
        raise NotTraceable("np.diff is traced with n of at least 1; with n=0 it returns its argument.")
    if prepend is not None or append is not None:
        given = [one for one in (prepend, traced, append) if one is not None]
        traced = concatenated(traced.run, [slab(traced, one, at) for one in given], at)
    for _ in range(n):
        size = traced.axes[at].size
        late, early = window(traced, at, list(range(1, size))), window(traced, at, list(range(size - 1)))
        traced = arithmetic(traced.run, np.subtract, late, early)
    return traced
