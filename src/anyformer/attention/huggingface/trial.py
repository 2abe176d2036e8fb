"""A forward pass over a few tokens, with a function that only looks on: does the model's attention go through it?"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel

from anyformer.attention.huggingface.layers import refuse_others
from anyformer.attention.huggingface.masks import padding_mask, read
from anyformer.errors import AttentionError, raised

TRIAL = "anyformer_sparse_trial"
_KEPT = ((1, 1, 1, 0), (1, 1, 1, 1))


def layers_of(model: PreTrainedModel) -> list[nn.Module]:
    """The attention layers in the order in which they are called, shared ones several times; or AttentionError.

    Every layer must be given the padding of the trial: otherwise padding would be seen in silence.
    """
    called: list[nn.Module] = []
    keep = torch.tensor(_KEPT, device=model.device)

    def look_on(
        module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **named: Any
    ) -> tuple[Tensor, None]:
        refuse_others({name: given for name, given in named.items() if name not in ("scaling", "dropout", "is_causal")})
        kept, _ = read(module, attention_mask, named.get("is_causal"))
        if kept is None or not torch.equal(kept.bool(), keep.bool()):
            raise AttentionError(
                f"every layer must be given the padding; {type(module).__name__} was not, and would see it."
                " This model cannot be made sparse."
            )
        called.append(module)
        return query.new_zeros(query.shape[0], query.shape[2], query.shape[1], value.shape[-1]), None

    with _registered(look_on, model), torch.no_grad(), torch.random.fork_rng(devices=[]):
        try:
            model(input_ids=torch.ones_like(keep), attention_mask=keep)
        except AttentionError:
            raise
        except Exception as error:
            raise AttentionError(
                f"{type(model).__name__} must take input_ids and attention_mask of (2, 4) tokens, in a trial of where"
                f" its attention goes; it raised {raised(error)}."
            ) from error
    return called


@contextmanager
def _registered(function: Any, model: PreTrainedModel) -> Iterator[None]:
    """The model with this attention, and afterwards with the one that it had."""
    before = model.config._attn_implementation
    AttentionInterface.register(TRIAL, function)
    AttentionMaskInterface.register(TRIAL, padding_mask)
    try:
        model.set_attn_implementation(TRIAL)
        yield
    finally:
        model.set_attn_implementation(before)
        for interface in (AttentionInterface, AttentionMaskInterface):
            interface._global_mapping.pop(TRIAL, None)
