"""The attention weights of every attention layer, for one input."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyformer.arrays import Array
from anyformer.networks.evaluate import add_positions, apply_attention, apply_feed_forward, embed
from anyformer.networks.layers import AttentionLayer, AttentionStage
from anyformer.networks.network import Network, View
from anyformer.pictures import INK, PAPER, SMALL, colour_map, framed, in_house_style, new_figure
from anyformer.reports.figures.points import sample_point
from anyformer.reports.figures.subject import LeftOut, Plate, Subject
from anyformer.reports.terminal import count, rounded

MOST_TOKENS = 256
MOST_HEADS = 12
# Of so few tokens the weights are written out.
MOST_NUMBERED = 6
ABREAST = 4
# A longer way to the last head that is shown is not gone, layer by layer.
MOST_LAYERS = 5_000
TITLE = "Attention"


@dataclass(frozen=True, eq=False)
class HeadWeights:
    """What one head of one attention layer looks at: (tokens, tokens), a row a query."""

    layer: int
    """Counted from 0 over all layers of the network."""
    head: int
    weights: Array


@dataclass(frozen=True, eq=False)
class Attention:
    """The heads at work, evenly spread ones if there are many, and the input they were seen on."""

    input: Array
    heads: tuple[HeadWeights, ...]
    left_out: int


def attention_of(network: Network, x: Array, most: int = MOST_HEADS) -> Attention:
    """Walk one sequence (tokens, width) through the layers, and note what its heads look at.

    A head whose W_O is 0 changes nothing, and is not counted.
    """
    dtype, working = network.dtype, _heads_at_work(network)
    wanted = set(np.linspace(0, working - 1, min(most, working)).round().astype(int).tolist())
    state = add_positions(network, embed(network, dtype.rounded(x[None])))
    found: list[HeadWeights] = []
    met = number = 0
    with np.errstate(all="ignore"):
        for k, stage in enumerate(network.stages):
            views = network.views(k)
            for t in range(len(stage)):
                if met == working:
                    break
                layer = stage[t]
                if isinstance(layer, AttentionLayer):
                    heads = np.flatnonzero(layer.W_O.any(axis=(1, 2))).tolist()
                    chosen = [h for place, h in enumerate(heads, start=met) if place in wanted]
                    found += [HeadWeights(number, h, _looked_at(layer, h, state[0], views[t])) for h in chosen]
                    met += len(heads)
                    state = apply_attention(layer, state, views[t], dtype)
                else:
                    state = apply_feed_forward(layer, state, dtype)
                number += 1
    return Attention(x, tuple(found), working - len(found))


def _heads_at_work(network: Network) -> int:
    stages = [stage for stage in network.stages if isinstance(stage, AttentionStage)]
    return sum(int(np.count_nonzero(stage.W_O.any(axis=(2, 3)))) for stage in stages)


def _looked_at(layer: AttentionLayer, h: int, state: Array, view: View) -> Array:
    """The weights of one head, (tokens, tokens)."""
    queries, keys = state @ layer.W_Q[h].T + layer.b_Q[h], state @ layer.W_K[h].T
    scores = queries @ keys.T
    if view is None:
        return np.asarray(layer.probability_map(scores))
    weights, seen = np.zeros(scores.shape), view[h % len(view)]
    for query in range(len(scores)):
        own = seen.keys_of(query)
        weights[query, own] = layer.probability_map(scores[query, own])
    return weights


def _layers_to_walk(network: Network) -> int:
    """Layers up to the last stage of attention."""
    last = max((k for k, stage in enumerate(network.stages) if isinstance(stage, AttentionStage)), default=-1)
    return sum(len(stage) for stage in network.stages[: last + 1])


@in_house_style
def draw_attention(shown: Attention) -> Any:
    """A matrix a head, all in one scale; of few tokens with the weights in numbers."""
    most = max(float(head.weights.max()) for head in shown.heads)
    across = min(ABREAST, len(shown.heads))
    down = math.ceil(len(shown.heads) / across)
    side = 2.2 if across <= 2 else 1.45
    figure = new_figure(side * down + 0.45, side * across + 1.0)
    panels = figure.subplots(down, across, squeeze=False)
    for place, head in enumerate(shown.heads):
        panel = panels[place // across, place % across]
        image = _draw_head(panel, head, most)
        if place % across == 0:
            panel.set_ylabel("query: looks")
        if place + across >= len(shown.heads):
            panel.set_xlabel("key: is looked at")
    for panel in panels.ravel()[len(shown.heads) :]:
        panel.set_visible(False)
    figure.colorbar(image, ax=panels, shrink=0.8, label="weight", aspect=24)
    return figure


def _draw_head(panel: Any, head: HeadWeights, most: float) -> Any:
    tokens = len(head.weights)
    image = panel.imshow(head.weights, cmap=colour_map("Blues"), vmin=0, vmax=most, aspect="equal")
    ticks = np.unique(np.linspace(0, tokens - 1, min(tokens, 5)).round().astype(int))
    panel.set(title=f"layer {head.layer}, head {head.head}", xticks=ticks, yticks=ticks)
    framed(panel)
    if tokens <= MOST_NUMBERED:
        for (query, key), weight in np.ndenumerate(head.weights):
            ink = PAPER if weight > 0.55 * most else INK
            panel.text(key, query, f"{weight:.2g}", ha="center", va="center", fontsize=SMALL - 1, color=ink)
    return image


def plates(subject: Subject) -> list[Plate | LeftOut]:
    """One, if there are heads at work and not too many tokens."""
    network = subject.network
    if not network.is_soft or not _heads_at_work(network):
        return []
    if network.tokens > MOST_TOKENS:
        return [LeftOut(TITLE, f"{network.tokens:,} tokens are too many for a matrix; at most {MOST_TOKENS} are drawn")]
    if _layers_to_walk(network) > MOST_LAYERS:
        return [
            LeftOut(
                TITLE,
                f"{_layers_to_walk(network):,} layers lead to its last head, and at most {MOST_LAYERS:,} are walked",
            )
        ]
    shown = attention_of(network, sample_point(subject.certificate.target.domain, network.tokens, network.width))
    if not all(np.isfinite(head.weights).all() for head in shown.heads):
        return [LeftOut(TITLE, "the weights of attention overflow at the input that is shown")]
    return [Plate("attention", TITLE, _caption(shown), draw_attention(shown))]


def _caption(shown: Attention) -> str:
    values = [rounded(float(value), 2) for value in shown.input.ravel()[:8]]
    more = ", …" if shown.input.size > 8 else ""
    left = f" {count(shown.left_out)} more heads, evenly spread, are left out." if shown.left_out else ""
    return (
        f"Which token each head looks at, for the input ({', '.join(values)}{more}): every row sums to 1. Heads that "
        f"add nothing are not shown.{left}"
    )
