"""Indices: whole batches only; along tokens whatever a fixed mixing can do; along coordinates everything plain."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.programs.forms import Form
from anyformer.programs.tracing.axes import Kind, sized
from anyformer.programs.tracing.broadcasting import aligned
from anyformer.programs.tracing.rules.conditions import chosen
from anyformer.programs.tracing.rules.movement import gathered, one_token, place_of
from anyformer.programs.tracing.traced import Traced, boxed, each

_BATCH = (
    "The batch axis can be indexed by `:` only: a function must treat every sequence by itself."
    " Write x[:, 0] for the first token, x[:, :, 0] for the first coordinate."
)


_SEVERAL = "One index array at a time can be traced; index twice instead: x[:, rows][..., columns]."


def item(traced: Traced, index: Any) -> Traced:
    """The entries at an index."""
    items = _items(traced, index)
    if sum(isinstance(one, np.ndarray) for one in items) > 1:
        raise NotTraceable(_SEVERAL)
    at = 0
    for one in items:
        if one is None:
            entries = np.expand_dims(traced.entries, traced.place(at))
            traced = traced.with_entries((*traced.axes[:at], sized(1), *traced.axes[at:]), entries)
            at += 1
            continue
        kind = traced.axes[at].kind
        if kind is Kind.BATCH:
            _refuse_part(one, traced.axes[at].size)
            at += 1
        elif kind is Kind.TOKENS:
            traced, at = _token_item(traced, at, one)
        else:
            traced, at = _sized_item(traced, at, one)
    return traced


def _items(traced: Traced, index: Any) -> list[Any]:
    """One item for every axis, and None for new ones."""
    given = list(index) if isinstance(index, tuple) else [index]
    given = [_plain_item(one) for one in given]
    taken = sum(one is not None and one is not Ellipsis for one in given)
    missing = len(traced.axes) - taken
    if missing < 0:
        raise IndexError(f"too many indices for array: array is {len(traced.axes)}-dimensional")
    if not any(one is Ellipsis for one in given):
        given.append(Ellipsis)
    at = next(place for place, one in enumerate(given) if one is Ellipsis)
    result = [*given[:at], *[slice(None)] * missing, *given[at + 1 :]]
    _refuse_separated(result)
    return result


def _plain_item(one: Any) -> Any:
    if one is None or one is Ellipsis or isinstance(one, slice):
        return one
    if isinstance(one, bool | np.bool_):
        raise NotTraceable("a single truth value as an index cannot be traced.")
    if isinstance(one, int | np.integer):
        return int(one)
    array = np.asarray(one)
    if array.dtype == np.bool_:
        if array.ndim != 1:
            raise NotTraceable("a mask over several axes as an index cannot be traced; use np.where.")
        return np.flatnonzero(array)
    if array.dtype.kind not in "iu" and array.size:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean"
            " arrays are valid indices"
        )
    return array.astype(np.int64) if array.ndim else int(array)


def _refuse_separated(items: Sequence[Any]) -> None:
    """NumPy moves the axes of an index array to the front if a slice stands between it and a number."""
    places = [at for at, one in enumerate(items) if isinstance(one, int | np.ndarray)]
    if any(isinstance(one, np.ndarray) for one in items) and places[-1] - places[0] + 1 != len(places):
        raise NotTraceable(_SEVERAL)


def _refuse_part(one: Any, size: int) -> None:
    if not isinstance(one, slice) or one.indices(size) != (0, size, 1):
        raise NotTraceable(_BATCH)


def _in_range(number: int, axis: int, size: int) -> int:
    if not -size <= number < size:
        raise IndexError(f"index {number} is out of bounds for axis {axis} with size {size}")
    return number % size


def _token_item(traced: Traced, at: int, one: Any) -> tuple[Traced, int]:
    size = traced.axes[at].size
    if isinstance(one, slice):
        if one.indices(size) == (0, size, 1):
            return traced, at + 1
        one = np.arange(size)[one]
    if isinstance(one, int):
        return one_token(traced, at, _in_range(one, at, size)), at
    places = np.vectorize(lambda number: _in_range(int(number), at, size), otypes=[np.int64])(one)
    if places.size == 0:
        raise NotTraceable("a slice without tokens cannot be traced.")
    if places.ndim == 1:
        return gathered(traced, at, places.tolist()), at + 1
    if places.ndim == 2 and 1 < len(places) <= traced.run.tokens:
        columns = [gathered(traced, at, column.tolist()) for column in places.T]
        entries = np.stack([column.entries for column in columns], axis=traced.place(at))
        axes = (*columns[0].axes[: at + 1], sized(len(columns)), *columns[0].axes[at + 1 :])
        return traced.with_entries(axes, entries), at + 2
    raise NotTraceable("an index array over tokens has one axis, or two of which the first is over tokens.")


def _sized_item(traced: Traced, at: int, one: Any) -> tuple[Traced, int]:
    place = traced.place(at)
    entries = boxed(traced.entries[(slice(None),) * place + (one,)])
    before, after = traced.axes[:at], traced.axes[at + 1 :]
    if isinstance(one, int):
        return traced.with_entries((*before, *after), entries), at
    new = entries.shape[place : place + (one.ndim if isinstance(one, np.ndarray) else 1)]
    return traced.with_entries((*before, *map(sized, new), *after), entries), at + len(new)


def with_item(traced: Traced, index: Any, value: Any) -> Traced:
    """The array after `x[index] = value`."""
    if isinstance(index, Traced):
        if not index.is_condition:
            raise NotTraceable("a traced array cannot be an index: which entry it names differs from input to input.")
        return _same_axes(traced, chosen(traced.run, index, value, traced))
    # Numbers as entries tell which of them the index means.
    items = _items(traced, index)
    axes = [(at, one) for at, one in enumerate(_without_new(items))]
    place = _places(traced, axes)
    part = item(traced, index)
    values = _same_axes(part, _assigned(part, value))
    return _written(traced, axes, place, values)


def _without_new(items: Sequence[Any]) -> list[Any]:
    return [one for one in items if one is not None]


def _assigned(part: Traced, value: Any) -> Traced:
    """The value broadcast to the part that it is assigned to."""
    axes, (entries, _) = aligned(part.run, (value, part))
    if axes != part.axes:
        raise ValueError(f"could not broadcast input array into shape {part.shape}")
    sizes = [axis.size for axis in axes if axis.kind is Kind.SIZED]
    return Traced(part.run, axes, np.broadcast_to(entries, sizes))


def _same_axes(like: Traced, result: Traced) -> Traced:
    if result.axes != like.axes:
        raise ValueError(f"could not broadcast input array from shape {result.shape} into shape {like.shape}")
    return result


def _places(traced: Traced, axes: Sequence[tuple[int, Any]]) -> "list[int] | None":
    """Which tokens an index means; None for all."""
    for at, one in axes:
        if traced.axes[at].kind is Kind.TOKENS:
            size = traced.axes[at].size
            if isinstance(one, slice) and one.indices(size) == (0, size, 1):
                continue
            if traced.rank > 1:
                raise NotTraceable("an assignment to some pairs of tokens cannot be traced; use np.where with a mask.")
            places = [int(number) for number in np.atleast_1d(np.arange(size)[one])]
            if len(set(places)) < len(places):
                raise NotTraceable("an assignment to the same token twice cannot be traced.")
            return places
    return None


def _written(traced: Traced, axes: Sequence[tuple[int, Any]], tokens: "list[int] | None", part: Traced) -> Traced:
    index = tuple(one for at, one in axes if traced.axes[at].kind is Kind.SIZED)
    entries = traced.entries.copy()
    new = part.entries
    if tokens is not None:
        new = _at_tokens(traced, index, tokens, part)
    target = entries[index] if index else entries
    if isinstance(target, np.ndarray) and target.ndim:
        entries[index] = np.reshape(new, target.shape)
    else:
        entries[index] = new.reshape(-1)[0]
    return traced.with_entries(traced.axes, entries)


def _at_tokens(traced: Traced, index: Any, tokens: list[int], part: Traced) -> Any:
    """Entries that are the new ones at some tokens and the old ones at the others."""
    builder = traced.builder
    here = np.full(builder.tokens, -1.0)
    here[tokens] = 1.0
    source = np.zeros(builder.tokens, dtype=np.int64)
    source[tokens] = np.arange(len(tokens))
    moves = part.rank == 1 and not (source[tokens] == np.asarray(tokens)).all()

    def step(old: Form, new: Form) -> Form:
        if moves and not new.is_uniform:
            new = builder.shift(new, source)
        return builder.choice(Form.of(here), new, old)

    old = traced.forms("an assignment").entries
    old = boxed(old[index]) if index else old
    return each(step, old, np.reshape(part.forms("an assignment").entries, old.shape))


def taken(traced: Traced, indices: Any, axis: Any = None) -> Traced:
    """np.take with constant indices."""
    if axis is None:
        raise NotTraceable("np.take without an axis would flatten the batch; name one: axis=-1.")
    at = place_of(axis, len(traced.axes))
    return item(traced, (*(slice(None),) * at, indices))
