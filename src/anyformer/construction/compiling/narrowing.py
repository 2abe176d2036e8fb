"""Layers with at most so many heads and hidden units: a wide layer becomes several narrow ones of the same stage.

A compiled layer reads no channel that it writes, so all narrow layers of a stage read the same numbers as the wide one,
whatever their order. A channel gets the same terms; only the order in which they are added is another.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from anyformer.arrays import Integers
from anyformer.certificates.programs.hints import Hint
from anyformer.construction.compiling.writer import Written
from anyformer.errors import PlanError
from anyformer.networks.layers import AttentionStage, BlockShape, FeedForwardStage, Stage
from anyformer.patterns.pattern import SparsityPattern
from anyformer.programs.program import Program
from anyformer.programs.steps import Attend


@dataclass(frozen=True)
class Limits:
    """The most heads and hidden units of a layer; None for as many as it takes."""

    heads: int | None = None
    hidden_size: int | None = None


def narrowed(written: Written, program: Program, limits: Limits) -> Written:
    """The same network in layers within the limits; layers that are cut have the hints of the uncut ones."""
    if limits == Limits():
        return written
    network, hints = written.network, list(written.hints)
    if limits.heads is not None:
        _check_pattern(network.pattern)
    stages: list[Stage] = []
    for number, stage in enumerate(network.stages):
        if isinstance(stage, AttentionStage) and limits.heads is not None:
            mine = [hint for hint in hints if hint.layer == number]
            stage = _cut_heads(stage, limits.heads, _score_sizes(stage, mine, program))
            hints = [_renumbered(hint, stage) if hint in mine else hint for hint in hints]
        elif isinstance(stage, FeedForwardStage) and limits.hidden_size is not None:
            stage = _cut_units(stage, limits.hidden_size)
        stages.append(stage)
    narrow = replace(network, shape=largest_block(stages), stages=tuple(stages))
    return Written(narrow, tuple(hints))


def largest_block(stages: list[Stage]) -> BlockShape:
    """The smallest shape that holds all stages."""
    heads, head_size, hidden_size = (
        max((stage.sizes.get(axis, 1) for stage in stages), default=1) for axis in ("heads", "head_size", "hidden_size")
    )
    return BlockShape(heads, head_size, hidden_size)


def _check_pattern(pattern: SparsityPattern | None) -> None:
    if pattern is not None and len(set(pattern.lists())) > 1:
        raise PlanError(
            "heads must be left out with a pattern whose layers or heads see different tokens: a head that moves to "
            "another layer would see other tokens. Leave the limit out, or take a pattern of one list."
        )


def _parts(count: int, most: int) -> tuple[int, int]:
    """The fewest parts of at most so many, as even as can be: their number, and the size of the largest."""
    parts = max(math.ceil(count / most), 1)
    return parts, max(math.ceil(count / parts), 1)


def _cut_units(stage: FeedForwardStage, most: int) -> FeedForwardStage:
    """All units in their order, so many a layer; the last layer is filled up with units of weight 0."""
    (W_1,), (b_1,), (W_2,), (b_2,) = stage.W_1, stage.b_1, stage.W_2, stage.b_2
    parts, size = _parts(len(b_1), most)
    missing = (0, parts * size - len(b_1))
    biases = np.zeros((parts, stage.width))
    biases[0] = b_2  # once, not once a layer
    return replace(
        stage,
        W_1=np.pad(W_1, (missing, (0, 0))).reshape(parts, size, stage.width),
        b_1=np.pad(b_1, missing).reshape(parts, size),
        W_2=np.pad(W_2, ((0, 0), missing)).reshape(stage.width, parts, size).swapaxes(0, 1),
        b_2=biases,
    )


def _cut_heads(stage: AttentionStage, most: int, score_sizes: list[int]) -> AttentionStage:
    """Heads no larger than their scores need: a head of m products returns m numbers, the next m another head."""
    pieces: list[tuple[int, Integers]] = []
    for head, size in enumerate(score_sizes):
        rows = np.flatnonzero(stage.W_O[0, head].any(axis=0))
        pieces += [(head, rows[k : k + size]) for k in range(0, len(rows), size)]
    parts, heads = _parts(len(pieces), most)
    size, width = max(score_sizes), stage.width
    W_Q, W_K, W_V = (np.zeros((parts * heads, size, width)) for _ in range(3))
    b_Q, W_O = np.zeros((parts * heads, size)), np.zeros((parts * heads, width, size))
    for k, (head, rows) in enumerate(pieces):
        m = score_sizes[head]
        W_Q[k, :m], b_Q[k, :m], W_K[k, :m] = stage.W_Q[0, head, :m], stage.b_Q[0, head, :m], stage.W_K[0, head, :m]
        W_V[k, : len(rows)], W_O[k, :, : len(rows)] = stage.W_V[0, head, rows], stage.W_O[0, head][:, rows]
    W_Q, b_Q, W_K, W_V, W_O = (one.reshape(parts, heads, *one.shape[1:]) for one in (W_Q, b_Q, W_K, W_V, W_O))
    return replace(stage, W_Q=W_Q, b_Q=b_Q, W_K=W_K, W_V=W_V, W_O=W_O)


def _score_sizes(stage: AttentionStage, hints: list[Hint], program: Program) -> list[int]:
    """For every head how many products its scores add up; at least 1, as a head has a size."""
    sizes = []
    for head in range(stage.sizes["heads"]):
        used = (stage.W_Q[0, head].any(axis=1) | (stage.b_Q[0, head] != 0)) & stage.W_K[0, head].any(axis=1)
        steps = [program.nodes[hint.node].step for hint in hints if hint.head == head]
        wanted = [step.size for step in steps if isinstance(step, Attend)]
        sizes.append(max([1, *wanted, *(np.flatnonzero(used) + 1).tolist()]))
    return sizes


def _renumbered(hint: Hint, stage: AttentionStage) -> Hint:
    """The same hint with the number of the head that now writes its channel, counted over all layers of the stage."""
    writers = stage.W_O.reshape(-1, *stage.W_O.shape[2:])[:, hint.channel].any(axis=1)
    return replace(hint, head=int(np.flatnonzero(writers)[0]))
