"""Slopes of arrays whose entries are moved, joined or written: the same is done to every slope."""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyformer.errors import NoSlopes
from anyformer.intervals.ends import Ends, Held, Plain, is_point
from anyformer.intervals.slopes.forms import Form, Slopes, dense, moved_ends, point

Picked = Callable[[Held], Ends]


def moved(function: Callable[..., Any], args: Any, kwargs: Any, picked: Picked) -> Any:
    """The function of plain arrays, one end after the other; a list of results if it gives several."""
    low = function(*_side(args, picked, "low"), **_side(kwargs, picked, "low"))
    if all(is_point(picked(array)) for array in held_in((args, kwargs))):
        return [point(part) for part in low] if isinstance(low, (list, tuple)) else point(low)
    high = function(*_side(args, picked, "high"), **_side(kwargs, picked, "high"))
    if isinstance(low, (list, tuple)):
        return [Ends(*ends) for ends in zip(low, high, strict=True)]
    return Ends(low, high)


def _side(value: Any, picked: Picked, side: str) -> Any:
    if isinstance(value, Held):
        return getattr(picked(value), side)
    if isinstance(value, (list, tuple)):
        return type(value)([_side(part, picked, side) for part in value])
    if isinstance(value, dict):
        return {key: _side(part, picked, side) for key, part in value.items()}
    return value


def held_in(value: Any) -> list[Held]:
    """Every interval array among some arguments."""
    if isinstance(value, Held):
        return [value]
    if isinstance(value, dict):
        return held_in(list(value.values()))
    if isinstance(value, (list, tuple)):
        return [array for part in value for array in held_in(part)]
    return []


def without_constants(value: Any) -> Any:
    """Arrays to be joined, with 0 in place of every plain number: constants have no slope."""
    if isinstance(value, Held):
        return value
    if isinstance(value, (list, tuple)):
        return type(value)([without_constants(part) for part in value])
    return np.zeros(np.shape(value))


def indexed(form: Form, index: Any) -> Form:
    """The entries at a plain index."""
    return form.each(lambda part: moved_ends(lambda end: end[index], part))


def written(form: Form, value: Form, index: Any) -> Form:
    """The form of an array after some entries were set."""

    def with_entries(whole: Ends, part: Ends) -> Ends:
        return Ends(_set(whole.low, index, part.low), _set(whole.high, index, part.high))

    slopes: Slopes = tuple(
        None if old is None and new is None else with_entries(dense(old, form.box), dense(new, value.box))
        for old, new in zip(form.slopes, value.slopes, strict=True)
    )
    return Form(form.box, with_entries(form.centre, value.centre), slopes)


def _set(array: Plain, index: Any, value: Plain) -> Plain:
    changed = np.array(array)
    changed[index] = value
    return changed


def padded(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """np.pad as it pads slopes: plain constants have none."""
    if isinstance(kwargs.get("constant_values"), Held) or held_in(args[1:]):
        raise NoSlopes
    return args, {name: value for name, value in kwargs.items() if name != "constant_values"}
