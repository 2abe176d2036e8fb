"""The benchmark of mixers runs as the classes are now; its numbers come from longer runs."""

import pytest

pytest.importorskip("transformers", reason="the peer is of transformers: pip install anyformer[bert]")

from benchmarks import mixers
from benchmarks.results import Size


@pytest.mark.slow
def test_layers_and_words_are_measured_beside_their_peers(monkeypatch):
    monkeypatch.setattr(mixers, "ROUNDS", {Size.QUICK: 1})
    row, words = mixers._layers(32, 0.1, Size.QUICK), mixers._words(Size.QUICK)
    assert set(row["programs"]) == {mixers.PEER, *mixers._mixers(32)}
    page = mixers.render({"batch": 8, "width": 96, "layers": [row], "words": words})
    assert "against transformers, SDPA" in page
    assert "`BertForMaskedLM`" in page
