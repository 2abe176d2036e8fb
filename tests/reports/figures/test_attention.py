"""Attention weights: the network's own, for every head at work."""

import numpy as np
import pytest

from anyformer.networks.evaluate import add_positions, apply_attention, apply_feed_forward, embed
from anyformer.networks.layers import AttentionLayer, layers
from anyformer.reports.figures import attention
from anyformer.reports.figures.attention import attention_of, draw_attention, plates
from anyformer.reports.figures.points import sample_point

NAMES = ["softmax", "running_maximum", "table", "sparse", "shifts"]


@pytest.mark.parametrize("name", NAMES)
def test_the_weights_make_the_layers_what_they_are(name, request):
    """X + Σ W_O W_V X A is what the definition computes, with A the weights shown."""
    subject = request.getfixturevalue(name)
    network = subject.network
    x = sample_point(subject.target.domain, network.tokens, network.width)
    shown = attention_of(network, x, most=10**6)
    assert shown.left_out == 0
    heads = {(head.layer, head.head): head.weights for head in shown.heads}
    state = add_positions(network, embed(network, x[None]))
    views = [view for k in range(len(network.stages)) for view in network.views(k)]
    for number, (layer, view) in enumerate(zip(layers(network.stages), views, strict=True)):
        if not isinstance(layer, AttentionLayer):
            state = apply_feed_forward(layer, state)
            continue
        mixed, size = np.zeros_like(state[0]), np.abs(state[0]).max()
        for h in range(len(layer.W_O)):
            if layer.W_O[h].any():
                added = heads.pop((number, h)) @ state[0] @ layer.W_V[h].T @ layer.W_O[h].T
                mixed += added
                size = max(size, np.abs(layer.W_O[h]).max() * np.abs(state[0] @ layer.W_V[h].T).max())
        after = apply_attention(layer, state, view)
        # A few roundings, of numbers no larger than this.
        np.testing.assert_allclose(state[0] + mixed, after[0], rtol=0, atol=2.0**-40 * max(size, 1.0))
        state = after
    assert not heads


@pytest.mark.parametrize("name", NAMES)
def test_rows_sum_to_one(name, request):
    subject = request.getfixturevalue(name)
    shown = attention_of(subject.network, sample_point(subject.target.domain, subject.network.tokens, 1))
    for head in shown.heads:
        assert head.weights.shape == (subject.network.tokens,) * 2
        np.testing.assert_allclose(head.weights.sum(axis=1), 1.0, rtol=0, atol=2.0**-50 * subject.network.tokens)


def test_sparse_heads_look_only_where_they_may(sparse):
    shown = attention_of(sparse.network, sample_point(sparse.target.domain, 4, 1))
    seen = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) <= 1
    for head in shown.heads:
        assert (head.weights[~seen] == 0).all()
        assert (head.weights[seen] > 0).all()


def test_many_heads_are_spread_evenly(shifts):
    x = sample_point(shifts.target.domain, 2, 1)
    every = attention_of(shifts.network, x, most=10**6).heads
    some = attention_of(shifts.network, x, most=3)
    assert len(every) > 3
    assert some.left_out == len(every) - 3
    places = [(head.layer, head.head) for head in some.heads]
    assert places[0] == (every[0].layer, every[0].head)
    assert places[-1] == (every[-1].layer, every[-1].head)


def test_matrices_are_drawn_with_queries_down(running_maximum):
    shown = attention_of(running_maximum.network, sample_point(running_maximum.target.domain, 4, 1))
    panels = [panel for panel in draw_attention(shown).axes if panel.images]
    for panel, head in zip(panels, shown.heads, strict=True):
        np.testing.assert_array_equal(panel.images[0].get_array(), head.weights)
        assert panel.get_title(loc="left") == f"layer {head.layer}, head {head.head}"
    assert panels[0].get_ylabel() == "query: looks"


def test_long_sequences_are_left_out(softmax, monkeypatch):
    monkeypatch.setattr(attention, "MOST_TOKENS", 2)
    (found,) = plates(softmax)
    assert "at most 2 are drawn" in found.reason
    monkeypatch.undo()
    monkeypatch.setattr(attention, "MOST_LAYERS", 1)
    (found,) = plates(softmax)
    assert "at most 1 are walked" in found.reason
