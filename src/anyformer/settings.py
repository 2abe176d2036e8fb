"""Names with settings as people type them: `strided:stride=4,arrangement=union`, `entmax:1.5`, `sharpness=5`."""

import math
from typing import TypeAlias

from anyformer.errors import AnyformerError

Value: TypeAlias = bool | int | float | str | None

_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_MOST_DIGITS = 400
"""Of a whole number: the largest float has fewer."""


def split_name(text: str) -> tuple[str, list[str]]:
    """The name and the settings after its colon; commas within brackets divide nothing.

    >>> split_name("strided: stride=4, arrangement=union")
    ('strided', ['stride=4', 'arrangement=union'])
    >>> split_name("sparse-attention:heads=4,pattern=(longformer:half_width=8,global_tokens=2)")
    ('sparse-attention', ['heads=4', 'pattern=(longformer:half_width=8,global_tokens=2)'])
    """
    name, _, settings = text.partition(":")
    return name.strip(), [setting.strip() for setting in _divided(settings) if setting.strip()]


def _divided(settings: str) -> list[str]:
    """The parts between the commas that are in no brackets."""
    parts, depth = [""], 0
    for character in settings:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def settings_of(parts: list[str], example: str, error: type[AnyformerError]) -> dict[str, Value]:
    """The values of `key=value` settings by their keys, or the given error.

    >>> settings_of(["stride=4", "arrangement=union"], "stride=4", AnyformerError)
    {'stride': 4, 'arrangement': 'union'}
    """
    settings: dict[str, Value] = {}
    for part in parts:
        key, sign, text = (piece.strip() for piece in part.partition("="))
        if not sign or not key or not text:
            raise error(f"settings must read key=value, with commas between them; got {part!r}. Example: {example}.")
        if key in settings:
            raise error(f"settings must be given once each; got {key!r} twice. Leave one out.")
        settings[key] = value_of(text)
    return settings


def value_of(text: str) -> Value:
    """A number, true, false or null if the text is one; else the text itself.

    >>> [value_of(text) for text in ("4", "0.5", "true", "union", "nan")]
    [4, 0.5, True, 'union', 'nan']
    """
    text = text.strip()
    if text in _WORDS:
        return _WORDS[text]
    if text.lstrip("+-").isdecimal() and len(text) <= _MOST_DIGITS:
        try:
            return int(text)
        except ValueError:
            return text
    try:
        return number_of(text)
    except ValueError:
        return text


def number_of(text: str) -> float:
    """The finite float that a text spells; ValueError if it spells none. Python's 1_000 is not accepted.

    >>> number_of(" 2.5e-1 ")
    0.25
    """
    number = math.nan if "_" in text else float(text)
    if not math.isfinite(number):
        raise ValueError(f"not a finite float: {text!r}")
    return number
