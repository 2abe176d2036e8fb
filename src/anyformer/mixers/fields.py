"""Fields of mixers as JSON, and as they are typed: numbers, texts, tuples or lists of them, patterns, other mixers."""

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field
from typing import Any, Final, get_origin

from anyformer import patterns
from anyformer.mixers.mixer import Mixer
from anyformer.patterns import PatternFamily
from anyformer.settings import split_name, value_of

MIXER: Final = "mixer"
"""The only key of the object that holds another mixer; a pattern's object has its `kind`."""
_PLAIN = (bool, int, str, type(None))


def field_to_json(value: Any, mixer_to_json: Callable[[Any], dict[str, Any]]) -> Any:
    """A field as JSON has it; ValueError, with the bare fact, for what has no JSON."""
    if type(value) in _PLAIN or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, tuple | list):
        return [field_to_json(one, mixer_to_json) for one in value]
    if isinstance(value, PatternFamily):
        return patterns.to_json(value)
    if callable(getattr(value, "build", None)):
        return {MIXER: mixer_to_json(value)}
    raise ValueError(f"{value!r:.200} has no JSON")


def field_from_json(field: Field[Any], value: Any, mixer_from_json: Callable[[Any], Any]) -> Any:
    """The inverse; a text stands for a pattern, a mixer or a tuple where the field holds one."""
    if isinstance(value, str):
        return _from_text(field, value, mixer_from_json)
    if isinstance(value, list):
        made = [field_from_json(field, one, mixer_from_json) for one in value]
        return made if _holds(field, list) else tuple(made)
    if isinstance(value, Mapping):
        return mixer_from_json(value[MIXER]) if set(value) == {MIXER} else patterns.from_json(value)
    return value


def _from_text(field: Field[Any], text: str, mixer_from_json: Callable[[Any], Any]) -> Any:
    # Parentheses keep the commas of a value apart from those of the mixer.
    inside = text.strip()[1:-1] if text.strip().startswith("(") and text.strip().endswith(")") else text
    if _holds(field, PatternFamily):
        return patterns.parse(inside)
    if _holds(field, Mixer):
        return mixer_from_json(inside)
    if inside is not text and (_holds(field, tuple) or _holds(field, list)):
        made = [value_of(one) for one in split_name(f":{inside}")[1]]
        return made if _holds(field, list) else tuple(made)
    return text


def _holds(field: Field[Any], kind: type) -> bool:
    """Whether a field is for values of a kind, as its default says, or its annotation if it has none."""
    if field.default is not MISSING:
        return isinstance(field.default, kind)
    if field.default_factory is not MISSING:
        return isinstance(field.default_factory(), kind)
    if isinstance(field.type, str):
        return field.type.partition("[")[0].rpartition(".")[2] == kind.__name__
    return field.type is kind or get_origin(field.type) is kind
