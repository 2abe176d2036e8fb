"""From hard stages to the soft ones of a real Transformer: softmax for hardmax, ReLUs and ramps for jumps."""

from dataclasses import dataclass, replace

import numpy as np

from anyformer.construction.dyadic import power_of_two_above
from anyformer.construction.stages.draft import Draft
from anyformer.networks.activations import PiecewiseLinear, ReLU
from anyformer.networks.layers import AttentionStage, FeedForwardStage, Stage
from anyformer.networks.probability_maps import ProbabilityMap


def soften(draft: Draft, hidden_size: int, probability_map: ProbabilityMap) -> Stage:
    """The stage of a real Transformer that does what the hard stage does, outside the ramps."""
    stage = draft.stage
    if isinstance(stage, AttentionStage):
        return _soften_attention(stage, draft.room, probability_map)
    if isinstance(stage.activation, ReLU):
        return padded(stage, hidden_size)
    return _soften_feed_forward(stage, stage.activation, draft.room, hidden_size)


def _soften_attention(stage: AttentionStage, gap: float, probability_map: ProbabilityMap) -> AttentionStage:
    # Twice what is needed, as a power of two: scaling is exact and rounding in the scores cannot eat the surplus.
    sharpness = power_of_two_above(2 * probability_map.saturating_scale(gap))
    return replace(stage, W_Q=stage.W_Q * sharpness, b_Q=stage.b_Q * sharpness, probability_map=probability_map)


def _soften_feed_forward(
    stage: FeedForwardStage, activation: PiecewiseLinear, ramp: float, hidden_size: int
) -> FeedForwardStage:
    units = relu_units(activation, ramp)
    W_1 = np.stack([unit.direction * stage.W_1[:, 0] for unit in units], axis=1)
    b_1 = np.stack([unit.direction * (stage.b_1[:, 0] - unit.kink) for unit in units], axis=1)
    W_2 = np.stack([unit.slope * stage.W_2[:, :, 0] for unit in units], axis=2)
    return padded(replace(stage, W_1=W_1, b_1=b_1, W_2=W_2, activation=ReLU()), hidden_size)


def padded(stage: FeedForwardStage, hidden_size: int) -> FeedForwardStage:
    """The same stage with silent units up to the hidden size."""
    missing = hidden_size - stage.sizes["hidden_size"]
    W_1 = np.pad(stage.W_1, ((0, 0), (0, missing), (0, 0)))
    return replace(
        stage,
        W_1=W_1,
        b_1=np.pad(stage.b_1, ((0, 0), (0, missing))),
        W_2=np.pad(stage.W_2, ((0, 0), (0, 0), (0, missing))),
    )


@dataclass(frozen=True)
class Unit:
    """slope · ReLU(direction · (t − kink))."""

    kink: float
    slope: float
    direction: int


def relu_units(activation: PiecewiseLinear, ramp: float) -> list[Unit]:
    """Write a piecewise-linear activation as ReLUs that all vanish on its zero piece, a ramp in place of every jump.

    Ramps lie on the side of the zero piece, so inputs beyond a jump that the activation leaves unchanged stay exactly
    unchanged.
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
