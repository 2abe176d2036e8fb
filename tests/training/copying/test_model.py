"""The model sees what its pattern lets it see, and nothing out of reach."""

import numpy as np
import pytest
import torch

from anyformer.mixers import PatternAttention
from anyformer.training.copying.budgets import entrants
from anyformer.training.copying.carrying import within_reach
from anyformer.training.copying.model import Copier, first_positions
from anyformer.training.copying.task import Alphabet, sequences

ALPHABET = Alphabet(length=6, symbols=3)


@pytest.mark.parametrize("entrant", entrants(3), ids=lambda entrant: entrant.name)
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_hidden_symbol_depends_on_what_is_in_reach_and_on_nothing_else(entrant, layers):
    torch.manual_seed(1)
    pattern = entrant.family.at(ALPHABET.tokens)
    model = Copier(ALPHABET, PatternAttention(2, entrant.family), layers, width=8)
    shown = torch.randint(1, 4, (1, 6))
    moved = []
    for place in range(6):
        other = shown.clone()
        other[0, place] = shown[0, place] % 3 + 1
        before, after = (model(sequences(ALPHABET, each)).scores[0, place] for each in (shown, other))
        moved.append(not torch.equal(before, after))
    assert np.mean(moved) == within_reach(pattern, layers, ALPHABET)


def test_positions_are_as_large_as_symbols():
    torch.manual_seed(0)
    start = first_positions(64, 40)
    assert start.shape == (64, 40)
    # 1,280 normal numbers: their mean square is off by more than 0.2 with a chance below 1e-6.
    assert start[:, :20].square().mean() == pytest.approx(1.0, abs=0.2)
    # sin² + cos² = 1 for each wave.
    assert start[:, 20:].square().mean().item() == pytest.approx(1.0, rel=1e-5)
    assert len(torch.unique(start[:, 20:], dim=0)) == 64
