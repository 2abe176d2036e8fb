"""Small BERTs, and the real one that installs from PyPI."""

import pytest
import torch

pytest.importorskip("transformers", reason="BERT needs transformers: pip install anyformer[bert]")

from anyformer.mixers import Attention, Average, Bilinear, Convolution, Mixer, MixerBertConfig

STACK: tuple[Mixer, ...] = (Convolution(kernel=6, filters=4), Bilinear(max_length=21), Average(), Attention(heads=3))
VOCABULARY = 131


def small(**changes) -> MixerBertConfig:
    """All four mixers, one a layer, a different size on every axis, no dropout."""
    sizes = {
        "vocab_size": VOCABULARY,
        "hidden_size": 24,
        "num_hidden_layers": 4,
        "num_attention_heads": 3,
        "intermediate_size": 40,
        "max_position_embeddings": 32,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "mixers": STACK,
    }
    return MixerBertConfig(**{**sizes, **changes})


def words(lengths: tuple[int, ...] = (9, 4, 6), vocabulary: int = VOCABULARY) -> dict[str, torch.Tensor]:
    """Random input_ids, padded on the right, and their mask."""
    generator = torch.Generator().manual_seed(2)
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    ids = torch.randint(5, vocabulary, mask.shape, generator=generator)
    return {"input_ids": ids * mask, "attention_mask": mask}


def labels(given: dict[str, torch.Tensor]) -> torch.Tensor:
    """Every third kept token is to be predicted."""
    chosen = (torch.arange(given["input_ids"].shape[1]) % 3 == 1) & (given["attention_mask"] == 1)
    return torch.where(chosen, given["input_ids"], -100)
