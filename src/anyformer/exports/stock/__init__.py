"""A compiled model in an ordinary `nn.TransformerEncoder` of PyTorch, with layer norms. Needs PyTorch."""

from anyformer.extras import require

require("torch", extra="torch", what="a model in nn.TransformerEncoder")

from anyformer.exports.stock.certificate import StockCertificate, encoder_digest
from anyformer.exports.stock.conversion import to_transformer_encoder
from anyformer.exports.stock.module import StockTransformer

__all__ = ["StockCertificate", "StockTransformer", "encoder_digest", "to_transformer_encoder"]
