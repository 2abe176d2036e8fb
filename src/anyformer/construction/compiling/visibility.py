"""Whether a sparsity pattern lets every step of a program see the tokens that it reads."""

import numpy as np

from anyformer.arrays import Booleans
from anyformer.errors import PlanError
from anyformer.patterns.neighbours import common
from anyformer.patterns.pattern import SparsityPattern
from anyformer.programs.forms import Node
from anyformer.programs.steps import Attend, Mix


def check_visibility(nodes: list[Node], pattern: SparsityPattern | None) -> None:
    """Raise PlanError unless every list of the pattern has all pairs of tokens that some step reads.

    A step may become any head of any attention layer, so that what counts is what all lists have in common.
    """
    if pattern is None:
        return
    seen = common(pattern.lists())
    for node in nodes:
        if not node.step.mixes:
            continue
        queries, keys = np.nonzero(_read(node, pattern.tokens))
        hidden = np.flatnonzero(~seen.sees(queries, keys))
        if len(hidden):
            query, key = queries[hidden[0]], keys[hidden[0]]
            raise PlanError(
                f"compile needs a pattern in which every step sees the tokens that it reads; here token {query} must "
                f"see token {key}, and some layer or head of the pattern hides it. Take a wider pattern, or a sparse "
                f"table method such as sparse-averaging."
            )


def _read(node: Node, tokens: int) -> Booleans:
    """Which tokens (columns) every token (row) reads. A mixing reads nothing where its share is surely 0."""
    match node.step:
        case Mix(shares):
            return np.asarray((shares.values != 0) | (np.broadcast_to(shares.doubts, shares.values.shape) != 0))
        case Attend(_, offsets) if offsets is not None:
            return ~np.isneginf(offsets.values)
    return np.ones((tokens, tokens), dtype=np.bool_)
