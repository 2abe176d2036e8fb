"""Floats in JSON that lose no bit, as `float.hex()` strings; objects whose "kind" says which fields they have."""

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

Nested: TypeAlias = "float | Sequence[Nested]"
NestedHex: TypeAlias = "str | list[NestedHex]"


def to_hex(value: Nested) -> NestedHex:
    """Floats as hexadecimal strings, sequences as lists.

    >>> to_hex((0.5, 1.0))
    ['0x1.0000000000000p-1', '0x1.0000000000000p+0']

    Raises:
        TypeError: for anything else; what is written as a float must be one when it is read.
    """
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [to_hex(entry) for entry in value]
    raise TypeError(f"a float or a sequence of floats must be written; got {reprlib.repr(value)}")


def from_hex(data: object, error: type[Exception] = ValueError) -> Nested:
    """The inverse of `to_hex`, or the given error; lists come back as tuples."""
    if isinstance(data, list):
        return tuple(from_hex(entry, error) for entry in data)
    return float_from_hex(data, error)


def float_from_hex(data: object, error: type[Exception] = ValueError) -> float:
    """One float that `to_hex` wrote, or the given error.

    >>> float_from_hex("0x1.8p+1")
    3.0
    """
    try:
        if isinstance(data, str):
            return float.fromhex(data)
    except (ValueError, OverflowError):
        pass
    raise error(
        f"a float must be written as float.hex() writes it, like '0x1.8p+1'; got {reprlib.repr(data)}. Rewrite it."
    )


def tagged(
    data: object, fields: Mapping[str, Iterable[str]], what: str, error: type[Exception] = ValueError
) -> Mapping[str, Any]:
    """`data` as a mapping whose "kind" is a key of `fields` and whose other keys are exactly that kind's.

    Otherwise raises the given error, whose message names `what`.
    """
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(kind, str) or kind not in fields:
        raise error(
            f'{what} must be a JSON object whose "kind" is one of {", ".join(fields)}; got {reprlib.repr(data)}.'
            " Fix the JSON."
        )
    expected, got = {"kind", *fields[kind]}, sorted(map(str, data))
    if set(data) != expected:
        raise error(f"a {kind!r} must have the keys {sorted(expected)}; got {reprlib.repr(got)}. Fix the JSON.")
    return data
