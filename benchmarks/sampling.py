"""The largest error found: many inputs that reach the corners, then a local search from the worst of them."""

from collections.abc import Callable

import numpy as np

from anyformer.arrays import Array
from anyformer.targets import Target

# Numbers in the inputs of one call.
AT_ONCE = 1 << 18
KEPT = 32
ROUNDS = 60


def corner_reaching(target: Target, count: int, rng: np.random.Generator) -> Array:
    """Inputs of the domain: uniform ones have means near the middle if tokens are many, so few are uniform.

    Entries follow a beta distribution, another one for every sequence and coordinate. An eighth are corners, an eighth
    have equal tokens but for one, and in a third of the others tokens are drawn together.
    """
    shape = (count, target.tokens, target.width)
    a, b = (np.exp(rng.uniform(-2.5, 2.5, (count, 1, target.width))) for _ in range(2))
    unit = rng.beta(a, b, shape)
    near = rng.random((count, 1, 1)) * (rng.random((count, 1, 1)) < 1 / 3)
    unit = unit * (1 - near) + near * unit.mean(axis=1, keepdims=True)
    eighth = count // 8
    unit[:eighth] = rng.random((eighth, *shape[1:])) < rng.random((eighth, 1, target.width))
    odd = unit[eighth : 2 * eighth]
    alike = np.broadcast_to(odd[:, :1], odd.shape).copy()
    alike[np.arange(len(odd)), rng.integers(target.tokens, size=len(odd))] = rng.random((len(odd), target.width)).round(
        1
    )
    unit[eighth : 2 * eighth] = alike
    return _in_domain(target, unit)


def largest_error(network: Callable[[Array], Array], target: Target, samples: int, seed: int = 1) -> float:
    """The largest |f − g| over all entries of so many inputs, and of those that a local search finds from the worst."""
    rng = np.random.default_rng(seed)
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    each = max(1, AT_ONCE // (target.tokens * target.width))
    worst, errors = np.zeros((0, target.tokens, target.width)), np.zeros(0)
    for start in range(0, samples, each):
        inputs = corner_reaching(target, min(each, samples - start), rng)
        found = np.concatenate([errors, _errors(network, target, inputs)])
        inputs = np.concatenate([worst, inputs])
        best = np.argsort(found)[-KEPT:]
        worst, errors = inputs[best], found[best]
    for step in np.geomspace(0.3, 1e-4, ROUNDS):
        moved = rng.random(worst.shape) < rng.choice([1 / target.tokens, 0.3, 1.0], size=(len(worst), 1, 1))
        shared = rng.normal(size=(len(worst), 1, target.width)) * (rng.random((len(worst), 1, 1)) < 0.3)
        moves = moved * (rng.normal(size=worst.shape) + shared) * step * (high - low)
        tried = np.clip(worst + moves, low, high)
        found = _errors(network, target, tried)
        better = found > errors
        worst[better], errors[better] = tried[better], found[better]
    return float(errors.max())


def _errors(network: Callable[[Array], Array], target: Target, inputs: Array) -> Array:
    return np.asarray(np.abs(target(inputs) - network(inputs)).max(axis=(1, 2)))


def _in_domain(target: Target, unit: Array) -> Array:
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    return np.clip(low + unit * (high - low), low, high)
