"""Patterns and families as JSON, to be kept with a model."""

import dataclasses
import reprlib
from collections.abc import Mapping
from typing import Any, Final, cast

import numpy as np

from anyformer.arrays import Integers
from anyformer.errors import PatternError
from anyformer.patterns.arrangement import Arrangement
from anyformer.patterns.catalogue import COMBINATORS, FAMILIES
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.neighbours import Neighbours
from anyformer.patterns.pattern import SparsityPattern
from anyformer.strict_json import tagged

EXPLICIT: Final = "explicit"
KINDS: Final[Mapping[str, type[PatternFamily]]] = {**FAMILIES, **COMBINATORS}


def to_json(pattern: PatternFamily | SparsityPattern) -> dict[str, Any]:
    """A family by its kind and fields, a pattern of one length by its lists; `from_json` reads either back.

    >>> from anyformer.patterns import Causal, SlidingWindow
    >>> to_json(Causal(SlidingWindow(2)))
    {'kind': 'causal', 'of': {'kind': 'sliding-window', 'half_width': 2}}
    """
    if isinstance(pattern, SparsityPattern):
        lists = [[_list_to_json(neighbours) for neighbours in layer] for layer in pattern.layers]
        return {"kind": EXPLICIT, "layers": lists}
    kind = kind_of(pattern)
    if kind is None:
        raise PatternError(
            f"a family must be one of {', '.join(KINDS)} to be written as JSON; got {type(pattern).__name__}."
            " Write the pattern of one length instead: to_json(family.at(tokens))."
        )
    fields = dataclasses.fields(cast(Any, pattern))
    return {"kind": kind, **{field.name: _field_to_json(getattr(pattern, field.name)) for field in fields}}


def from_json(data: object) -> PatternFamily | SparsityPattern:
    """The inverse of `to_json`; every number is checked."""
    known = {EXPLICIT: {"layers"}} | {
        kind: {field.name for field in dataclasses.fields(cast(Any, family))} for kind, family in KINDS.items()
    }
    described = tagged(data, known, "a pattern", PatternError)
    kind = described["kind"]
    fields = {key: value for key, value in described.items() if key != "kind"}
    if kind == EXPLICIT:
        return _explicit(fields["layers"])
    try:
        return KINDS[kind](**{key: _field_from_json(value) for key, value in fields.items()})
    except (TypeError, ValueError) as wrong:
        raise PatternError(
            f"the fields of a {kind!r} must be of their kinds; got {reprlib.repr(fields)}: {wrong}. Fix the JSON."
        ) from wrong


def kind_of(family: PatternFamily) -> str | None:
    """The name of a family in JSON and in the notation; None for a family of one's own."""
    return next((kind for kind, each in KINDS.items() if each is type(family)), None)


def _list_to_json(neighbours: Neighbours) -> dict[str, list[int]]:
    return {"indptr": neighbours.indptr.tolist(), "indices": neighbours.indices.tolist()}


def _explicit(layers: object) -> SparsityPattern:
    if not isinstance(layers, list) or not all(isinstance(layer, list) for layer in layers):
        raise _not_lists(layers)
    return SparsityPattern(tuple(tuple(_neighbours(each) for each in layer) for layer in layers))


def _neighbours(data: object) -> Neighbours:
    if not isinstance(data, Mapping) or set(data) != {"indptr", "indices"}:
        raise _not_lists(data)
    return Neighbours(_numbers("indptr", data["indptr"]), _numbers("indices", data["indices"]))


def _numbers(name: str, values: object) -> Integers:
    """Whole numbers from 0 as an array; NumPy alone would take true for 1."""
    if not isinstance(values, list) or not all(type(value) is int and 0 <= value < 2**63 for value in values):
        raise PatternError(f"{name} must be a list of whole numbers from 0; got {reprlib.repr(values)}. Fix the JSON.")
    return np.array(values, dtype=np.int64)


def _not_lists(data: object) -> PatternError:
    return PatternError(
        f'"layers" must be a list of lists of objects with indptr and indices; got {reprlib.repr(data)}. Fix the JSON.'
    )


def _field_to_json(value: object) -> object:
    if isinstance(value, PatternFamily):
        return to_json(value)
    if isinstance(value, tuple):
        return [_field_to_json(each) for each in value]
    return value.value if isinstance(value, Arrangement) else value


def _field_from_json(value: object) -> object:
    if isinstance(value, Mapping):
        return from_json(value)
    if isinstance(value, list):
        return tuple(_field_from_json(each) for each in value)
    return value
