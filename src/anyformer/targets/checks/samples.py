"""Inputs for testing what a target declares."""

import itertools
from collections.abc import Iterator

import numpy as np

from anyformer.arrays import Array
from anyformer.targets.target import Target

_MOST_CORNERS = 64
# Numbers in all corners together, about.
_MOST_ENTRIES = 1 << 13
_STEEPEST_POINTS = 32
_MOST_STEEPEST = 128


def inside(target: Target, count: int, rng: np.random.Generator) -> Array:
    """`count` random points, a quarter of them with two equal tokens, then the centre and corners of the box."""
    shape = (target.tokens, target.width)
    random = rng.random((count, *shape))
    for x in random[: count // 4]:
        # Ties are where sorting, dividing by a difference or an arg-max goes wrong, and random points have none.
        first, second = rng.choice(target.tokens, size=2, replace=False)
        x[first] = x[second]
    centre = np.full((1, *shape), 0.5)
    return _in_box(target, np.concatenate([random, centre, _corners(shape, rng)]))


def _corners(shape: tuple[int, int], rng: np.random.Generator) -> Array:
    entries = shape[0] * shape[1]
    if 2**entries <= _MOST_CORNERS:
        return np.array(list(itertools.product((0.0, 1.0), repeat=entries))).reshape(-1, *shape)
    count = max(4, min(_MOST_CORNERS, _MOST_ENTRIES // entries))
    corners = rng.integers(0, 2, size=(count, *shape)).astype(np.float64)
    corners[0], corners[1] = 0.0, 1.0
    return corners


def _in_box(target: Target, unit: Array) -> Array:
    lows, highs = target.domain.lows(target.width), target.domain.highs(target.width)
    # Exact at 0 and 1, so that corners are corners.
    return np.clip(lows * (1 - unit) + highs * unit, lows, highs)


def pairs(target: Target, points: Array, rng: np.random.Generator) -> Iterator[tuple[Array, Array]]:
    """Batches of pairs of points of the box: far ones, then near ones moved in the directions that change most."""
    yield points, rng.permutation(points)
    yield _moved(target, points, np.ones_like(points), rng)
    yield _moved(target, points, rng.choice((-1.0, 1.0), size=points.shape), rng)
    yield _moved(target, points, _single_entries(points, rng), rng)
    if points[0].size > _MOST_STEEPEST:
        return  # one evaluation for every entry would take too long
    some = rng.permutation(points)[:_STEEPEST_POINTS]
    yield _moved(target, some, _steepest(target, some, rng), rng)


def _moved(target: Target, points: Array, directions: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Points, drawn in from the faces so that a small step stays inside, and the same points after the step."""
    lows, highs = target.domain.lows(target.width), target.domain.highs(target.width)
    steps = 2.0 ** rng.uniform(-20, -1, size=(len(points), 1, 1)) * (highs - lows)
    first = np.clip(points, lows + steps, np.maximum(lows + steps, highs - steps))
    return first, np.clip(first + steps * directions, lows, highs)


def _single_entries(points: Array, rng: np.random.Generator) -> Array:
    moves = np.zeros((len(points), points[0].size))
    moves[np.arange(len(points)), rng.integers(0, points[0].size, size=len(points))] = 1.0
    return moves.reshape(points.shape)


def _steepest(target: Target, points: Array, rng: np.random.Generator) -> Array:
    """The signs of the slopes of one random output entry per point: a step with these signs changes it most."""
    lows, highs = target.domain.lows(target.width), target.domain.highs(target.width)
    signs = np.empty_like(points)
    entries = rng.integers(0, points[0].size, size=len(points))
    for token, coordinate in np.ndindex(target.tokens, target.width):
        ends = [points.copy(), points.copy()]
        step = (highs - lows)[coordinate] * 2.0**-12
        for end, shift in zip(ends, (-step, step), strict=True):
            moved = end[:, token, coordinate] + shift
            end[:, token, coordinate] = np.clip(moved, lows[coordinate], highs[coordinate])
        before, after = (target(end).reshape(len(points), -1) for end in ends)
        signs[:, token, coordinate] = np.sign(after - before)[np.arange(len(points)), entries]
    return signs


def boundary(target: Target, points: Array, rng: np.random.Generator) -> Array:
    """The points, each with one entry put on a face of the box."""
    lows, highs = target.domain.lows(target.width), target.domain.highs(target.width)
    on_face = np.where(rng.random(points.shape) < 0.5, lows, highs)
    return np.where(_single_entries(points, rng) == 1, on_face, points)


def outside(target: Target, points: Array, rng: np.random.Generator) -> Array:
    """The points, each with one entry put beyond the box, and again with every entry beyond it."""
    lows, highs = target.domain.lows(target.width), target.domain.highs(target.width)
    distance = 2.0 ** rng.uniform(-20, 4, size=(len(points), 1, 1)) * (highs - lows)
    below, above = np.minimum(lows - distance, np.nextafter(lows, -np.inf)), highs + distance
    beyond = np.where(rng.random(points.shape) < 0.5, below, np.maximum(above, np.nextafter(highs, np.inf)))
    return np.concatenate([np.where(_single_entries(points, rng) == 1, beyond, points), beyond])


def layouts(x: Array) -> Iterator[tuple[str, Array]]:
    """Copies of the same numbers with other layouts in memory."""
    yield "an array in Fortran's order", x.copy(order="F")
    yield "a view of every other entry", np.repeat(x, 2, axis=-1)[..., ::2]
    yield "a view that runs backwards", x[::-1].copy()[::-1]
    yield "a transposed view", x.swapaxes(-1, -2).copy().swapaxes(-1, -2)
