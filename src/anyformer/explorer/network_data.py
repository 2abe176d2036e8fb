"""A network as data for the page: every weight, bit for bit."""

from dataclasses import asdict
from typing import Any

import numpy as np

from anyformer.errors import ExplorerError
from anyformer.explorer.island import packed
from anyformer.networks.activations import ReLU
from anyformer.networks.layers import AttentionStage, Stage, weights
from anyformer.networks.network import EMBEDDING, POSITIONS, Network
from anyformer.networks.probability_maps import Entmax, Hardmax, ProbabilityMap, Softmax, Sparsemax
from anyformer.patterns.neighbours import Neighbours

# Weights that are not 0: at most 16 base64 signs each, so about 8 MB.
MOST_WEIGHTS = 500_000
# Pairs of tokens that all heads look at for one input; beyond, a browser would take seconds.
MOST_PAIRS = 4_000_000
MAPS: dict[type, str] = {Softmax: "softmax", Hardmax: "hardmax", Sparsemax: "sparsemax", Entmax: "entmax"}


def network_data(network: Network) -> dict[str, Any]:
    """Everything that the page needs to run the network.

    Raises ExplorerError if it is too large for a page, or has an attention of the user's own.
    """
    _check_size(network)
    dtype, around = network.dtype, {name: getattr(network, name) for name in (POSITIONS, *EMBEDDING)}
    return {
        "tokens": network.tokens,
        "width": network.width,
        "stream_width": network.stream_width,
        "dtype": {
            "name": dtype.name,
            "bits": dtype.bits,
            "leastExponent": dtype.least_exponent,
            "endExponent": dtype.end_exponent,
        },
        "stages": [_stage(stage) for stage in network.stages],
        "around": {name: packed(array) for name, array in around.items() if array is not None},
        "pattern": None
        if network.pattern is None
        else [[_neighbours(one) for one in layer] for layer in network.pattern.layers],
    }


def _check_size(network: Network) -> None:
    stored = sum(int(np.count_nonzero(array)) for array in network.arrays().values())
    if stored > MOST_WEIGHTS:
        raise ExplorerError(
            f"a page holds at most {MOST_WEIGHTS:,} weights that are not 0, about 8 MB; this network has {stored:,}. "
            f"Build it with a larger tolerance or fewer tokens, or follow one input with `anyformer trace`."
        )
    heads = [len(stage) * stage.sizes["heads"] for stage in network.stages if isinstance(stage, AttentionStage)]
    pairs = sum(heads) * network.tokens**2
    if pairs > MOST_PAIRS:
        raise ExplorerError(
            f"a page looks at no more than {MOST_PAIRS:,} pairs of tokens for one input; the heads of this network "
            f"look at {pairs:,}. Explore it with fewer tokens."
        )


def _stage(stage: Stage) -> dict[str, Any]:
    data = {
        "name": stage.name,
        "role": stage.role.name,
        "purpose": stage.role.value,
        "kind": stage.kind,
        "layers": len(stage),
        "arrays": {name: packed(array) for name, array in weights(stage).items()},
    }
    if isinstance(stage, AttentionStage):
        return {**data, "units": 0, "map": _map(stage.probability_map)}
    bent = {} if isinstance(stage.activation, ReLU) else {"activation": asdict(stage.activation)}
    return {**data, "units": len(stage) * stage.sizes["hidden_size"], **bent}


def _map(rho: ProbabilityMap) -> dict[str, Any]:
    name = MAPS.get(type(rho))
    if name is None:
        raise ExplorerError(
            f"attention must be one of {', '.join(MAPS.values())} for a page to compute it; got {rho!r:.200}. "
            f"Build the model with one of them."
        )
    return {"name": name, "alpha": rho.alpha} if isinstance(rho, Entmax) else {"name": name}


def _neighbours(one: Neighbours) -> dict[str, Any]:
    return {"starts": one.indptr.tolist(), "keys": one.indices.tolist()}
