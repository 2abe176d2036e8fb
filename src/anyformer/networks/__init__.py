"""What a network is: layers, blocks and stages as frozen data, and the slow evaluation that defines their meaning."""

from anyformer.networks.activations import PiecewiseLinear, ReLU
from anyformer.networks.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, DType, as_dtype
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
from anyformer.networks.network import Network, cast
from anyformer.networks.probability_maps import (
    Entmax,
    Hardmax,
    Softmax,
    Sparsemax,
    check_probability_map,
    probability_map,
)

__all__ = [
    "BFLOAT16",
    "FLOAT16",
    "FLOAT32",
    "FLOAT64",
    "AttentionLayer",
    "AttentionStage",
    "Block",
    "BlockShape",
    "DType",
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
    "as_dtype",
    "cast",
    "check_probability_map",
    "evaluate",
    "probability_map",
]
