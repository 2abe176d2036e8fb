"""Whether a sparsity pattern lets every head see the keys that its step needs."""

import numpy as np

from anyformer.arrays import Booleans
from anyformer.certificates.programs.layers import Attention, joined_layers
from anyformer.construction.compiling.writer import Written
from anyformer.errors import PlanError
from anyformer.programs.forms import Node
from anyformer.programs.program import Program
from anyformer.programs.steps import Attend, Mix
from anyformer.programs.text import formula


def check_visibility(written: Written, program: Program) -> None:
    """Refuse a network whose pattern hides a key that a step needs."""
    if written.network.pattern is None:
        return
    layers = joined_layers(written.network)
    for hint in written.hints:
        layer = layers[hint.layer]
        if hint.head is None or not isinstance(layer, Attention):
            continue
        node, sees = program.nodes[hint.node], layer.heads[hint.head].sees
        hidden = _needed(node, program.tokens) & ~np.asarray(sees)
        if sees is not None and hidden.any():
            query, key = (int(index) for index in np.argwhere(hidden)[0])
            raise PlanError(
                f"compile needs a pattern in which every token sees what its steps read; {formula(node)} needs token "
                f"{query} to attend to token {key}, and the pattern does not let it. Take a fuller pattern, leave it "
                f"out, or take a sparse method such as sparse-averaging."
            )


def _needed(node: Node, tokens: int) -> Booleans:
    """Which keys each query reads, (queries, keys)."""
    match node.step:
        case Mix(shares):
            return np.asarray(shares.values > 0)
        case Attend(_, offsets) if offsets is not None:
            return ~np.isneginf(offsets.values)
    return np.ones((tokens, tokens), dtype=np.bool_)
