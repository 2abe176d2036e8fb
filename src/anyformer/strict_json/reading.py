"""JSON from any source: read strictly, or refused with the place of the fault.

Python's reader accepts the last of two equal keys, NaN, 1e999 as infinity, and nested brackets until its stack is full.
Two readers may understand such a file differently, so this one refuses it.
"""

import json
import math
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_BYTES = 256 * 2**20
"""Larger files are refused before they are read, for a parser needs many times their size."""
MAX_DEPTH = 64
"""Far more than any format here needs, and far less than what overflows the stack of a recursive reader."""
MAX_DIGITS = 400
"""Of a whole number: as many as the largest float has, and a hundred more."""


@dataclass(frozen=True)
class _Refused:
    """Stands for a refused number until its place in the file is known."""

    reason: str


def loads(text: str) -> Any:
    """The value of a JSON text.

    >>> loads('{"tokens": 3, "stages": []}')
    {'tokens': 3, 'stages': []}
    >>> loads('{"tokens": 3, "tokens": 4}')
    Traceback (most recent call last):
    ValueError: the key 'tokens' must be there once; it is there twice

    Raises:
        ValueError: if it is not JSON, or a key stands twice, a number is not finite or too long, or it is nested too
            deeply. Never anything else.
    """
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_whole, parse_float=_float
        )
    except RecursionError:
        raise ValueError(_too_deep()) from None
    _check(value)
    return value


def read(path: Path, most: int = MAX_BYTES) -> Any:
    """The value of a JSON file in UTF-8.

    Raises:
        ValueError: as `loads`; also if the file has more bytes than `most`, or other bytes than UTF-8.
        OSError: if there is no such file, or it cannot be read.
    """
    size = path.stat().st_size
    if size > most:
        raise ValueError(f"the file must have at most {most} bytes; it has {size}")
    return loads(path.read_bytes().decode())


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {reprlib.repr(twice)} must be there once; it is there twice")
    return made


def _constant(name: str) -> _Refused:
    return _Refused(f"must be a finite number; it is {name}")


def _float(digits: str) -> float | _Refused:
    number = float(digits)
    return number if math.isfinite(number) else _Refused(f"must be a finite number; it is {reprlib.repr(digits)}")


def _whole(digits: str) -> int | _Refused:
    return int(digits) if len(digits) <= MAX_DIGITS else _Refused(f"must have at most {MAX_DIGITS} digits")


def _check(value: Any) -> None:
    """Check level by level, so that no depth can exhaust the stack."""
    level = [("", value)]
    for _ in range(MAX_DEPTH):
        deeper = []
        for place, holder in level:
            if type(holder) is _Refused:
                raise ValueError(f"{place.lstrip('.') or 'the value'} {holder.reason}")
            deeper += [(f"{place}{_step(key)}", inner) for key, inner in _inside(holder) if type(inner) in _LOOKED_INTO]
        if not deeper:
            return
        level = deeper
    raise ValueError(_too_deep())


def _inside(holder: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(holder, dict):
        return holder.items()
    return enumerate(holder) if isinstance(holder, list) else ()


def _step(key: object) -> str:
    return f"[{key}]" if isinstance(key, int) else f".{reprlib.repr(key)[1:-1]}"


def _too_deep() -> str:
    return f"brackets must be nested at most {MAX_DEPTH} deep; they are nested deeper"


_LOOKED_INTO = (dict, list, _Refused)
