"""A BERT of mixers as it is exported to ONNX: words in, and by their names in PyTorch the outputs of its head."""

import torch
from torch import Tensor, nn

from anyformer.errors import MixerError
from anyformer.mixers.bert.model import MixerBertPreTrainedModel
from anyformer.mixers.onnx import Graph, padded

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class _Named(nn.Module):
    """The model from three tensors to a plain tuple, without outputs that only training or inspection needs."""

    def __init__(self, model: MixerBertPreTrainedModel) -> None:
        super().__init__()
        self.model = model

    def named(self, *given: Tensor) -> dict[str, Tensor]:
        """The outputs by name."""
        asked = dict(zip(INPUTS, given, strict=True))
        return dict(self.model(**asked, return_dict=True, output_hidden_states=False, output_attentions=False))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.named(input_ids, attention_mask, token_type_ids).values())


def bert_graph(model: MixerBertPreTrainedModel) -> Graph:
    """What is exported of MixerBertModel or a head."""
    if model.training:
        raise MixerError(
            f"{type(model).__name__} must be in evaluation mode to be exported; it is in training. Call model.eval()."
        )
    if type(model).__name__.endswith("ForMultipleChoice"):
        raise MixerError(
            "what is exported must take (batch, tokens);"
            f" {type(model).__name__} takes (batch, choices, tokens). Export model.base_model, and score its texts."
        )
    config = model.config

    def example(mask: Tensor) -> tuple[Tensor, ...]:
        generator = torch.Generator().manual_seed(0)
        words, types = (
            torch.randint(count, mask.shape, generator=generator)
            for count in (config.vocab_size, config.type_vocab_size)
        )
        return tuple(given.to(model.device) for given in (words, mask, types))

    def products(tokens: int) -> int:
        """A layer: as a mixer; W_O, W_1, W_2; mean and variance of two norms. Ends: two norms, pooler, word scores.

        Counted as if all roundings had the same sign, which leaves room for errors that later layers magnify.
        """
        layer = (tokens + 2 * config.hidden_size) + (2 * config.hidden_size + config.intermediate_size)
        norms, ends = 4 * config.hidden_size, 6 * config.hidden_size
        return config.num_hidden_layers * (layer + norms) + ends

    module = _Named(model).eval()
    with torch.no_grad():
        outputs = tuple(module.named(*example(padded(1, 2))))
    return Graph(type(model).__name__, module, INPUTS, outputs, example, products)
