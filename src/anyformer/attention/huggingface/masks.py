"""What a model tells its attention of padding and of causality, as one tensor (batch, tokens).

A model asks a registered function for its mask, says there whether later tokens are hidden, and hands the mask to every
layer. Layers may move, cut or detach it, so that what it says must be in the tensor itself: its *type* says whether the
model is causal, its numbers say which tokens are padding (0).
"""

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor, nn
from transformers.masking_utils import bidirectional_mask_function, causal_mask_function

from anyformer.errors import AttentionError

BOTH_WAYS: Final = torch.bool
CAUSAL: Final = torch.uint8


def padding_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int = 0,
    kv_offset: int = 0,
    mask_function: Callable[..., Any] = causal_mask_function,
    attention_mask: Tensor | None = None,
    device: torch.device | str = "cpu",
    **_: Any,
) -> Tensor:
    """The mask of one call of a model; `transformers` gives the arguments by these names."""
    if mask_function not in (bidirectional_mask_function, causal_mask_function):
        raise AttentionError(
            "the model must see all tokens, or all earlier ones: the pattern chooses among them; got a mask of its own,"
            " such as a sliding window, packed sequences or blocks. Turn that off in its config, for example"
            " sliding_window=None, and give an attention_mask with packed sequences unpacked."
        )
    if q_length != kv_length or q_offset or kv_offset:
        raise too_few_queries(q_length, kv_length)
    keep = torch.ones(batch_size, kv_length, dtype=torch.bool, device=device)
    if attention_mask is not None:
        if attention_mask.shape != keep.shape:
            raise AttentionError(
                f"attention_mask must have the shape (batch, tokens) = {tuple(keep.shape)}, 1 = keep; got"
                f" {tuple(attention_mask.shape)}. Pairs are chosen by the pattern; the mask is for padding alone."
            )
        keep = attention_mask.bool()
    return keep.to(CAUSAL if mask_function is causal_mask_function else BOTH_WAYS)


def read(module: nn.Module, mask: object, is_causal: bool | None) -> tuple[Tensor | None, bool]:
    """Which tokens are kept, None if all are, and whether the layer is causal."""
    if mask is None:  # the model asks for no masks: then its layers know
        told = getattr(module, "is_causal", None) if is_causal is None else is_causal
        if told is None:
            raise AttentionError(
                f"{type(module).__name__} must say whether it is causal, by a mask or by is_causal; got neither."
                " Call anyformer.attention.sparse_attention in the model's code instead."
            )
        return None, bool(told)
    if not isinstance(mask, Tensor) or mask.dim() != 2 or mask.dtype not in (BOTH_WAYS, CAUSAL):
        shown = f"{tuple(mask.shape)} of {mask.dtype}" if isinstance(mask, Tensor) else type(mask).__name__
        raise AttentionError(
            "the attention_mask of a sparse model must be (batch, tokens), 1 = keep, or none; a layer got"
            f" {shown}. Give the tokenizer's mask as it is: pairs are chosen by the pattern."
        )
    keep = None if mask.device.type == "cpu" and bool(mask.all()) else mask
    return keep, mask.dtype == CAUSAL


def too_few_queries(queries: int, keys: int) -> AttentionError:
    """Why there must be as many queries as keys."""
    return AttentionError(
        f"there must be as many queries as keys; got {queries} and {keys}. A pattern is made for a whole sequence:"
        " generate with use_cache=False, and give no past_key_values."
    )
