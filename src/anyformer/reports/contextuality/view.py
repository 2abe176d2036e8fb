"""A measurement of contexts as text: a table of layers, how far context is carried, and witnesses."""

from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from anyformer.contextuality import ContextReport, Contextuality, LayerContexts, Side, Witness
from anyformer.reports.terminal import count, facts, heading, paragraph, rounded, table
from anyformer.targets.target import Symmetry

WORDS: Final = {
    Contextuality.CONTEXTUAL: "contextual",
    Contextuality.NOT_CONTEXTUAL: "not contextual",
    Contextuality.UNDECIDED: "undecided",
}
KINDS: Final = {
    "same_token": "the same token in two contexts",
    "any_tokens": "any two tokens in two contexts",
    "within": "two positions of one sequence",
}
LONGEST: Final = 56
"""Letters that are shown on each side of a witness."""


def context_view(found: ContextReport) -> RenderableType:
    """The whole report."""
    parts: list[RenderableType] = [
        heading(f"{found.model}: are its layers contextual mappings?"),
        paragraph(_on(found)),
        _layers(found),
        paragraph(_legend(found)),
        *_similarity(found),
        *_sensitivity(found),
        *_witnesses(found),
    ]
    if found.ids is not None:
        parts += [Text(), paragraph(ids_in_words(found))]
    return Group(*parts, Text(), paragraph(ending(found)))


def _on(found: ContextReport) -> str:
    more = f" ({count(found.repeated)} more were the same contexts)" if found.repeated else ""
    equivariant = (
        " Without positions: sequences that are permutations of each other are the same context."
        if found.symmetry is Symmetry.EQUIVARIANT
        else ""
    )
    return (
        f"{count(found.sequences)} different sequences{more}, {count(found.places)} places, {count(found.tokens)} "
        f"different tokens.{equivariant}"
    )


def number(value: float | None) -> str:
    """Four digits; nothing for what could not be measured."""
    if value is None:
        return "–"
    return rounded(value, 4) if value == 0 or 1e-3 <= abs(value) < 1e6 else f"{value:.2e}"


def _layers(found: ContextReport) -> RenderableType:
    columns = ["layer", "verdict", "within", "same token", "any tokens", "spread", "margin"]
    rows = [
        (
            layer.name,
            WORDS[layer.verdict],
            *(number(one.distance) for one in (layer.within, layer.same_token, layer.any_tokens)),
            number(layer.spread),
            number(layer.margin),
        )
        for layer in found.layers
    ]
    return table(columns, rows, right=columns[2:])


def _legend(found: ContextReport) -> str:
    recalls = [one.any_tokens.recall for one in found.layers if one.any_tokens.recall is not None]
    loose = [one.name for one in found.layers if not one.any_tokens.is_exact]
    certain = "no closer pair exists" + (f", except perhaps in {', '.join(loose)}." if loose else ".")
    asked = (
        f" Any tokens: an index was asked for the nearest vector of every place (recall at sampled places at least "
        f"{min(recalls):.3f}); {certain}"
        if recalls
        else " Every pair was compared."
    )
    return (
        "Smallest distances: within a sequence; between vectors of the same token in different contexts; between any "
        f"two vectors in different contexts.{asked} Spread: root mean square distance from the mean. Vectors are apart "
        "if their distance is above the margin."
    )


def _similarity(found: ContextReport) -> list[RenderableType]:
    if all(layer.similarity.self_similarity is None for layer in found.layers):
        return []
    columns = ["layer", "median", "apart", "anisotropy", "self-similarity", "in sequence", "explained"]
    rows = [
        (layer.name, _median(layer), "–" if layer.apart is None else f"{100 * layer.apart:.1f} %", *_figures(layer))
        for layer in found.layers
    ]
    said = (
        "Median: of the distance to the nearest vector of the same token in another context. Apart: places where it is "
        "above the margin. Then mean cosine of random places, and less that (explained variance: less that of random "
        "places): self-similarity of tokens, similarity within sequences, variance explained by one direction."
    )
    return [table(columns, rows, right=columns[1:]), paragraph(said)]


def _median(layer: LayerContexts) -> str:
    return number(layer.same_token.quantiles[4]) if layer.same_token.quantiles else "–"


def _figures(layer: LayerContexts) -> list[str]:
    one = layer.similarity
    values = (one.anisotropy, one.self_similarity, one.within_sequences, one.explained_variance)
    return ["–" if value is None else f"{value:.3f}" for value in values]


def _sensitivity(found: ContextReport) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for one in found.sensitivity[:1]:
        columns = ["layer", "reached", *(gap_name(one.gaps, k) for k in range(len(one.gaps)))]
        rows = [
            (layer.name, f"{100 * reached:.0f} %", *(f"{value:.2g}" for value in moved))
            for layer, reached, moved in zip(found.layers, one.reached, one.moved, strict=True)
        ]
        said = (
            f"How far vectors move when {_tokens(one.changed)}, in units of the spread, by the distance to it; "
            "reached: other places that moved by more than the margin."
        )
        parts += [table(columns, rows, right=columns[1:]), paragraph(said)]
    if len(found.sensitivity) > 1:
        last = len(found.layers) - 1
        parts.append(
            facts(
                [
                    (
                        f"{one.changed} changed",
                        f"last layer: {number(min(one.moved[last]))} to "
                        f"{number(max(one.moved[last]))}, {100 * one.reached[last]:.0f} % reached",
                    )
                    for one in found.sensitivity
                ]
            )
        )
    return parts


def _tokens(changed: int) -> str:
    return "one other token changes" if changed == 1 else f"{changed} other tokens change"


def gap_name(gaps: tuple[int, ...], k: int) -> str:
    """A group of distances: 1, 2, 3–4, 5–8, …"""
    first = gaps[k]
    return str(first) if first < 3 else f"{first}–{2 * (first - 1)}"


def _witnesses(found: ContextReport) -> list[RenderableType]:
    """Of the layer that is asked about most: the last one; and of the first that is not contextual."""
    chosen = [len(found.layers) - 1]
    faulty = [k for k, one in enumerate(found.layers) if one.verdict is Contextuality.NOT_CONTEXTUAL]
    if faulty and faulty[0] not in chosen:
        chosen.insert(0, faulty[0])
    parts: list[RenderableType] = []
    for k in chosen:
        for kind, words in KINDS.items():
            shown = [one for one in found.witnesses[k] if one.kind == kind][:3]
            if shown:
                parts += [Text(), heading(f"{found.layers[k].name}: the closest of {words}")]
                parts += [line for one in shown for line in _witness(one)]
    return parts


def _witness(one: Witness) -> list[RenderableType]:
    rows = [
        (f"{sequence}:{position}", _side(side))
        for (sequence, position), side in zip(one.places, one.sides, strict=True)
    ]
    return [paragraph(f"distance {number(one.distance)}"), facts(rows)]


def _side(side: Side) -> str:
    before, after = ("".join(text for text, _ in part) for part in (side.before, side.after))
    before = before if len(before) <= LONGEST else "…" + before[-LONGEST:]
    after = after if len(after) <= LONGEST else after[:LONGEST] + "…"
    token = side.token.rstrip()
    return f"{before}«{token}»{side.token[len(token) :]}{after}"


def ids_in_words(found: ContextReport) -> str:
    """What was found of a table's ids."""
    assert found.ids is not None
    ids = found.ids
    agree = "every id is the one that the labels give, to the bit" if ids.agree else "ids differ from the labels"
    closest = f"the closest are {ids.closest:g} apart, in units of a cell"
    return f"Ids after {ids.stage}: {ids.found.reason}; {agree}; {closest}."


def ending(found: ContextReport) -> str:
    """In one sentence."""
    layers = found.contextual_layers
    if layers:
        return f"contextual mappings on these sequences: {', '.join(layers)}"
    if all(one.verdict is Contextuality.NOT_CONTEXTUAL for one in found.layers):
        return "no layer is a contextual mapping on these sequences; the witnesses show why"
    return "no layer is shown to be a contextual mapping; some are undecided"
