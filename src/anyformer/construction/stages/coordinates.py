"""Feed-forward stages that work on one coordinate a layer."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from anyformer.construction.stages.draft import Draft
from anyformer.networks.activations import PiecewiseLinear, pieces
from anyformer.networks.layers import FeedForwardStage
from anyformer.networks.roles import Role

# Clamping x to c is exact to one ulp of x. So one rung may be this much larger than the next, and the error stays a
# fraction of c.
LADDER_RATIO = 2.0**45


def rowwise_stage(
    name: str, role: Role, width: int, rows: Sequence[int], thresholds: Sequence[float], activation: PiecewiseLinear
) -> FeedForwardStage:
    """Layers z_i += activation(z_i − threshold), for the given coordinates i and thresholds in turn."""
    layers = np.arange(len(rows))
    W_1 = np.zeros((len(rows), 1, width))
    W_1[layers, 0, list(rows)] = 1.0
    b_1 = -np.array(thresholds, dtype=np.float64)[:, None]
    return FeedForwardStage(name, W_1, b_1, W_1.swapaxes(1, 2), np.zeros((len(rows), width)), activation, role)


def clamp_rows(name: str, role: Role, width: int, bound: float, reach: float) -> Draft:
    """Clamp every coordinate to [−bound, bound], in float64 too for whatever is below `reach`; all powers of two."""
    rungs = [bound, bound]
    while rungs[-1] * LADDER_RATIO < reach:
        rungs.append(rungs[-1] * LADDER_RATIO)
    rungs.reverse()
    # One activation for all rungs: clamp z/rung to [−1, 1].
    clamp = pieces((-1.0, 1.0), (-1, -1), (0, 0), (-1, 1))
    stage = rowwise_stage(name, role, width, list(range(width)) * len(rungs), [0.0] * width * len(rungs), clamp)
    scale = np.repeat(rungs, width)[:, None, None]
    return Draft(replace(stage, W_1=stage.W_1 / scale, W_2=stage.W_2 * scale), 1.0)


def vanish(name: str, role: Role, width: int, threshold: float, others: float | None = None) -> list[Draft]:
    """Send a token to exactly 0 if its first coordinate is at least `threshold`; None: its others are 0 already.

    The other coordinates of every token must be below others/2, unless they may vanish as well. They are first raised
    to others or more, then whatever is that high falls to 0: −z from there on. Between half the threshold and the
    threshold lies the ramp.
    """
    drafts = []
    if width > 1 and others is not None:
        W_1, W_2 = np.zeros((1, 1, width)), np.full((1, width, 1), 1.5 * others)
        W_1[0, 0, 0], W_2[0, 0, 0] = 1.0, 0.0
        mark = pieces((threshold,), (0, 0), (0, 1))
        raised = FeedForwardStage(f"{name}: mark", W_1, np.zeros((1, 1)), W_2, np.zeros((1, width)), mark, role)
        drafts.append(Draft(raised, threshold / 2))
        drafts.append(Draft(_falling(f"{name}: others", role, width, range(1, width), others), others / 2))
    return [*drafts, Draft(_falling(name, role, width, [0], threshold), threshold / 2)]


def _falling(name: str, role: Role, width: int, rows: Sequence[int], threshold: float) -> FeedForwardStage:
    """Send the given coordinates to 0 from the threshold on, one layer each."""
    fall = pieces((threshold,), (0, 0), (-1, 0))
    return rowwise_stage(name, role, width, rows, [0.0] * len(rows), fall)
