"""What a network is: layers, blocks and stages as frozen data, and the slow evaluation that defines their meaning."""

from anyformer.networks.activations import PiecewiseLinear, ReLU
from anyformer.networks.evaluate import evaluate
from anyformer.networks.layers import (
    AttentionLayer,
    AttentionStage,
    Block,
    BlockShape,
    FeedForwardLayer,
    FeedForwardStage,
    Stage,
)
from anyformer.networks.network import Network
from anyformer.networks.probability_maps import (
    Entmax,
    Hardmax,
    Softmax,
    Sparsemax,
    check_probability_map,
    probability_map,
)

__all__ = [
    "AttentionLayer",
    "AttentionStage",
    "Block",
    "BlockShape",
    "Entmax",
    "FeedForwardLayer",
    "FeedForwardStage",
    "Hardmax",
    "Network",
    "PiecewiseLinear",
    "ReLU",
    "Softmax",
    "Sparsemax",
    "Stage",
    "check_probability_map",
    "evaluate",
    "probability_map",
]
