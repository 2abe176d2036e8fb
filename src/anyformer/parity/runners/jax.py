"""JAX: a small evaluation of a network, compiled by XLA.

Stages are scans over their stacked weights. 64-bit types are switched on for these calls alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from anyformer.arrays import Array, Booleans
from anyformer.errors import ParityError
from anyformer.extras import require
from anyformer.networks.layers import AttentionStage, weights
from anyformer.networks.network import Network
from anyformer.networks.probability_maps import Softmax
from anyformer.parity.runners.runner import Cast, Run, Runner

Step = Callable[[Any], Any]


@dataclass(frozen=True)
class Jax(Runner):
    """On the processor or wherever JAX runs."""

    name: ClassVar[str] = "JAX"

    def prepare(self, model: Cast) -> Run:
        """The network as a compiled function."""
        jax = require("jax", extra="jax", what="parity with JAX")
        network = model.network
        others = {stage.probability_map for stage in network.stages if isinstance(stage, AttentionStage)} - {Softmax()}
        if others or not network.is_soft:
            raise ParityError("only softmax and ReLU networks run in JAX here; this one has other maps or activations.")
        with jax.enable_x64(True):
            compiled = jax.jit(_network(jax, network))

        def run(x: Array) -> Array:
            with jax.enable_x64(True):
                given = jax.numpy.asarray(x).astype(network.dtype.name)
                return np.asarray(compiled(given).astype("float64"))

        return run


def _network(jax: Any, network: Network) -> Step:
    np_, kind = jax.numpy, network.dtype.name

    def array(values: Array) -> Any:
        return np_.asarray(values).astype(kind)

    steps = [_stage(jax, network, k, array) for k in range(len(network.stages))]
    W_E, E, W_R, b_R = (
        None if one is None else array(one)
        for one in (network.W_E, network.positional_encoding, network.W_R, network.b_R)
    )

    def forward(x: Any) -> Any:
        state = x if W_E is None else _times(jax, x, W_E)
        state = state if E is None else state + E
        for step in steps:
            state = step(state)
        return state if W_R is None else _times(jax, state, W_R) + b_R

    return forward


def _stage(jax: Any, network: Network, k: int, array: Callable[[Array], Any]) -> Step:
    stage = network.stages[k]
    stacked = {name: array(values) for name, values in weights(stage).items()}
    if not isinstance(stage, AttentionStage):
        return lambda state: jax.lax.scan(lambda x, w: (_feed_forward(jax, x, w), None), state, stacked)[0]
    views = _views(network, k)
    if views is not None:
        stacked["sees"] = jax.numpy.asarray(views)
    return lambda state: jax.lax.scan(lambda x, w: (_attention(jax, x, w), None), state, stacked)[0]


def _times(jax: Any, x: Any, W: Any) -> Any:
    """W x for every token, with all the bits that the type has."""
    return jax.numpy.matmul(x, W.swapaxes(-1, -2), precision="highest")


def _feed_forward(jax: Any, x: Any, w: dict[str, Any]) -> Any:
    hidden = jax.numpy.maximum(_times(jax, x, w["W_1"]) + w["b_1"], 0)
    return x + (_times(jax, hidden, w["W_2"]) + w["b_2"])


def _attention(jax: Any, x: Any, w: dict[str, Any]) -> Any:
    """All heads at once, (batch, heads, tokens, …)."""
    np_, one = jax.numpy, x[:, None]
    queries = _times(jax, one, w["W_Q"]) + w["b_Q"][:, None, :]
    scores = _times(jax, queries, _times(jax, one, w["W_K"]))
    if "sees" in w:
        scores = np_.where(w["sees"], scores, -np_.inf)
    powers = np_.exp(scores - scores.max(axis=-1, keepdims=True))
    shares = powers / powers.sum(axis=-1, keepdims=True)
    # Weighted values are rounded before they are added: proofs of tables count on it.
    values = _times(jax, one, w["W_V"])
    weighted = jax.lax.reduce_precision(shares[..., None] * values[:, :, None], *_bits(np_.finfo(x.dtype)))
    return x + _times(jax, weighted.sum(axis=-2), w["W_O"]).sum(axis=1)


def _bits(kind: Any) -> tuple[int, int]:
    return int(kind.nexp), int(kind.nmant)


def _views(network: Network, k: int) -> Booleans | None:
    """Which keys each query of each head sees, (layers, heads, tokens, tokens); None if all."""
    if network.pattern is None:
        return None
    heads, tokens = network.stages[k].sizes["heads"], network.tokens
    sees = np.zeros((len(network.stages[k]), heads, tokens, tokens), dtype=np.bool_)
    for layer, view in enumerate(network.views(k)):
        assert view is not None
        for head in range(heads):
            for query in range(tokens):
                sees[layer, head, query, view[head % len(view)].keys_of(query)] = True
    return sees
