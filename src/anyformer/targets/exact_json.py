"""Floats in JSON without a rounding: as `float.hex()` strings, nested in lists as they come."""

import reprlib
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from anyformer.errors import TargetError

Nested: TypeAlias = "float | Sequence[Nested]"
NestedHex: TypeAlias = "str | list[NestedHex]"


def to_hex(value: Nested) -> NestedHex:
    """Floats as hexadecimal strings, sequences as lists.

    >>> to_hex((0.5, 1.0))
    ['0x1.0000000000000p-1', '0x1.0000000000000p+0']
    """
    if isinstance(value, Sequence):
        return [to_hex(entry) for entry in value]
    return float(value).hex()


def from_hex(data: object) -> Nested:
    """The inverse of `to_hex`; lists come back as tuples."""
    if isinstance(data, list):
        return tuple(from_hex(entry) for entry in data)
    try:
        if isinstance(data, str):
            return float.fromhex(data)
    except (ValueError, OverflowError):
        pass
    raise TargetError(
        f"a float must be written as float.hex() writes it, like '0x1.8p+1'; got {reprlib.repr(data)}. Rewrite it."
    )


def tagged(data: object, fields: Mapping[str, tuple[str, ...]]) -> Mapping[str, object]:
    """`data` as a mapping whose "kind" is a key of `fields` and whose other keys are exactly that kind's."""
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(kind, str) or kind not in fields:
        raise TargetError(
            f'must be a JSON object whose "kind" is one of {sorted(fields)}; got {reprlib.repr(data)}. Mend the JSON.'
        )
    expected = {"kind", *fields[kind]}
    if set(data) != expected:
        raise TargetError(
            f"a {kind!r} must have the keys {sorted(expected)}; got {sorted(map(str, data))}. Mend the JSON."
        )
    return data
