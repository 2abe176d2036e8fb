"""The attention weights of every attention layer, for one input."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyformer.arrays import Array
from anyformer.networks.evaluate import add_positions, apply_attention, apply_feed_forward, embed
from anyformer.networks.layers import AttentionLayer, AttentionStage
from anyformer.networks.network import Network, View
from anyformer.pictures import colour_map, framed, in_house_style, new_figure
from anyformer.reports.figures.points import sample_point
from anyformer.reports.figures.subject import LeftOut, Plate, Subject
from anyformer.reports.terminal import count, rounded

MOST_TOKENS = 256
MOST_HEADS = 12
ABREAST = 4
# A longer way to the last head that is shown is not gone, layer by layer.
MOST_LAYERS = 20_000
TITLE = "Attention"


@dataclass(frozen=True, eq=False)
class HeadWeights:
    """What one head of one attention layer looks at: (tokens, tokens), a row a query."""

    layer: int
    """Counted from 1 over all layers of the network."""
    head: int
    weights: Array


@dataclass(frozen=True, eq=False)
class Attention:
    """The heads at work, the first ones if there are many, and the input they were seen on."""

    input: Array
    heads: tuple[HeadWeights, ...]
    left_out: int


def attention_of(network: Network, x: Array, most: int = MOST_HEADS) -> Attention:
    """Walk one sequence (tokens, width) through the layers, and note what every head looks at.

    A head whose W_O is 0 changes nothing, and is not counted.
    """
    dtype = network.dtype
    state = add_positions(network, embed(network, dtype.rounded(x[None])))
    found: list[HeadWeights] = []
    working, number = _heads_at_work(network), 0
    with np.errstate(all="ignore"):
        for k, stage in enumerate(network.stages):
            views = network.views(k)
            for t in range(len(stage)):
                if len(found) >= min(most, working):
                    return Attention(x, tuple(found[:most]), working - min(most, working))
                layer, number = stage[t], number + 1
                if isinstance(layer, AttentionLayer):
                    found += _looked_at(layer, state[0], views[t], number)
                    state = apply_attention(layer, state, views[t], dtype)
                else:
                    state = apply_feed_forward(layer, state, dtype)
    return Attention(x, tuple(found[:most]), working - len(found[:most]))


def _heads_at_work(network: Network) -> int:
    stages = [stage for stage in network.stages if isinstance(stage, AttentionStage)]
    return sum(int(np.count_nonzero(stage.W_O.any(axis=(2, 3)))) for stage in stages)


def _looked_at(layer: AttentionLayer, state: Array, view: View, number: int) -> list[HeadWeights]:
    found = []
    for h in np.flatnonzero(layer.W_O.any(axis=(1, 2))).tolist():
        queries, keys = state @ layer.W_Q[h].T + layer.b_Q[h], state @ layer.W_K[h].T
        scores = queries @ keys.T
        if view is None:
            weights = layer.probability_map(scores)
        else:
            weights = np.zeros_like(scores)
            seen = view[h % len(view)]
            for query in range(len(scores)):
                own = seen.keys_of(query)
                weights[query, own] = layer.probability_map(scores[query, own])
        found.append(HeadWeights(number, h, np.asarray(weights)))
    return found


@in_house_style
def draw_attention(shown: Attention) -> Any:
    """A matrix a head, all in one scale."""
    across = min(ABREAST, len(shown.heads))
    down = math.ceil(len(shown.heads) / across)
    figure = new_figure(0.35 + 1.75 * down + (0.6 if across < 3 else 0.0), 1.62 * max(across, 2) + 0.6)
    panels = np.atleast_1d(figure.subplots(down, across, squeeze=False)).ravel()
    tokens = len(shown.input)
    for panel, head in zip(panels, shown.heads, strict=False):
        image = panel.imshow(head.weights, cmap=colour_map("Blues"), vmin=0, vmax=1, aspect="equal")
        ticks = np.unique(np.linspace(0, tokens - 1, min(tokens, 4)).round().astype(int))
        panel.set(title=f"layer {head.layer}, head {head.head + 1}", xticks=ticks, yticks=ticks)
        panel.set_xticklabels(ticks + 1)
        panel.set_yticklabels(ticks + 1)
        framed(panel)
    for panel in panels[len(shown.heads) :]:
        panel.set_visible(False)
    figure.supxlabel("key: the token looked at", fontsize="medium")
    figure.supylabel("query: the token that looks", fontsize="medium")
    figure.colorbar(image, ax=list(panels[: len(shown.heads)]), shrink=0.8, label="weight")
    return figure


def plates(subject: Subject) -> list[Plate | LeftOut]:
    """One, if there are heads at work and not too many tokens."""
    network = subject.network
    if not network.is_soft or not _heads_at_work(network):
        return []
    if network.tokens > MOST_TOKENS:
        return [LeftOut(TITLE, f"{network.tokens:,} tokens are too many for a matrix; at most {MOST_TOKENS} are drawn")]
    if network.layer_count > MOST_LAYERS:
        return [
            LeftOut(TITLE, f"the network has {network.layer_count:,} layers, and at most {MOST_LAYERS:,} are walked")
        ]
    shown = attention_of(network, sample_point(subject.certificate.target.domain, network.tokens, network.width))
    if not all(np.isfinite(head.weights).all() for head in shown.heads):
        return [LeftOut(TITLE, "the weights of attention overflow at the input that is shown")]
    return [Plate("attention", TITLE, _caption(shown), draw_attention(shown))]


def _caption(shown: Attention) -> str:
    values = [rounded(float(value), 2) for value in shown.input.ravel()[:8]]
    more = ", …" if shown.input.size > 8 else ""
    left = f" {count(shown.left_out)} more heads are left out." if shown.left_out else ""
    return (
        f"Which token each head looks at, for the input ({', '.join(values)}{more}): every row sums to 1. Heads that "
        f"add nothing are not shown.{left}"
    )
