"""How weights start."""

import pytest
import torch

from anyformer.mixers import Attention, Average, Bilinear, MixerBertForMaskedLM
from anyformer.training import Architecture
from anyformer.training.tasks.initialization import initialize, neighbour


def test_near_positions_are_alike_and_words_hardly_disturb_them():
    embeddings = started().bert.embeddings
    positions, words = embeddings.position_embeddings.weight, embeddings.word_embeddings.weight
    assert (positions[:, :36] == 0).all()
    likeness = torch.nn.functional.cosine_similarity(positions[:1], positions)
    assert likeness[0] > likeness[1] > likeness[8:].mean()
    assert positions[:, 36:].norm() > 2 * words[:32, 36:].norm()


@pytest.mark.parametrize(("width", "heads"), [(48, 3), (128, 4), (64, 4), (768, 12), (6, 1), (8, 8)])
def test_every_head_starts_by_looking_at_its_own_neighbour(width, heads):
    """Whatever the size; heads of size 1, or without coordinates for positions, are left as they were."""
    model = started(width, heads)
    generator = torch.Generator().manual_seed(0)
    hidden = model.bert.embeddings(torch.randint(5, 211, (9, 32), generator=generator))
    weights = model.bert.encoder.layer[1].attention.weights(hidden, None).mean(dim=0)
    for head in range(min(heads, 6)):
        offset = neighbour(head)
        mine = weights[head].diagonal(offset).mean()
        others = [weights[head].diagonal(other).mean() for other in range(-6, 7) if other != offset]
        assert width // heads < 2 or mine > max(others)
        assert width < 48 or width // heads < 16 or mine > 0.4


def test_stock_heads_do_not():
    """What the start is for: BERT's own heads look everywhere alike."""
    torch.manual_seed(4)
    model = MixerBertForMaskedLM(shape(48, 3).config())
    hidden = model.bert.embeddings(torch.randint(5, 211, (9, 32)))
    weights = model.bert.encoder.layer[1].attention.weights(hidden, None)
    assert weights.max() < 2 / 32


def test_bilinear_projections_start_as_shifts():
    torch.manual_seed(4)
    stack = Architecture(layers=3, width=16, heads=2, vocabulary=211, longest=24, mixers=(Bilinear(24),))
    model = MixerBertForMaskedLM(stack.config())
    initialize(model)
    hidden = torch.randn(1, 24, 16)
    for layer, offset in zip(model.bert.encoder.layer, (-1, 1, -2), strict=True):
        mixed = layer.attention.self(hidden)
        inside = range(max(0, -offset), 24 - max(0, offset))
        likeness = [torch.cosine_similarity(mixed[0, j], hidden[0, j + offset], dim=0) for j in inside]
        assert min(likeness) > 0.9


def shape(width: int, heads: int) -> Architecture:
    mixers = (Average(), Attention(heads))
    return Architecture(layers=2, width=width, heads=heads, vocabulary=211, longest=32, mixers=mixers)


def started(width: int = 48, heads: int = 3) -> MixerBertForMaskedLM:
    torch.manual_seed(4)
    model = MixerBertForMaskedLM(shape(width, heads).config()).eval()
    initialize(model)
    return model
