"""Making the classes known to AutoConfig and AutoModel."""

import transformers

from anyformer.exports.huggingface.config import AnyformerConfig
from anyformer.exports.huggingface.model import AnyformerModel


def register() -> None:
    """Register both classes; a second time changes nothing."""
    transformers.AutoConfig.register(AnyformerConfig.model_type, AnyformerConfig, exist_ok=True)
    transformers.AutoModel.register(AnyformerConfig, AnyformerModel, exist_ok=True)
