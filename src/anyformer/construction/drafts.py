"""Hard stages with what is needed to soften them, and the softening.

The proof speaks in hardmax and in activations that jump. A `Draft` is a hard stage together with how much room there
is:
for attention, the smallest difference between two scores that matter; for feed-forward, the width of the ramp that may
stand in for a jump. Everything steep in the soft network is derived from these two numbers.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from anyformer.networks.activations import PiecewiseLinear, ReLU, Softmax
from anyformer.networks.layers import AttentionStage, BlockShape, FeedForwardStage, Stage

HARD_SHAPE = BlockShape(heads=2, head_size=1, hidden_size=1)
SOFT_SHAPE = BlockShape(heads=2, head_size=1, hidden_size=4)

# float64 rounds exp(−s) to 0 above this s: then softmax gives the loser no weight at all and *is* hardmax, bit for bit.
UNDERFLOW = 1075 * math.log(2)


@dataclass(frozen=True)
class Draft:
    """A hard stage and its room: a score gap for attention, a ramp width for feed-forward."""

    stage: Stage
    room: float


def soften(draft: Draft) -> Stage:
    """The softmax/ReLU stage that does what the hard stage does, outside the ramps."""
    if isinstance(draft.stage, AttentionStage):
        return _soften_attention(draft.stage, draft.room)
    return _soften_feed_forward(draft.stage, draft.room)


def _soften_attention(stage: AttentionStage, gap: float) -> AttentionStage:
    # Twice what is needed, as a power of two: scaling is exact and rounding in the scores cannot eat the surplus.
    sharpness = power_of_two_above(2 * UNDERFLOW / gap)
    return replace(stage, W_Q=stage.W_Q * sharpness, b_Q=stage.b_Q * sharpness, weighting=Softmax())


def _soften_feed_forward(stage: FeedForwardStage, ramp: float) -> FeedForwardStage:
    assert isinstance(stage.activation, PiecewiseLinear)
    units = relu_units(stage.activation, ramp)
    W_1, b_1, W_2 = (np.zeros((*array.shape[:axis], SOFT_SHAPE.hidden_size, *array.shape[axis + 1 :]))
                     for array, axis in ((stage.W_1, 1), (stage.b_1, 1), (stage.W_2, 2)))  # fmt: skip
    for k, unit in enumerate(units):
        W_1[:, k] = unit.direction * stage.W_1[:, 0]
        b_1[:, k] = unit.direction * (stage.b_1[:, 0] - unit.kink)
        W_2[:, :, k] = unit.slope * stage.W_2[:, :, 0]
    return FeedForwardStage(stage.name, W_1, b_1, W_2, stage.b_2, ReLU())


@dataclass(frozen=True)
class Unit:
    """slope · ReLU(direction · (t − kink))."""

    kink: float
    slope: float
    direction: int


def relu_units(activation: PiecewiseLinear, ramp: float) -> list[Unit]:
    """Write a piecewise-linear activation as ReLUs that all vanish on its zero piece, a ramp in place of every jump.

    Ramps lie on the side of the zero piece, so that whatever the activation leaves alone beyond a jump stays exactly
    alone.
    """
    zero = next(
        k for k, line in enumerate(zip(activation.slopes, activation.intercepts, strict=True)) if line == (0, 0)
    )
    rightwards = [(k - 1, k, activation.breaks[k - 1]) for k in range(zero + 1, len(activation.slopes))]
    leftwards = [(k + 1, k, activation.breaks[k]) for k in range(zero - 1, -1, -1)]
    units = []
    for direction, crossings in ((1, rightwards), (-1, leftwards)):
        for before, after, place in crossings:
            units += _crossing(activation, before, after, place, direction, ramp)
    assert len(units) <= SOFT_SHAPE.hidden_size
    return units


def _crossing(
    activation: PiecewiseLinear, before: int, after: int, place: float, direction: int, ramp: float
) -> list[Unit]:
    """The ReLUs that turn one piece into the next at `place`, seen in the direction of travel."""
    jump = activation.piece(after, place) - activation.piece(before, place)
    turn = direction * (activation.slopes[after] - activation.slopes[before])
    if jump == 0:
        return [Unit(place, turn, direction)]
    steep = jump / ramp
    return [Unit(place - direction * ramp, steep, direction), Unit(place, turn - steep, direction)]


def power_of_two_above(x: float) -> float:
    """The smallest power of two that is at least x > 0."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent)


def power_of_two_below(x: float) -> float:
    """The largest power of two that is at most x > 0."""
    return math.ldexp(1.0, math.frexp(x)[1] - 1)
