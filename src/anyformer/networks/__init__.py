"""What a network is: layers, blocks and stages as frozen data, and the slow evaluation that defines their meaning."""

from anyformer.networks.activations import Hardmax, PiecewiseLinear, ReLU, Softmax
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

__all__ = [
    "AttentionLayer",
    "AttentionStage",
    "Block",
    "BlockShape",
    "FeedForwardLayer",
    "FeedForwardStage",
    "Hardmax",
    "Network",
    "PiecewiseLinear",
    "ReLU",
    "Softmax",
    "Stage",
    "evaluate",
]
