"""The steps that are not affine: what a node of a program does with its arguments."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anyformer.arrays import Array


@dataclass(frozen=True)
class Step:
    """What a node does. `mixes`: whether it reads other tokens, so that attention has to do it."""

    mixes: ClassVar[bool] = False


@dataclass(frozen=True)
class Input(Step):
    """A coordinate of the token itself."""

    coordinate: int


@dataclass(frozen=True)
class Apply(Step):
    """A smooth function of one argument, by its name in `functions`."""

    function: str
    parameter: float | None = None
    """The exponent of a power."""


@dataclass(frozen=True)
class Relu(Step):
    """max(a, 0)."""


@dataclass(frozen=True)
class Absolute(Step):
    """|a|."""


@dataclass(frozen=True)
class Maximum(Step):
    """max(a, b)."""


@dataclass(frozen=True)
class Minimum(Step):
    """min(a, b); the third argument is max(a, b), for min(a, b) = a + b − max(a, b)."""


@dataclass(frozen=True)
class Choice(Step):
    """b where a > 0, else c; the three are functions of one form, and the choice is continuous."""


@dataclass(frozen=True)
class Product(Step):
    """a·b."""


@dataclass(frozen=True)
class Norm(Step):
    """√(a² + b²)."""


@dataclass(frozen=True)
class Gate(Step):
    """The argument times a factor that depends on the place of the token."""

    factors: "Table"


@dataclass(frozen=True)
class Mean(Step):
    """The mean over all tokens."""

    mixes: ClassVar[bool] = True


@dataclass(frozen=True)
class Mix(Step):
    """Σ_k shares[j, k]·a_k: a fixed mixing whose rows are not negative and add up to 1."""

    shares: "Table"
    mixes: ClassVar[bool] = True


@dataclass(frozen=True)
class TokenMaximum(Step):
    """The largest argument of all tokens."""

    mixes: ClassVar[bool] = True


@dataclass(frozen=True)
class Attend(Step):
    """Softmax attention: Σ_k softmax_k(Σ_i query_i(j)·key_i(k) + offsets[j, k])·value(k).

    Arguments: `size` queries, `size` keys, the value. An offset of −∞ hides a key.
    """

    size: int
    offsets: "Table | None" = None
    mixes: ClassVar[bool] = True


class Table:
    """Fixed numbers, one per token or per pair of tokens, each within a doubt of the exact one. Compared by content."""

    __slots__ = ("_hash", "doubts", "values")

    def __init__(self, values: Array, doubts: Array | float = 0.0) -> None:
        self.values = _compact(np.array(values, dtype=np.float64))
        self.doubts = _compact(np.array(np.broadcast_to(doubts, self.values.shape)))
        self._hash = hash((self.values.shape, self.values[:1].tobytes(), self.values[-1:].tobytes()))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Table)
            and np.array_equal(self.values, other.values)
            and np.array_equal(self.doubts, other.doubts)
        )

    def __hash__(self) -> int:
        return self._hash

    @property
    def has_equal_rows(self) -> bool:
        """Whether all queries, the first axis, have the same numbers."""
        return bool((self.values == self.values[:1]).all() and (self.doubts == self.doubts[:1]).all())

    def __repr__(self) -> str:
        return f"Table({' × '.join(map(str, self.values.shape))})"


def _compact(values: Array) -> Array:
    """A read-only copy; rows that are all equal, as of a copied token, take the memory of one."""
    if values.ndim == 2 and len(values) > 1 and (values == values[:1]).all():
        return np.broadcast_to(values[:1].copy(), values.shape)
    values.setflags(write=False)
    return values
