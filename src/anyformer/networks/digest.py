"""A fingerprint of a network: changes when any weight, shape, name, role or order does."""

import hashlib
import json

from anyformer.networks.dtypes import FLOAT64
from anyformer.networks.layers import AttentionStage, own_sizes
from anyformer.networks.network import Network
from anyformer.networks.probability_maps import Softmax
from anyformer.patterns.exchange.json_form import to_json


def digest(network: Network) -> str:
    """SHA-256 over the network's structure and the bits of its weights."""
    structure = {
        "tokens": network.tokens,
        "width": network.width,
        "shape": [network.shape.heads, network.shape.head_size, network.shape.hidden_size],
        "stages": [
            # Sizes are said only where they differ from the shape.
            [stage.name, stage.role.name, stage.kind, len(stage), *filter(None, [own_sizes(stage, network.shape)])]
            for stage in network.stages
        ],
        "positions": network.positional_encoding is not None,
        **_sparse(network),
        **({"stream_width": network.stream_width} if network.has_embedding else {}),
        **({"dtype": network.dtype.name} if network.dtype != FLOAT64 else {}),
    }
    sha = hashlib.sha256(json.dumps(structure, sort_keys=True).encode())
    for array in network.arrays().values():
        sha.update(array.astype("<f8").tobytes())
    return sha.hexdigest()


def _sparse(network: Network) -> dict[str, object]:
    """The pattern and the probability maps, where they differ from those of an ordinary Transformer."""
    maps = [repr(stage.probability_map) for stage in network.stages if isinstance(stage, AttentionStage)]
    found: dict[str, object] = {} if set(maps) <= {repr(Softmax())} else {"maps": maps}
    return found if network.pattern is None else found | {"pattern": to_json(network.pattern)}
