"""Models of which one knows beforehand what context they carry: to be measured beside one's own.

Bare embeddings carry none. A BERT with random weights shows what a mixer does by itself, before any training.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from anyformer.contextuality.layers import Layered
from anyformer.contextuality.models.modules import from_module
from anyformer.errors import ContextualityError
from anyformer.extras import require

BARE: Final = "bare embeddings"
STOCK: Final = "random BERT"


def controls(
    vocabulary: int, *, layers: int = 4, width: int = 128, heads: int = 4, length: int = 128, seed: int = 0
) -> dict[str, Layered]:
    """Bare embeddings, a BERT of `transformers`, and a BERT for each kind of mixer, all with random weights.

    Args:
        vocabulary: how many tokens there are: numbers of tokens must be below.
        layers: of each BERT.
        width: numbers per token.
        heads: of attention.
        length: the most tokens of a sequence.
        seed: of the weights.

    Example:
        >>> list(controls(100, layers=1, width=8, heads=2, length=6))[:3]
        ['bare embeddings', 'random BERT', 'average attention']
    """
    if vocabulary < 1:
        raise ContextualityError(f"the vocabulary must have at least one token; got {vocabulary}.")
    torch = require("torch", extra="context", what="controls")
    transformers = require("transformers", extra="context", what="controls")
    from anyformer.mixers import MixerBertConfig, MixerBertModel

    sizes: dict[str, Any] = {
        "vocab_size": vocabulary,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": 4 * width,
        "max_position_embeddings": length,
    }
    found: dict[str, Layered] = {}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        stock = transformers.BertModel(transformers.BertConfig(**sizes), add_pooling_layer=False)
        found[BARE] = replace(from_module(stock.embeddings.word_embeddings, None), name=BARE)
        found[STOCK] = replace(from_module(stock, None), name=STOCK)
        for name, mixer in _mixers(heads, length).items():
            torch.manual_seed(seed)
            bert = MixerBertModel(MixerBertConfig(**sizes, mixers=[mixer] * layers), add_pooling_layer=False)
            found[name] = replace(from_module(bert, None), name=name)
    return found


def _mixers(heads: int, length: int) -> Mapping[str, Any]:
    """The paper's, and sparse attention; windows are short against the length, so that their reach shows."""
    from anyformer.mixers import Attention, Average, Bilinear, Convolution, PatternAttention
    from anyformer.patterns import SlidingWindow

    near = max(1, length // 32)
    return {
        "average attention": Average(),
        "bilinear projection": Bilinear(max_length=length),
        "convolution": Convolution(kernel=2 * near + 1, filters=heads),
        "sparse attention": PatternAttention(heads, SlidingWindow(half_width=near)),
        "full attention": Attention(heads),
    }
