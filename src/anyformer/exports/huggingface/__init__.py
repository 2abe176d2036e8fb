"""A network as a model of Hugging Face; importing this makes it known to their Auto classes."""

from anyformer.extras import require

for package in ("torch", "transformers"):
    require(package, extra="huggingface", what="Hugging Face models")

from anyformer.exports.huggingface.config import AnyformerConfig
from anyformer.exports.huggingface.conversion import from_huggingface, to_huggingface, write
from anyformer.exports.huggingface.model import AnyformerModel
from anyformer.exports.huggingface.register import register

__all__ = ["AnyformerConfig", "AnyformerModel", "from_huggingface", "register", "to_huggingface", "write"]

# The only thing done at import: afterwards AutoModel can load our folders, without any code from them.
register()
