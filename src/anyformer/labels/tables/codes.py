"""How a network holds whole numbers in its tokens, read off its weights.

A layer of selective shifts moves the tokens whose reading w·z lies in a window one cell wide. So its weights tell
both w and the width of a cell, and a token's code is w·z in units of a cell. A layer of uniform attention averages
w·z; the cell is then as wide as what the quantiser's layers drop.
"""

from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.networks.layers import AttentionStage, FeedForwardStage
from anyformer.networks.network import Network
from anyformer.networks.roles import Role

LONGEST_CYCLE = 64


@dataclass(frozen=True)
class Window:
    """A layer shifts the tokens whose reading lies strictly between these two."""

    lower: float
    upper: float


@dataclass(frozen=True)
class Code:
    """A token's code is direction·z / unit."""

    direction: tuple[float, ...]
    unit: float

    def of(self, state: Array) -> tuple[int | float, ...]:
        """The codes of all tokens of a sequence; a float where one is no whole number."""
        return tuple(int(c) if c.is_integer() else c for c in (state @ np.array(self.direction) / self.unit).tolist())


def window(stage: AttentionStage, layer: int) -> Window | None:
    """The window of a layer with two active heads that compare the token's reading with a threshold; otherwise None."""
    thresholds = [_threshold(stage, layer, head) for head in _at_work(stage, layer)]
    known = sorted(threshold for threshold in thresholds if threshold is not None)
    return Window(*known) if len(thresholds) == len(known) == 2 and known[0] < known[1] else None


def _at_work(stage: AttentionStage, layer: int) -> list[int]:
    return [head for head, W_O in enumerate(stage.W_O[layer]) if W_O.any()]


def _threshold(stage: AttentionStage, layer: int, head: int) -> float | None:
    """t with query = s·(key − t): where a head turns from the smallest key to the largest."""
    queries, keys = stage.W_Q[layer, head], stage.W_K[layer, head]
    if len(keys) != 1 or not keys.any():
        return None
    pivot = int(np.abs(keys[0]).argmax())
    sharpness = float(queries[0, pivot] / keys[0, pivot])
    if sharpness <= 0 or not np.isfinite(sharpness) or (queries != sharpness * keys).any():
        return None
    return -float(stage.b_Q[layer, head, 0]) / sharpness


def _first_cycle(stage: AttentionStage) -> range:
    """The layers of the first cycle, of which at least one is active: in a sparse network the others are idle."""
    return range(min(len(stage), LONGEST_CYCLE))


def find_sweep(network: Network) -> int | None:
    """The index of the first stage whose layers have windows: the selective shifts."""
    for index, stage in enumerate(network.stages):
        if isinstance(stage, AttentionStage) and any(window(stage, k) is not None for k in _first_cycle(stage)):
            return index
    return None


def find_average(network: Network) -> int | None:
    """The index of the first stage whose attention is uniform."""
    for index, stage in enumerate(network.stages):
        working = [k for k in _first_cycle(stage) if _at_work(stage, k)] if isinstance(stage, AttentionStage) else []
        if isinstance(stage, AttentionStage) and working:
            return None if stage.W_K[working[0], _at_work(stage, working[0])[0]].any() else index
    return None


def code_of(network: Network) -> Code | None:
    """How the network's tokens hold codes; None if it neither shifts selectively nor averages."""
    sweep, average = find_sweep(network), find_average(network)
    if sweep is not None:
        stage = network.stages[sweep]
        assert isinstance(stage, AttentionStage)
        layer = next(k for k in _first_cycle(stage) if window(stage, k) is not None)
        first = window(stage, layer)
        assert first is not None
        return Code(tuple(stage.W_K[layer, _at_work(stage, layer)[0], 0].tolist()), first.upper - first.lower)
    unit = _dropped(network)
    if average is None or unit is None:
        return None
    stage = network.stages[average]
    assert isinstance(stage, AttentionStage)
    return Code(tuple(stage.W_V[0, _at_work(stage, 0)[0], 0].tolist()), unit)


def coded_stages(network: Network) -> range:
    """The stages after which tokens hold codes: from the quantiser, or what gathers its columns, to the context ids."""
    roles = [stage.role for stage in network.stages]
    if code_of(network) is None or Role.QUANTISE not in roles or Role.CONTEXT_ID not in roles:
        return range(0)
    # Where a token has several coordinates, its code stands in one only after it was gathered there.
    is_gathered = network.width > 1 and Role.CODE in roles
    start = roles.index(Role.CODE) if is_gathered else roles.index(Role.QUANTISE)
    return range(start, len(roles) - roles[::-1].index(Role.CONTEXT_ID))


def _dropped(network: Network) -> float | None:
    """The width of a cell: how far apart the first and the last kink of a quantiser's layer are."""
    for stage in network.stages:
        if stage.role is Role.QUANTISE and isinstance(stage, FeedForwardStage) and len(stage):
            heard = (stage.W_2[0] != 0).any(axis=0)
            return float(np.ptp(stage.b_1[0, heard])) or None
    return None
