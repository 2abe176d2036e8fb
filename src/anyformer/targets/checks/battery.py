"""Tests for any target: as far as samples tell, is what it declares true?"""

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from anyformer.arrays import Array, shown
from anyformer.errors import TargetError
from anyformer.targets.checks import samples as sampled
from anyformer.targets.checks.precision import check_precision, hint, rounding
from anyformer.targets.domains import CompactSupport
from anyformer.targets.evaluation import evaluate_as_it_lies
from anyformer.targets.moduli import Modulus
from anyformer.targets.sizes import whole_number
from anyformer.targets.target import Symmetry, Target

_RANDOM_PERMUTATIONS = 8
_MOST_SWAPS = 16
# Of long sequences fewer permutations are tried; each moves more tokens.
_LONG, _FEW_PERMUTATIONS = 64, 3
# Numbers in all random points together, about.
MOST_ENTRIES = 1 << 14
# How many points are tried in other memory layouts if the function takes one sequence at a time.
_LAID_OUT = 16


def check_target(target: Target, samples: int | None = None, seed: int = 0) -> None:
    """Raise TargetError if the target is caught breaking what it declares; silence is evidence, not proof.

    Args:
        target: the target to test.
        samples: how many random points of the domain are tried, besides its centre and corners; 256, or fewer if
            sequences are long.
        seed: of the random points; the same seed gives the same points.

    Example:
        >>> from anyformer.targets.equivariant import softmax
        >>> check_target(softmax(tokens=3))
    """
    rng = np.random.default_rng(seed)
    count = usual_samples(target) if samples is None else samples
    points = sampled.inside(target, whole_number("samples", count, least=1), rng)
    outputs = target(points)
    _check_repeatable(target, points, outputs)
    if target.modulus is not None:  # first, because coarse rounding would look like another fault
        check_precision(target, target.modulus, points)
    if target.vectorised:
        _check_batch(target, points, outputs)
    _check_layouts(target, points, outputs)
    if target.symmetry is Symmetry.EQUIVARIANT:
        _check_equivariance(target, points, outputs, rng)
    if target.modulus is not None:
        _check_modulus(target, target.modulus, points, rng)
    if isinstance(target.domain, CompactSupport):
        _check_support(target, points, rng)


def usual_samples(target: Target) -> int:
    """256 for short sequences; fewer for long ones, which take longer and tell more each."""
    return max(4, min(256, MOST_ENTRIES // (target.tokens * target.width)))


def _check_repeatable(target: Target, points: Array, outputs: Array) -> None:
    again = target(points)
    if (at := _first(~_agree(target, again, outputs))) is not None:
        raise TargetError(
            f"The target {target.name!r} must depend on its input alone. At the input {shown(points[at])}"
            f" it returned first {shown(outputs[at])}, then {shown(again[at])}."
            " Take randomness and state out of it."
        )


def _check_batch(target: Target, points: Array, outputs: Array) -> None:
    for index, x in enumerate(points):
        alone = target(x)
        if not _agree(target, alone, outputs[index]).all():
            raise TargetError(
                f"The target {target.name!r} must treat the elements of a batch apart. The input {shown(x)} gives"
                f" {shown(alone)} alone and {shown(outputs[index])} in a batch of {len(points)}."
                " Keep it from mixing axis 0, or, if it takes one (tokens, width) array, declare vectorised=False."
                f"{hint(alone, outputs[index])}"
            )


def _check_layouts(target: Target, points: Array, outputs: Array) -> None:
    if target.vectorised:
        _check_layouts_of(target, points, outputs)
        return
    for x, output in zip(points[:_LAID_OUT], outputs, strict=False):
        _check_layouts_of(target, x, output)


def _check_layouts_of(target: Target, x: Array, outputs: Array) -> None:
    for layout, laid_out in sampled.layouts(x):
        again = evaluate_as_it_lies(target.declared, laid_out)
        if not (agree := _agree(target, again, outputs)).all():
            at = np.argwhere(~agree)[0][: x.ndim - 2].tolist()
            element = tuple(at)
            raise TargetError(
                f"The target {target.name!r} must depend on the numbers in its input alone, not on how they lie in"
                f" memory. The input {shown(x[element])} gives {shown(outputs[element])}, and {shown(again[element])}"
                f" as {layout}. Copy what is reshaped before it is changed: x.reshape(…).copy()."
                f"{hint(again[element], outputs[element])}"
            )


def _check_equivariance(target: Target, points: Array, outputs: Array, rng: np.random.Generator) -> None:
    for permutation in _permutations(target.tokens, rng):
        permuted, expected = target(points[:, permutation]), outputs[:, permutation]
        if (at := _first(~_agree(target, permuted, expected))) is not None:
            raise TargetError(
                f"The target {target.name!r} must be permutation equivariant: permuting the tokens of the input must"
                f" permute those of the output alike. For X = {shown(points[at])} and the token order {permutation},"
                f" f(X permuted) = {shown(permuted[at])} but f(X) permuted = {shown(expected[at])}."
                " Ask for positions: --positions on the command line, symmetry=Symmetry.NONE in Python."
                f"{hint(permuted[at], expected[at])}"
            )


def _permutations(tokens: int, rng: np.random.Generator) -> Iterator[list[int]]:
    """All permutations if there are few; otherwise swaps of neighbours (all, if not too many) and random ones."""
    if tokens <= 4:
        yield from map(list, itertools.permutations(range(tokens)))
        return
    swaps = range(tokens - 1) if tokens <= _MOST_SWAPS else rng.choice(tokens - 1, _MOST_SWAPS, replace=False).tolist()
    is_long = tokens > _LONG
    for token in swaps[:_FEW_PERMUTATIONS] if is_long else swaps:
        yield [*range(token), token + 1, token, *range(token + 2, tokens)]
    for _ in range(_FEW_PERMUTATIONS if is_long else _RANDOM_PERMUTATIONS):
        yield rng.permutation(tokens).tolist()


def _check_modulus(target: Target, modulus: Modulus, points: Array, rng: np.random.Generator) -> None:
    for first, second in sampled.pairs(target, points, rng):
        before, after = target(first), target(second)
        change, allowed = np.abs(after - before), modulus.largest_deviation(np.abs(second - first))
        excess = change - allowed - rounding(target, before, after)
        if excess.max() > 0:
            worst, token, coordinate = (int(i) for i in np.unravel_index(excess.argmax(), excess.shape))
            raise TargetError(
                f"The target {target.name!r} must not change faster than its modulus says."
                f" From X = {shown(first[worst])} to Y = {shown(second[worst])} its output at token {token},"
                f" coordinate {coordinate} changes by {change[worst, token, coordinate]:.6g}, and the modulus allows"
                f" {allowed[worst, token, coordinate]:.6g}. Declare a larger constant."
            )


def _check_support(target: Target, points: Array, rng: np.random.Generator) -> None:
    faces = sampled.boundary(target, points, rng)
    on_faces = target(faces)
    _check_zero(target, "on the boundary of", faces, on_faces, ~_agree(target, on_faces, np.zeros_like(on_faces)))
    beyond = sampled.outside(target, points, rng)
    outputs = target(beyond)
    # Outside the box the error is an integral over an infinite volume, so no rounding error is small enough.
    _check_zero(target, "outside", beyond, outputs, outputs != 0)


def _check_zero(target: Target, place: str, points: Array, outputs: Array, wrong: NDArray[np.bool_]) -> None:
    if (at := _first(wrong)) is not None:
        raise TargetError(
            f"The target {target.name!r} with compact support must be 0 on the boundary of its box and outside."
            f" At the input {shown(points[at])}, {place} the box, it is {shown(outputs[at])}."
            " Widen the support, make the function vanish, or use a Box as the domain."
        )


def _agree(target: Target, one: Array, other: Array) -> NDArray[np.bool_]:
    """Where two evaluations of the same number differ by no more than their own rounding errors."""
    agree: NDArray[np.bool_] = np.abs(one - other) <= rounding(target, one, other)
    return agree


def _first(wrong: NDArray[np.bool_]) -> int | None:
    """The first element of the batch with a wrong entry."""
    elements = np.flatnonzero(wrong.any(axis=(1, 2)))
    return int(elements[0]) if elements.size else None
