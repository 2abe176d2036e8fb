"""Frozen data that can be copied and pickled, for users' own multiprocessing. The package itself reads no pickles."""

from dataclasses import fields
from types import MappingProxyType
from typing import Any


class Rebuilt:
    """A frozen dataclass whose copies are made by its own constructor: checked again, their arrays read-only again.

    By default Python copies the fields one by one and skips the constructor. Then a copied array can be written to, and
    a read-only mapping cannot be copied at all.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        given = (getattr(self, one.name) for one in fields(self) if one.init)  # type: ignore[arg-type]
        return type(self), tuple(dict(value) if isinstance(value, MappingProxyType) else value for value in given)
