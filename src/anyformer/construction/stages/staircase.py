"""Feed-forward stages in ReLU form that read the first coordinate and climb or descend many steps a layer.

A step at a threshold is two ReLUs: a ramp that ends exactly there. With r hidden units a layer holds r/2 of them.
"""

from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.construction.stages.draft import Draft
from anyformer.networks.activations import ReLU
from anyformer.networks.layers import FeedForwardStage
from anyformer.networks.roles import Role


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps by layer: thresholds (layers, slots), jumps (layers, slots, width); unused slots have jump 0."""

    thresholds: Array
    jumps: Array


def step_stage(name: str, role: Role, steps: Steps, ramp: float, clamp: Array | None = None) -> Draft:
    """z += Σ jump·[z_0 >= threshold], all steps of a layer at once, a ramp below each threshold.

    With `clamp`, coordinate 0 of whatever is above clamp[layer] comes down to it first: −ReLU(z_0 − clamp).
    """
    layers, slots, width = steps.jumps.shape
    W_1 = np.zeros((layers, 2 * slots, width))
    W_1[:, :, 0] = 1.0
    kinks = np.stack([steps.thresholds - ramp, steps.thresholds], axis=2).reshape(layers, 2 * slots)
    steep = steps.jumps / ramp
    W_2 = np.stack([steep, -steep], axis=2).reshape(layers, 2 * slots, width).swapaxes(1, 2).copy()
    if clamp is not None:
        lowest = 2 * np.argmax(steps.thresholds == clamp[:, None], axis=1) + 1
        W_2[np.arange(layers), 0, lowest] -= 1.0
    unused = ~(W_2 != 0).any(axis=1)
    W_1[unused], kinks[unused] = 0.0, 0.0
    return Draft(FeedForwardStage(name, W_1, -kinks, W_2, np.zeros((layers, width)), ReLU(), role), ramp)


def packed(thresholds: Array, jumps: Array, slots: int) -> Steps:
    """Steps given from the highest threshold down, `slots` to a layer."""
    layers = -(-len(thresholds) // slots)
    padding = layers * slots - len(thresholds)
    filled = np.concatenate([thresholds, np.repeat(thresholds[-1:], padding)])
    padded = np.concatenate([jumps, np.zeros((padding, jumps.shape[1]))])
    return Steps(filled.reshape(layers, slots), padded.reshape(layers, slots, -1))
