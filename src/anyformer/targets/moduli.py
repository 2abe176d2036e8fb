"""How fast a target may change: a declared modulus of continuity, as a value.

All results are the formulas rounded to nearest. They add only nonnegative terms. So for up to 2**12 entries, and
without underflow, their relative error is below ROUNDING, including that of the ready-made targets' constants. A proof
widens them by that much.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast, final

import numpy as np
from numpy.typing import ArrayLike

from anyformer.arrays import Array
from anyformer.errors import TargetError
from anyformer.rebuilding import Rebuilt
from anyformer.strict_json import from_hex, tagged, to_hex

ROUNDING: Final = 2.0**-40


@final
@dataclass(frozen=True)
class Lipschitz:
    """Every output entry a: |f_a(X) − f_a(Y)| ≤ constant · max_b |X_b − Y_b|.

    >>> Lipschitz(2.0).largest_deviation([[0.5], [0.25]]).tolist()
    [[1.0], [1.0]]
    """

    constant: float

    def __post_init__(self) -> None:
        constant = _bounds("a Lipschitz constant", self.constant)
        if constant.ndim:
            raise TargetError(
                f"a Lipschitz constant must be one number; got {self.constant!r}."
                " Use EntrywiseLipschitz for a bound per entry."
            )
        object.__setattr__(self, "constant", float(constant))

    def largest_deviation(self, half_widths: ArrayLike) -> Array:
        """sup |f_a − f_a(centre)| over boxes of these half widths (..., tokens, width)."""
        return self.constant * _largest(_half_widths(half_widths))

    def mean_deviation(self, half_widths: ArrayLike, p: float) -> Array:
        """A bound on the p-th root of the mean of |f_a − f_a(centre)|^p over the box."""
        _check_exponent(p)
        largest = _largest(_half_widths(half_widths))
        # With x_b = centre_b + h_b t_b and t uniform on [−1, 1]^D, max_b h_b|t_b| ≤ h_max · T where T = max_b |t_b|.
        # P(T ≤ s) = s^D, so E T^p = ∫₀¹ s^p D s^{D−1} ds = D / (D + p).
        entries = largest.shape[-2] * largest.shape[-1]
        factor: float = (entries / (entries + p)) ** (1 / p)
        return self.constant * factor * largest

    def to_json(self) -> dict[str, object]:
        """The modulus as a JSON object; `modulus_from_json` reads it back."""
        return {"kind": "lipschitz", "constant": to_hex(self.constant)}


@final
@dataclass(frozen=True, eq=False)
class EntrywiseLipschitz(Rebuilt):
    """Every output entry a: |f_a(X) − f_a(Y)| ≤ Σ_b bounds[a, b] · |X_b − Y_b|.

    >>> EntrywiseLipschitz(np.full((2, 1, 2, 1), 0.5)).largest_deviation([[0.5], [0.25]]).tolist()
    [[0.375], [0.375]]
    """

    bounds: Array
    """Shape (tokens, width, tokens, width), output entry first; a read-only copy is kept."""

    def __post_init__(self) -> None:
        bounds = _bounds("entrywise bounds", self.bounds)
        if bounds.ndim != 4 or bounds.shape[:2] != bounds.shape[2:]:
            raise TargetError(
                "entrywise bounds must have shape (tokens, width, tokens, width), output entry first;"
                f" got {bounds.shape}. Transpose or reshape them."
            )
        bounds.flags.writeable = False
        object.__setattr__(self, "bounds", bounds)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EntrywiseLipschitz) and np.array_equal(self.bounds, other.bounds)

    def __hash__(self) -> int:
        return hash((self.bounds.shape, *self.bounds.flat))

    def largest_deviation(self, half_widths: ArrayLike) -> Array:
        """sup |f_a − f_a(centre)| over boxes of these half widths (..., tokens, width)."""
        half = _half_widths(half_widths)
        if half.shape[-2:] != self.bounds.shape[2:]:
            raise TargetError(
                f"entrywise bounds of shape {self.bounds.shape} must be used with (tokens, width) ="
                f" {self.bounds.shape[2:]}; got {half.shape[-2:]}. Declare bounds for these tokens and this width."
            )
        return cast(Array, np.tensordot(half, self.bounds, axes=((-2, -1), (2, 3))))

    def mean_deviation(self, half_widths: ArrayLike, p: float) -> Array:
        """A bound on the p-th root of the mean of |f_a − f_a(centre)|^p over the box."""
        _check_exponent(p)
        # Minkowski: ‖Σ_b J_ab h_b |t_b|‖_p ≤ Σ_b J_ab h_b ‖t_b‖_p, and for t uniform on [−1, 1], E|t|^p = 1 / (p + 1).
        factor: float = (1 / (p + 1)) ** (1 / p)
        return factor * self.largest_deviation(half_widths)

    def to_json(self) -> dict[str, object]:
        """The modulus as a JSON object; `modulus_from_json` reads it back."""
        return {"kind": "entrywise", "bounds": to_hex(self.bounds.tolist())}


@final
@dataclass(frozen=True)
class Tightest:
    """Several moduli that all hold: each deviation is at most the smallest of their bounds."""

    moduli: tuple["Modulus", ...]

    def __post_init__(self) -> None:
        moduli = tuple(self.moduli)
        if not moduli or not all(isinstance(modulus, Modulus) for modulus in moduli):
            raise TargetError(
                f"Tightest must get a tuple of at least one modulus; got {self.moduli!r}. Give the moduli."
            )
        object.__setattr__(self, "moduli", moduli)

    def largest_deviation(self, half_widths: ArrayLike) -> Array:
        """sup |f_a − f_a(centre)| over boxes of these half widths (..., tokens, width)."""
        return _smallest([modulus.largest_deviation(half_widths) for modulus in self.moduli])

    def mean_deviation(self, half_widths: ArrayLike, p: float) -> Array:
        """A bound on the p-th root of the mean of |f_a − f_a(centre)|^p over the box."""
        return _smallest([modulus.mean_deviation(half_widths, p) for modulus in self.moduli])

    def to_json(self) -> dict[str, object]:
        """The modulus as a JSON object; `modulus_from_json` reads it back."""
        return {"kind": "tightest", "moduli": [modulus.to_json() for modulus in self.moduli]}


Modulus: TypeAlias = Lipschitz | EntrywiseLipschitz | Tightest


def same_coordinate(weights: ArrayLike, width: int) -> EntrywiseLipschitz:
    """Entrywise bounds of a function that treats each coordinate separately.

    `weights[j, k]` bounds how fast coordinate i of output token j changes with coordinate i of input token k, for every
    i; other coordinates have no influence.
    """
    return EntrywiseLipschitz(np.einsum("jk,il->jikl", np.asarray(weights, dtype=np.float64), np.eye(width)))


def modulus_from_json(data: object) -> Modulus:
    """The modulus that `to_json` wrote.

    >>> modulus_from_json(Tightest((Lipschitz(0.1), Lipschitz(3.0))).to_json())
    Tightest(moduli=(Lipschitz(constant=0.1), Lipschitz(constant=3.0)))
    """
    kinds = {"lipschitz": ("constant",), "entrywise": ("bounds",), "tightest": ("moduli",)}
    fields = tagged(data, kinds, "a modulus", TargetError)
    if fields["kind"] == "lipschitz":
        # The casts are safe: the constructors check the types.
        return Lipschitz(cast(float, from_hex(fields["constant"], TargetError)))
    if fields["kind"] == "entrywise":
        return EntrywiseLipschitz(cast(Array, from_hex(fields["bounds"], TargetError)))
    if not isinstance(fields["moduli"], list):
        raise TargetError(f"the moduli of a 'tightest' must be a list; got {fields['moduli']!r}. Fix the JSON.")
    return Tightest(tuple(modulus_from_json(modulus) for modulus in fields["moduli"]))


def _bounds(name: str, values: ArrayLike) -> Array:
    try:
        if np.asarray(values).dtype.kind not in "iuf":  # NumPy would read "3" as 3.0, and True as 1.0
            raise TypeError("not numbers")
        bounds = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TargetError(f"{name} must be numbers; got {values!r}. Give floats.") from None
    if not (np.isfinite(bounds) & (bounds >= 0)).all():
        raise TargetError(f"{name} must be finite and not negative; got {values!r}. Give the true bound.")
    return bounds


def _half_widths(values: ArrayLike) -> Array:
    half = np.asarray(values, dtype=np.float64)
    if half.ndim < 2 or not (np.isfinite(half) & (half >= 0)).all():
        raise TargetError(
            "half widths must have shape (..., tokens, width) and be finite and not negative;"
            f" got shape {half.shape} with entries from {half.min(initial=math.inf)} to {half.max(initial=-math.inf)}."
        )
    return half


def _check_exponent(p: float) -> None:
    # For p below 1 the p-th mean is not a norm, and Minkowski's inequality is reversed.
    if not 1 <= p < math.inf:
        raise TargetError(f"p must be finite and at least 1; got {p}. For the supremum use largest_deviation.")


def _largest(half: Array) -> Array:
    return np.full_like(half, half.max(axis=(-2, -1), keepdims=True))


def _smallest(deviations: Sequence[Array]) -> Array:
    return cast(Array, np.minimum.reduce(deviations))
