"""Small networks by hand."""

from collections.abc import Sequence

import numpy as np

from anyformer.networks import AttentionStage, BlockShape, FeedForwardStage, Network, Stage

# A unit of a layer of width 1: its weight, its bias, and what its output is multiplied by.
Unit = tuple[float, float, float]


def scalar_stage(layers: Sequence[Sequence[Unit]], hidden: int, shifts: Sequence[float] | None = None) -> Stage:
    """Feed-forward layers of width 1, each padded with units that do nothing."""
    units = np.array([[*layer, *[(0.0, 0.0, 0.0)] * (hidden - len(layer))] for layer in layers], dtype=np.float64)
    b_2 = np.zeros((len(layers), 1)) if shifts is None else np.array(shifts, dtype=np.float64)[:, None]
    return FeedForwardStage("layers", units[:, :, :1], units[:, :, 1], units[:, None, :, 2], b_2)


def scalar_network(stages: Sequence[Sequence[Sequence[Unit]]], tokens: int = 2, shift: float = 0.0) -> Network:
    """A network of width 1 without attention; the shift is added in the very last layer."""
    hidden = max(len(layer) for stage in stages for layer in stage)
    made = [
        scalar_stage(
            stage, hidden, [shift if (k, t) == (len(stages) - 1, len(stage) - 1) else 0.0 for t in range(len(stage))]
        )
        for k, stage in enumerate(stages)
    ]
    return Network(tokens, 1, BlockShape(2, 1, hidden), tuple(made))


def clip(low: float, high: float) -> list[Unit]:
    """The layer that takes every number into [low, high]."""
    return [(1.0, -high, -1.0), (-1.0, low, 1.0)]


# The layer that takes every number to 0.
VANISH: list[Unit] = [(1.0, 0.0, -1.0), (-1.0, 0.0, 1.0)]


def bump(start: float, width: float, height: float) -> list[Unit]:
    """A layer that adds a triangle over [start, start + width]; dyadic arguments keep it exact."""
    steep = 2 * height / width
    return [(1.0, -start, steep), (1.0, -(start + width / 2), -2 * steep), (1.0, -(start + width), steep)]


def attention_stage(
    width: int, heads: int, head_size: int, layers: int, fill: object, probability_map: object
) -> Stage:
    """Attention layers whose arrays `fill(name, shape)` gives."""
    inward = (layers, heads, head_size, width)
    shapes = {
        "W_Q": inward,
        "b_Q": inward[:3],
        "W_K": inward,
        "W_V": inward,
        "W_O": (layers, heads, width, head_size),
    }
    arrays = {name: fill(name, shape) for name, shape in shapes.items()}  # type: ignore[operator]
    return AttentionStage("attention", **arrays, probability_map=probability_map)  # type: ignore[arg-type]
