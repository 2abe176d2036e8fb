"""How weights start."""

import torch

from anyformer.mixers import Attention, Average, MixerBertForMaskedLM
from anyformer.training import Architecture
from anyformer.training.initialization import initialize, waves

SHAPE = Architecture(layers=2, width=48, heads=3, vocabulary=211, longest=32, mixers=(Average(), Attention(3)))


def started() -> MixerBertForMaskedLM:
    torch.manual_seed(4)
    model = MixerBertForMaskedLM(SHAPE.config())
    initialize(model)
    return model


def test_positions_have_the_size_of_words_and_near_ones_are_alike():
    embeddings = started().bert.embeddings
    positions, words = embeddings.position_embeddings.weight, embeddings.word_embeddings.weight
    assert 0.8 < positions.norm(dim=1).mean() / words.norm(dim=1).mean() < 1.25
    likeness = torch.nn.functional.cosine_similarity(positions[:1], positions)
    assert likeness[1] > likeness[2] > likeness[4] > likeness[8]


def test_an_odd_width_has_waves_too():
    assert waves(5, 7).shape == (5, 7)


def test_heads_start_by_looking_at_what_is_alike_and_differ_from_each_other():
    heads = products(started())
    stock = products(MixerBertForMaskedLM(SHAPE.config()))
    assert min(map(alikeness, heads)) > 3 > 1 > max(map(alikeness, stock))
    assert not torch.allclose(heads[0], heads[1], atol=0.05)


def products(model: MixerBertForMaskedLM) -> list[torch.Tensor]:
    """W_Qᵀ W_K of each head."""
    attention = model.bert.encoder.layer[1].attention.self
    pairs = zip(attention.query.weight.chunk(3), attention.key.weight.chunk(3), strict=True)
    return [(query.T @ key).detach() for query, key in pairs]


def alikeness(product: torch.Tensor) -> float:
    """The mean of the diagonal, measured by the other entries."""
    return float(product.diag().mean() / (product - product.diag().diag()).abs().mean())


def test_attention_starts_nearer_than_an_average_does():
    """The point of it: at the start a token looks more at its neighbours than at tokens far away."""
    model = started().eval()
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 211, (64, 32), generator=generator)
    hidden = model.bert.embeddings(ids)
    weights = model.bert.encoder.layer[1].attention.self.weights(hidden).mean(dim=(0, 1))
    near = torch.stack([weights.diagonal(offset).mean() for offset in (-2, -1, 1, 2)]).mean()
    far = torch.stack([weights.diagonal(offset).mean() for offset in (-20, 20)]).mean()
    assert near > 1.2 * far
