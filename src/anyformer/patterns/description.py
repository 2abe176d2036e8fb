"""Patterns and families as JSON, to be kept with a model."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final, cast

from anyformer.errors import PatternError
from anyformer.patterns.arrange import Arrangement
from anyformer.patterns.catalogue import FAMILIES
from anyformer.patterns.combinators import Causal, Intersection, Multihead, Sequential, Union
from anyformer.patterns.family import PatternFamily
from anyformer.patterns.neighbours import Neighbours
from anyformer.patterns.pattern import SparsityPattern

EXPLICIT: Final = "explicit"
KINDS: Final[Mapping[str, type[PatternFamily]]] = {
    **FAMILIES,
    "causal": Causal,
    "union": Union,
    "intersection": Intersection,
    "sequential": Sequential,
    "multihead": Multihead,
}


def to_json(pattern: PatternFamily | SparsityPattern) -> dict[str, Any]:
    """A family by its kind and fields, a pattern of one length by its lists; `from_json` reads either back.

    >>> from anyformer.patterns import Causal, SlidingWindow
    >>> to_json(Causal(SlidingWindow(2)))
    {'kind': 'causal', 'of': {'kind': 'sliding-window', 'half_width': 2}}
    """
    if isinstance(pattern, SparsityPattern):
        lists = [[_list_to_json(neighbours) for neighbours in layer] for layer in pattern.layers]
        return {"kind": EXPLICIT, "layers": lists}
    kind = _kind(pattern)
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
    if not isinstance(data, Mapping) or data.get("kind") not in known:
        raise PatternError(f'a pattern must be an object whose "kind" is one of {", ".join(known)}; got {data!r:.200}.')
    fields = {key: value for key, value in data.items() if key != "kind"}
    if set(fields) != known[data["kind"]]:
        raise PatternError(
            f"a {data['kind']!r} must have the keys {sorted(known[data['kind']])}; got {sorted(map(str, fields))}."
            " Mend the JSON."
        )
    if data["kind"] == EXPLICIT:
        return _explicit(fields["layers"])
    return KINDS[data["kind"]](**{key: _field_from_json(value) for key, value in fields.items()})


def in_short(pattern: PatternFamily | SparsityPattern) -> str:
    """A family in the words of the catalogue, options that differ from their defaults only.

    >>> from anyformer.patterns import Causal, Ring, SlidingWindow, Union
    >>> in_short(Causal(Union((Ring(), SlidingWindow(2)))))
    'causal(union(ring, sliding-window:half_width=2))'
    """
    if isinstance(pattern, SparsityPattern):
        return "explicit pattern"
    kind = _kind(pattern)
    if kind is None:
        return repr(pattern)
    fields = {field: getattr(pattern, field.name) for field in dataclasses.fields(cast(Any, pattern))}
    inner = [part for value in fields.values() for part in (value if isinstance(value, tuple) else [value])]
    if any(isinstance(part, PatternFamily) for part in inner):
        return f"{kind}({', '.join(map(in_short, inner))})"
    options = [f"{field.name}={_field_to_json(value)}" for field, value in fields.items() if value != field.default]
    return f"{kind}:{','.join(options)}" if options else kind


def _kind(family: PatternFamily) -> str | None:
    return next((kind for kind, each in KINDS.items() if each is type(family)), None)


def _list_to_json(neighbours: Neighbours) -> dict[str, list[int]]:
    return {"indptr": neighbours.indptr.tolist(), "indices": neighbours.indices.tolist()}


def _explicit(layers: object) -> SparsityPattern:
    try:
        lists = tuple(tuple(Neighbours(**each) for each in layer) for layer in cast(Any, layers))
    except TypeError as wrong:
        raise PatternError(
            f'"layers" must be a list of lists of objects with indptr and indices; {wrong}. Mend the JSON.'
        ) from None
    return SparsityPattern(lists)


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
