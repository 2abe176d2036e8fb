"""A target: a function on sequences with its domain, symmetry and modulus of continuity."""

import enum
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from reprlib import repr as shortened
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from anyformer.arrays import Array
from anyformer.errors import TargetError
from anyformer.rebuilding import Rebuilt
from anyformer.targets.domains import Box, Domain
from anyformer.targets.evaluation import Declared, evaluate_batch, evaluate_each
from anyformer.targets.moduli import Lipschitz, Modulus
from anyformer.targets.sizes import check_sizes

UNIT_CUBE: Final = Box(low=0.0, high=1.0)
EVALUATION_ERROR: Final = 2.0**-40
"""Suits a function that computes in float64 and loses few bits."""


class Symmetry(enum.Enum):
    """What permuting the tokens of the input does to the output."""

    EQUIVARIANT = "permutation equivariant"
    NONE = "none: the network gets positions"


@dataclass(frozen=True)
class Target(Rebuilt):
    """A function on sequences, and what is declared about it. Ready-made ones compare equal when they are the same.

    >>> double = Target(lambda x: 2 * x, tokens=2, width=1, modulus=Lipschitz(2.0), name="double")
    >>> double([[0.25], [1.0]]).tolist()
    [[0.5], [2.0]]
    """

    function: Callable[[Array], Any]
    """(batch, tokens, width) to the same shape; (tokens, width) to the same shape when not vectorised."""
    tokens: int
    width: int
    modulus: Modulus | None
    """What is declared about its continuity; None if it is bounded by running it on intervals."""
    name: str
    domain: Domain = UNIT_CUBE
    symmetry: Symmetry = Symmetry.EQUIVARIANT
    vectorised: bool = True
    parameters: Mapping[str, float | int] = field(default_factory=dict, hash=False)
    """What the catalogue needs, besides the sizes, to rebuild a ready-made target."""
    evaluation_error: float = EVALUATION_ERROR
    """Bounds the rounding error of the function's own evaluation, relative to 1 + |f|."""

    def __post_init__(self) -> None:
        _check_kinds(self)
        tokens, width = check_sizes(self.tokens, self.width)
        object.__setattr__(self, "tokens", tokens)
        object.__setattr__(self, "width", width)
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "evaluation_error", _error_bound(self.evaluation_error))
        # Domain and modulus raise if they do not fit this width and these tokens.
        self.domain.lows(self.width)
        self.domain.highs(self.width)
        if self.modulus is not None:
            self.modulus.largest_deviation(np.zeros((self.tokens, self.width)))

    def __call__(self, x: ArrayLike) -> Array:
        """The function at `x`, (batch, tokens, width) or (tokens, width), as a new float64 array of the same shape."""
        inputs = self._inputs(x)
        evaluate = evaluate_batch if self.vectorised else evaluate_each
        batch = inputs.reshape(-1, self.tokens, self.width)
        return evaluate(self.declared, batch).reshape(inputs.shape)

    @property
    def declared(self) -> Declared:
        """The function with what is declared about its values."""
        return Declared(self.function, self.name, self.evaluation_error)

    def _inputs(self, x: ArrayLike) -> Array:
        sizes = (self.tokens, self.width)
        try:
            inputs = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TargetError(
                f"the input of {self.name!r} must be numbers of shape (batch, *{sizes}); got {x!r}."
            ) from error
        if inputs.ndim not in (2, 3) or inputs.shape[-2:] != sizes:
            raise TargetError(
                f"the input of {self.name!r} must have shape {sizes} or (batch, *{sizes}); got {inputs.shape}."
                " Reshape it."
            )
        return inputs


def _check_kinds(target: Target) -> None:
    """Raise TargetError for a field of the wrong type, before anything relies on it."""
    if not callable(target.function):
        raise TargetError(f"a target's function must be callable; got {shortened(target.function)}. Give a function.")
    if not isinstance(target.name, str):
        raise TargetError(f"name must be a string; got {shortened(target.name)}. Give the target a name in quotes.")
    if not isinstance(target.domain, Domain):
        raise TargetError(
            f"domain must be a Box or a CompactSupport; got {shortened(target.domain)}. Write Box(low=0.0, high=1.0)."
        )
    if not isinstance(target.symmetry, Symmetry):
        raise TargetError(
            f"symmetry must be Symmetry.EQUIVARIANT or Symmetry.NONE; got {shortened(target.symmetry)}."
            " Take Symmetry.NONE for a function that depends on the order of its tokens."
        )
    if target.modulus is not None and not isinstance(target.modulus, Modulus):
        raise TargetError(
            f"modulus must be a Lipschitz, an EntrywiseLipschitz, a Tightest or None; got {shortened(target.modulus)}."
            " Write Lipschitz(2.0)."
        )
    if not isinstance(target.vectorised, bool):
        raise TargetError(f"vectorised must be True or False; got {shortened(target.vectorised)}.")


def _error_bound(value: Any) -> float:
    if isinstance(value, int | float | np.floating) and not isinstance(value, bool) and 0 <= value < math.inf:
        return float(value)
    raise TargetError(
        f"evaluation_error must be finite and not negative; got {shortened(value)}. Give a bound on the rounding of f,"
        " relative to 1 + |f|."
    )


def target(
    function: Callable[[Array], Any],
    *,
    tokens: int,
    lipschitz: float | Modulus | None = None,
    width: int = 1,
    domain: Domain = UNIT_CUBE,
    symmetry: Symmetry = Symmetry.EQUIVARIANT,
    name: str | None = None,
    vectorised: bool = True,
    evaluation_error: float = EVALUATION_ERROR,
) -> Target:
    """A target from your own function.

    >>> def halve(x):
    ...     return x / 2
    >>> target(halve, tokens=3, lipschitz=0.5).name
    'halve'

    Args:
        function: takes a (batch, tokens, width) array and returns one of the same shape.
        tokens: the length of the sequences, at least 2.
        lipschitz: a constant L with |f_a(X) − f_a(Y)| ≤ L · max_b |X_b − Y_b| for every output entry a, or a modulus.
            None for a function in plain NumPy, which is then bounded by running it on intervals.
        width: the size of a token.
        domain: where the function is approximated; by default the unit cube.
        symmetry: `Symmetry.NONE` for a function that depends on the order of its tokens.
        name: used in messages and files; by default the function's own name.
        vectorised: False if the function takes one (tokens, width) array.
        evaluation_error: bounds the rounding error of the function's own evaluation, relative to 1 + |f|. The default
            suits float64; a function that computes in float32 needs 2.0**-20 or more. It is part of the error that a
            declared modulus proves; a function that runs on intervals needs none.

    Returns:
        The target; `check_target` tests what it declares.
    """
    modulus = lipschitz if lipschitz is None or isinstance(lipschitz, Modulus) else Lipschitz(lipschitz)
    name = getattr(function, "__name__", type(function).__name__) if name is None else name
    return Target(
        function, tokens, width, modulus, name, domain, symmetry, vectorised, evaluation_error=evaluation_error
    )
