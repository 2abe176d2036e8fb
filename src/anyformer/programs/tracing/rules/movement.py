"""Functions that move, copy or join entries. Along tokens they are mixings with fixed shares."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.programs.forms import Form
from anyformer.programs.tracing.axes import Axis, Kind, broadcast_axes, matched_groups, sized
from anyformer.programs.tracing.broadcasting import aligned, constants
from anyformer.programs.tracing.pairs import pair_forms
from anyformer.programs.tracing.rules.unrolling import unrolled
from anyformer.programs.tracing.runs import Run
from anyformer.programs.tracing.traced import Traced, boxed, each

LONGER = "a sequence that is longer than the input's, of {size} tokens,"


def place_of(axis: int, ndim: int) -> int:
    """The axis, counted from the front. Raises if there is none."""
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def transposed(traced: Traced, axes: Sequence[int] | None = None) -> Traced:
    """The axes in another order."""
    ndim = len(traced.axes)
    order = list(range(ndim))[::-1] if axes is None else [place_of(at, ndim) for at in axes]
    if sorted(order) != list(range(ndim)):
        raise ValueError("axes don't match array")
    places = [traced.place(at) for at in order if traced.axes[at].kind is Kind.SIZED]
    entries = traced.entries.transpose(places)
    slots = [traced.slot(at) for at in order if traced.axes[at].kind is Kind.TOKENS]
    if slots != sorted(slots):
        names = {old: new for new, old in enumerate(slots)}
        entries = each(lambda entry: pair_forms.moved(traced.builder, entry, names), entries)
    return traced.with_entries([traced.axes[at] for at in order], entries)


def swapped(traced: Traced, axis1: int, axis2: int) -> Traced:
    """np.swapaxes."""
    order = list(range(len(traced.axes)))
    a, b = place_of(axis1, len(order)), place_of(axis2, len(order))
    order[a], order[b] = order[b], order[a]
    return transposed(traced, order)


def moved_axis(traced: Traced, source: Any, destination: Any) -> Traced:
    """np.moveaxis."""
    order = np.moveaxis(np.empty([0] * len(traced.axes)), source, destination)  # raises NumPy's own errors
    del order
    marks = np.empty(range(1, len(traced.axes) + 1))
    sizes = np.moveaxis(marks, source, destination).shape
    return transposed(traced, [size - 1 for size in sizes])


def expanded(traced: Traced, axis: Any) -> Traced:
    """np.expand_dims."""
    given = np.atleast_1d(axis).tolist()
    ndim = len(traced.axes) + len(given)
    for at in sorted(place_of(one, ndim) for one in given):
        entries = np.expand_dims(traced.entries, traced.place(at))
        traced = traced.with_entries((*traced.axes[:at], sized(1), *traced.axes[at:]), entries)
    return traced


def squeezed(traced: Traced, axis: Any = None) -> Traced:
    """np.squeeze."""
    ndim = len(traced.axes)
    ones = [at for at, one in enumerate(traced.axes) if one.size == 1]
    given = ones if axis is None else [place_of(at, ndim) for at in np.atleast_1d(axis).tolist()]
    if not set(given) <= set(ones):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    entries = np.squeeze(traced.entries, axis=tuple(traced.place(at) for at in given))
    return traced.with_entries([one for at, one in enumerate(traced.axes) if at not in given], boxed(entries))


def reshaped(traced: Traced, shape: Any) -> Traced:
    """Ordinary axes split and joined; batch and tokens stay whole."""
    new = [int(size) for size in np.atleast_1d(shape)]
    whole = prod(traced.shape)
    if new.count(-1) == 1:
        rest = prod(size for size in new if size != -1)
        new[new.index(-1)] = whole // rest if rest else -1
    if min(new, default=1) < 0 or prod(new) != whole:
        raise ValueError(f"cannot reshape array of size {whole} into shape {tuple(np.atleast_1d(shape).tolist())}")
    axes: list[Axis] = []
    for old_places, new_places in matched_groups(traced.axes, new):
        group = [traced.axes[at] for at in old_places]
        axes += _reshaped_group(traced, group, [new[at] for at in new_places])
    entries = traced.entries.reshape([axis.size for axis in axes if axis.kind is Kind.SIZED])
    return traced.with_entries(axes, entries)


def _reshaped_group(traced: Traced, group: list[Axis], sizes: list[int]) -> list[Axis]:
    symbolic = [axis for axis in group if axis.kind is not Kind.SIZED]
    if not symbolic:
        return [sized(size) for size in sizes]
    if len(symbolic) == 1 and all(axis.size == 1 for axis in group if axis not in symbolic):
        large = [at for at, size in enumerate(sizes) if size != 1]
        if len(large) == 1:
            return [symbolic[0] if at == large[0] else sized(1) for at in range(len(sizes))]
    raise NotTraceable(
        f"reshaping {traced.shape} would join or cut the axis of the batch or of the tokens, which cannot be traced."
        " Only axes of coordinates can: x.reshape(batch, tokens, heads, size). Use einsum or matmul to mix tokens."
    )


def broadcast(run: Run, traced: Traced, shape: Any) -> Traced:
    """np.broadcast_to."""
    sizes = tuple(int(size) for size in np.atleast_1d(shape))
    axes = broadcast_axes([traced.axes, [sized(size) for size in sizes]])
    if tuple(axis.size for axis in axes) != sizes:
        raise ValueError(f"cannot broadcast shape {traced.shape} to {sizes}")
    batch = len(axes) - len(traced.axes)
    if any(axis.kind is Kind.SIZED and axis.size == run.batch for axis in axes[:batch]):
        axes = tuple(Axis(Kind.BATCH, one.size) if one.size == run.batch else one for one in axes)
    _, (entries, _) = aligned(run, (traced, Traced(run, axes, zeros(axes))))
    return Traced(run, axes, np.broadcast_to(entries, [one.size for one in axes if one.kind is Kind.SIZED]))


def zeros(axes: Sequence[Axis]) -> Any:
    """Entries that are 0."""
    entries = np.empty([axis.size for axis in axes if axis.kind is Kind.SIZED], dtype=object)
    entries[...] = Form()
    return entries


def filled_like(traced: Traced, value: Any, shape: Any = None) -> Traced:
    """A constant array of the same axes."""
    if shape is not None:
        raise NotTraceable("np.zeros_like(x, shape=…) cannot be traced; leave out the shape, or slice x before.")
    entries = constants(traced.run, value, traced.axes)
    axes = traced.axes
    sizes = [axis.size for axis in axes if axis.kind is Kind.SIZED]
    return Traced(traced.run, axes, np.broadcast_to(entries, sizes).copy())


def gathered(traced: Traced, axis: int, source: Sequence[int]) -> Traced:
    """Token j becomes token source[j]; the axis gets the length of the source."""
    tokens, size = traced.run.tokens, len(source)
    if size == 1:
        return expanded(one_token(traced, axis, source[0]), axis)
    if size > tokens:
        return window(unrolled(traced, axis, LONGER.format(size=size)), axis, list(source))
    places = np.full(tokens, source[-1])
    places[:size] = source
    axes = (*traced.axes[:axis], Axis(Kind.TOKENS, size), *traced.axes[axis + 1 :])
    if (places[:size] == np.arange(size)).all():
        return traced.with_entries(axes, traced.entries)
    result = traced.forms("a change of the order of tokens")
    return result.with_entries(axes, each(lambda form: traced.builder.shift(form, places), result.entries))


def one_token(traced: Traced, axis: int, token: int) -> Traced:
    """One token's entries, the same for all, without the axis."""
    builder = traced.builder
    axes = (*traced.axes[:axis], *traced.axes[axis + 1 :])
    source = np.full(builder.tokens, token)
    single = traced.forms("the entry of one token")
    return traced.with_entries(axes, each(lambda form: builder.shift(form, source), single.entries))


def flipped(traced: Traced, axis: Any = None) -> Traced:
    """np.flip."""
    given = range(len(traced.axes)) if axis is None else np.atleast_1d(axis).tolist()
    for at in (place_of(one, len(traced.axes)) for one in given):
        refuse_batch(traced, at, "np.flip")
        if traced.axes[at].kind is Kind.TOKENS:
            traced = gathered(traced, at, range(traced.axes[at].size)[::-1])
        else:
            traced = traced.with_entries(traced.axes, np.flip(traced.entries, traced.place(at)))
    return traced


def rolled(traced: Traced, shift: Any, axis: Any = None) -> Traced:
    """np.roll."""
    if axis is None:
        raise NotTraceable("np.roll without an axis would flatten the batch; name one: axis=1 for the tokens.")
    for by, one in np.broadcast(shift, axis):
        at = place_of(int(one), len(traced.axes))
        refuse_batch(traced, at, "np.roll")
        if traced.axes[at].kind is Kind.TOKENS:
            traced = gathered(traced, at, np.roll(np.arange(traced.axes[at].size), by).tolist())
        else:
            traced = traced.with_entries(traced.axes, np.roll(traced.entries, by, traced.place(at)))
    return traced


def refuse_batch(traced: Traced, axis: int, name: str) -> None:
    """Raise for the batch axis."""
    if traced.axes[axis].kind is Kind.BATCH:
        raise NotTraceable(f"{name} along the batch axis cannot be traced: sequences must be treated one by one.")


def split(traced: Traced, indices_or_sections: Any, axis: int = 0, is_even: bool = True) -> list[Traced]:
    """np.split and np.array_split."""
    at = place_of(axis, len(traced.axes))
    refuse_batch(traced, at, "np.split")
    splitter = np.split if is_even else np.array_split
    pieces = splitter(np.arange(traced.axes[at].size), indices_or_sections)
    return [window(traced, at, piece.tolist()) for piece in pieces]


def window(traced: Traced, axis: int, places: list[int]) -> Traced:
    """The entries at some places of an axis."""
    if traced.axes[axis].kind is Kind.TOKENS:
        return gathered(traced, axis, places)
    entries = traced.entries.take(places, axis=traced.place(axis))
    return traced.with_entries((*traced.axes[:axis], sized(len(places)), *traced.axes[axis + 1 :]), entries)


def repeated(traced: Traced, repeats: Any, axis: Any = None) -> Traced:
    """np.repeat along coordinates."""
    if axis is None:
        raise NotTraceable("np.repeat without an axis would flatten the batch; name one: axis=-1.")
    at = place_of(axis, len(traced.axes))
    refuse_batch(traced, at, "np.repeat")
    return window(traced, at, np.repeat(np.arange(traced.axes[at].size), repeats).tolist())


def tiled(traced: Traced, reps: Any) -> Traced:
    """np.tile along coordinates."""
    given = [int(one) for one in np.atleast_1d(reps)]
    while len(given) > len(traced.axes):
        traced = expanded(traced, 0)
    given = [1] * (len(traced.axes) - len(given)) + given
    for at, times in enumerate(given):
        if times != 1:
            refuse_batch(traced, at, "np.tile")
            traced = window(traced, at, list(range(traced.axes[at].size)) * times)
    return traced
