"""Where a target is approximated: a box, the same for every token."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast, final

import numpy as np

from anyformer.arrays import Array
from anyformer.errors import TargetError
from anyformer.strict_json import from_hex, tagged, to_hex
from anyformer.strict_json.floats import NestedHex

Bound: TypeAlias = float | tuple[float, ...]


@dataclass(frozen=True)
class _Cuboid(ABC):
    """What both kinds of domain share: an interval for every coordinate of a token.

    `low` and `high` are one float for all coordinates, or a tuple of `width` floats.
    """

    low: Bound = 0.0
    high: Bound = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", _floats("low", self.low))
        object.__setattr__(self, "high", _floats("high", self.high))
        _check_order(self.low, self.high)

    @classmethod
    @abstractmethod
    def kind(cls) -> str:
        """The name of this kind of domain in JSON."""

    def lows(self, width: int) -> Array:
        """The lower ends, shape (width,)."""
        return _ends("low", self.low, width)

    def highs(self, width: int) -> Array:
        """The upper ends, shape (width,)."""
        return _ends("high", self.high, width)

    def volume(self, tokens: int, width: int) -> float:
        """The volume of the box in R^{tokens × width}, rounded to nearest."""
        sides: list[float] = (self.highs(width) - self.lows(width)).tolist()
        volume = math.prod(sides * tokens)
        # Below the normal range a float has lost bits, and a volume rounded to 0 would make every bound 0.
        if not np.finfo(np.float64).tiny <= volume < math.inf:
            raise TargetError(
                f"the volume of the domain must be a normal float; got {volume} from the sides {sides} and"
                f" {tokens} tokens. Rescale the inputs to sides near 1."
            )
        return volume

    def to_json(self) -> dict[str, NestedHex]:
        """The domain as a JSON object; `domain_from_json` reads it back."""
        return {"kind": self.kind(), "low": to_hex(self.low), "high": to_hex(self.high)}


@final
@dataclass(frozen=True)
class Box(_Cuboid):
    """The error is measured over the box; outside it the network may do anything.

    >>> Box(low=-1.0).volume(tokens=3, width=1)
    8.0
    """

    @classmethod
    def kind(cls) -> str:
        """The name of this kind of domain in JSON."""
        return "box"


@final
@dataclass(frozen=True)
class CompactSupport(_Cuboid):
    """The function vanishes outside the box, and the error is measured over all of R^{tokens × width}."""

    @classmethod
    def kind(cls) -> str:
        """The name of this kind of domain in JSON."""
        return "compact-support"


Domain: TypeAlias = Box | CompactSupport


def domain_from_json(data: object) -> Domain:
    """The domain that `to_json` wrote.

    >>> domain_from_json(CompactSupport(low=(0.0, 0.5)).to_json())
    CompactSupport(low=(0.0, 0.5), high=1.0)
    """
    kinds: dict[str, type[Domain]] = {Box.kind(): Box, CompactSupport.kind(): CompactSupport}
    fields = tagged(data, dict.fromkeys(kinds, ("low", "high")), "a domain", TargetError)
    # The casts are safe: the constructor checks the types.
    low, high = cast(Bound, from_hex(fields["low"], TargetError)), cast(Bound, from_hex(fields["high"], TargetError))
    return kinds[cast(str, fields["kind"])](low=low, high=high)


def _floats(name: str, bound: Any) -> Bound:
    is_text = isinstance(bound, str | bytes)
    try:
        floats = (
            tuple(map(_float, bound)) if isinstance(bound, Sequence | np.ndarray) and not is_text else _float(bound)
        )
    except (TypeError, ValueError):
        raise TargetError(f"{name} must be a float or a tuple of floats; got {bound!r}. Give numbers.") from None
    if floats == () or not np.isfinite(floats).all():
        raise TargetError(f"{name} must be finite; got {bound!r}. Give a bounded domain.")
    return floats


def _float(value: Any) -> float:
    if isinstance(value, str | bytes):
        raise TypeError("text that reads as a number is a mistake")
    return float(value)


def _check_order(low: Bound, high: Bound) -> None:
    if isinstance(low, tuple) and isinstance(high, tuple) and len(low) != len(high):
        raise TargetError(f"low and high must have one float per coordinate; got {len(low)} and {len(high)} of them.")
    with np.errstate(over="ignore"):  # a side that overflows is inf, and refused
        sides = np.subtract(high, low)
    if not ((sides > 0) & np.isfinite(sides)).all():
        raise TargetError(
            f"low must be below high by a finite amount; got low={low!r} and high={high!r}. Swap or fix them."
        )


def _ends(name: str, bound: Bound, width: int) -> Array:
    if isinstance(bound, tuple) and len(bound) != width:
        raise TargetError(
            f"{name} must be one float or one per coordinate; got {len(bound)} floats for width {width}."
            f" Give a tuple of {width} floats."
        )
    return np.broadcast_to(np.array(bound, dtype=np.float64), (width,)).copy()
