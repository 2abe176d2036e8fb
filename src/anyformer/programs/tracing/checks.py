"""Does a program give the values of its function? Compared on samples, in several batches and memory layouts.

A tracing array looks like an array to a function and refuses what it cannot follow. A function may still notice the
difference, by type(x) or id(x), depend on the size of the batch or on how its input lies in memory, or on something
that changes from call to call. Then its program says nothing about its values, and here it is caught.
"""

from collections.abc import Iterator

import numpy as np

from anyformer.arrays import Array, shown
from anyformer.errors import NotTraceable
from anyformer.programs.program import Program
from anyformer.programs.values import evaluate
from anyformer.targets.checks import samples as sampled
from anyformer.targets.evaluation import evaluate_as_it_lies
from anyformer.targets.target import Target

SAMPLES = 24


# Functions over pairs or triples of tokens make arrays of batch · tokens³ entries: fewer inputs at once for those.
_ENTRIES = 2**24


_MOST = 160


_LAID_OUT = 3


# A node is one or a few dozen operations in float64, each rounded by 2^-53 relatively; 32 of them are 2^-48.
_NOISE = 2.0**-48


_NOISY_RUNS = 3


def check_program(program: Program, target: Target, samples: int = SAMPLES, seed: int = 0) -> None:
    """Raise NotTraceable if the program and the function differ somewhere; silence is evidence, not proof.

    Random inputs, inputs with equal tokens, the centre and corners of the domain are tried: alone, in batches of
    several sizes, and laid out in memory in several ways. Two values agree if they differ by no more than rounding:
    - the function's own, declared as `evaluation_error` relative to 1 + |f|, twice, for two evaluations;
    - the program's. It is measured: every node's value is changed by a random 2^-48 of it, and four times the largest
      change of the output over three such runs is allowed.

    Args:
        program: what the function is said to compute.
        target: the function.
        samples: how many random inputs are tried.
        seed: of the random inputs.
    """
    rng = np.random.default_rng(seed)
    points = _points(target, samples, rng)
    expected, allowed = evaluate(program, points), _rounding(program, points, rng)
    for places in _batches(target, len(points)):
        _compare(target, points[places], target(points[places]), expected[places], allowed[places])
    for layout, places, x in _layouts(target, points):
        values = evaluate_as_it_lies(target.declared, x)
        _compare(
            target, points[places], values.reshape(-1, *points.shape[1:]), expected[places], allowed[places], layout
        )
    first = slice(0, 1)
    _compare(target, points[first], target(points[first]), expected[first], allowed[first], "once more")


def _points(target: Target, samples: int, rng: np.random.Generator) -> Array:
    points = sampled.inside(target, samples, rng)
    alike = np.repeat(points[:4, :1], target.tokens, axis=1)
    points = np.concatenate([points[:samples], alike, points[samples:]])
    most = max(4, min(_MOST, _ENTRIES // target.tokens**3))
    if len(points) > most:
        points = np.concatenate([points[: most // 2], points[samples : samples + most - most // 2]])
    return points


def _batches(target: Target, count: int) -> Iterator[slice]:
    """Everything at once, then one alone, two, and three."""
    if target.tokens**3 <= _ENTRIES:
        yield slice(0, count)
        yield slice(count - 3, count)
    yield slice(1, 2)
    yield slice(2, 4)


def _layouts(target: Target, points: Array) -> Iterator[tuple[str, slice, Array]]:
    """The same inputs in other layouts of memory: a few together, or one by one for functions that take one."""
    if not target.vectorised:
        for at in range(min(_LAID_OUT, len(points))):
            for layout, x in sampled.layouts(points[at]):
                yield layout, slice(at, at + 1), x
    elif target.tokens**3 <= _ENTRIES:
        for layout, x in sampled.layouts(points[:_LAID_OUT]):
            yield layout, slice(0, _LAID_OUT), x


def _rounding(program: Program, points: Array, rng: np.random.Generator) -> Array:
    """By how much rounding may change the program's outputs."""
    exact = evaluate(program, points)
    largest = np.zeros_like(exact)
    for _ in range(_NOISY_RUNS):
        noisy = evaluate(program, points, lambda value: value * (1 + _NOISE * rng.uniform(-1, 1, size=value.shape)))
        with np.errstate(invalid="ignore"):
            largest = np.fmax(largest, np.abs(noisy - exact))
    return 4 * largest


def _compare(
    target: Target, points: Array, values: Array, expected: Array, allowed: Array, layout: str | None = None
) -> None:
    allowed = allowed + 2 * target.evaluation_error * (1 + np.abs(values))
    with np.errstate(invalid="ignore"):
        wrong = ~(np.abs(values - expected) <= allowed)
    if not wrong.any():
        return
    at, token, coordinate = (int(index) for index in np.argwhere(wrong)[0])
    spot = (at, token, coordinate)
    how = f", given as {layout}" if layout and layout != "once more" else ", called once more" if layout else ""
    raise NotTraceable(
        f"The target {target.name!r} must do the same steps for all inputs, whatever their number and layout in memory."
        f" Traced, its output at token {token}, coordinate {coordinate} is {expected[spot]!r} for the input"
        f" {shown(points[at])}; but called with it in a batch of {len(points)}{how}, it is {values[spot]!r}. Keep it"
        " from asking what it was given or how much of it, from writing through views, and from state that changes."
    )
