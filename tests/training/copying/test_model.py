"""The model sees what its pattern lets it see: the same as attention written out, and nothing out of reach."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate", reason="training needs more: pip install anyformer[train]")

from anyformer.patterns import Fixed, SlidingWindow, Star, Strided, from_edges
from anyformer.reports.copying import within_reach
from anyformer.training.copying.budgets import entrants
from anyformer.training.copying.model import Copier, PatternAttention, first_positions
from anyformer.training.copying.task import Alphabet, sequences

ALPHABET = Alphabet(length=6, symbols=3)


def written_out(layer: PatternAttention, pattern, index: int, stream):
    """Attention as its definition says it, query by query and head by head."""
    batch, tokens, width = stream.shape
    query, key, value = layer.inputs(stream).split(width, dim=2)
    size, lists = width // layer.heads, pattern.layers[index % pattern.period]
    mixed = torch.zeros_like(stream)
    for head in range(layer.heads):
        part = slice(head * size, (head + 1) * size)
        for token in range(tokens):
            seen = lists[head % len(lists)].keys_of(token).tolist()
            scores = key[:, seen, part] @ query[:, token, part, None] / size**0.5
            mixed[:, token, part] = (scores.softmax(dim=1) * value[:, seen, part]).sum(dim=1)
    return layer.outputs(mixed)


@pytest.mark.parametrize("family", [Strided(3, "multihead"), Fixed(4, "sequential"), Strided(2, "union"), Star()])
@pytest.mark.parametrize("index", [0, 1, 2])
def test_attention_is_the_definition(family, index):
    torch.manual_seed(0)
    pattern = family.at(7)
    layer = PatternAttention(width=12, heads=3, pattern=pattern, layer=index)
    stream = torch.randn(2, 7, 12)
    # Sums of at most 12 products of numbers below about 4, in float32.
    torch.testing.assert_close(layer(stream), written_out(layer, pattern, index, stream), rtol=0, atol=1e-5)


@pytest.mark.parametrize("entrant", entrants(3), ids=lambda entrant: entrant.name)
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_hidden_symbol_depends_on_what_is_in_reach_and_on_nothing_else(entrant, layers):
    torch.manual_seed(1)
    pattern = entrant.family.at(ALPHABET.tokens)
    model = Copier(ALPHABET, pattern, layers, width=8, heads=2).double()
    shown = torch.randint(1, 4, (1, 6))
    moved = []
    for place in range(6):
        other = shown.clone()
        other[0, place] = shown[0, place] % 3 + 1
        before, after = (model(sequences(ALPHABET, each)).scores[0, place] for each in (shown, other))
        moved.append(not torch.equal(before, after))
    assert np.mean(moved) == within_reach(pattern, layers, ALPHABET)


def test_reach_counts_the_layers():
    """A chain: token k sees k − 2, so a copy 7 tokens later needs a pattern with an odd step as well."""
    chain = from_edges([(k, k - 2) for k in range(2, 14)] + [(k, k) for k in range(14)], 14)
    assert within_reach(chain, 9, ALPHABET) == 0.0
    window = SlidingWindow(3).at(14)
    assert [within_reach(window, layers, ALPHABET) for layers in (1, 2, 3)] == [0.0, 0.0, 1.0]


def test_positions_are_as_large_as_symbols():
    torch.manual_seed(0)
    start = first_positions(64, 40)
    assert start.shape == (64, 40)
    # 1,280 normal numbers: their mean square is off by more than 0.2 with a chance below 1e-6.
    assert start[:, :20].square().mean() == pytest.approx(1.0, abs=0.2)
    # sin² + cos² = 1 for each wave.
    assert start[:, 20:].square().mean().item() == pytest.approx(1.0, rel=1e-5)
    assert len(torch.unique(start[:, 20:], dim=0)) == 64
