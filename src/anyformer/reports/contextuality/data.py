"""A measurement of contexts as a JSON object."""

from typing import Any

from anyformer.contextuality import (
    QUANTILES,
    Closest,
    ContextReport,
    LayerContexts,
    Sensitivity,
    Side,
    TableIds,
    Witness,
)


def context_data(found: ContextReport) -> dict[str, Any]:
    """All that was found; witnesses are text in pieces."""
    return {
        "model": found.model,
        "symmetry": found.symmetry.name.lower(),
        "sequences": found.sequences,
        "repeated": found.repeated,
        "places": found.places,
        "tokens": found.tokens,
        "seed": found.seed,
        "quantiles": list(QUANTILES),
        "contextual_layers": list(found.contextual_layers),
        "layers": [
            {**_layer(layer), "witnesses": [_witness(one) for one in shown]}
            for layer, shown in zip(found.layers, found.witnesses, strict=True)
        ],
        "sensitivity": [_sensitivity(one) for one in found.sensitivity],
        "ids": None if found.ids is None else _ids(found.ids),
    }


def _layer(layer: LayerContexts) -> dict[str, Any]:
    figures = layer.similarity
    return {
        "name": layer.name,
        "width": layer.width,
        "spread": layer.spread,
        "margin": layer.margin,
        "verdict": layer.verdict.name.lower(),
        "within": _closest(layer.within),
        "same_token": _closest(layer.same_token),
        "any_tokens": _closest(layer.any_tokens),
        "apart": layer.apart,
        "similarity": {
            "anisotropy": figures.anisotropy,
            "self_similarity": figures.self_similarity,
            "within_sequences": figures.within_sequences,
            "explained_variance": figures.explained_variance,
            "tokens": figures.tokens,
        },
    }


def _closest(found: Closest) -> dict[str, Any]:
    return {
        "distance": found.distance,
        "places": found.places,
        "quantiles": list(found.quantiles),
        "is_exact": found.is_exact,
        "margin_is_exact": found.margin_is_exact,
        "recall": found.recall,
    }


def _witness(one: Witness) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "distance": one.distance,
        "places": [list(place) for place in one.places],
        "sides": [_side(side) for side in one.sides],
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "before": [[text, same] for text, same in side.before],
        "token": side.token,
        "after": [[text, same] for text, same in side.after],
    }


def _sensitivity(one: Sensitivity) -> dict[str, Any]:
    return {
        "changed": one.changed,
        "gaps": list(one.gaps),
        "moved": [list(layer) for layer in one.moved],
        "reached": list(one.reached),
        "smallest": list(one.smallest),
    }


def _ids(ids: TableIds) -> dict[str, Any]:
    return {
        "stage": ids.stage,
        "agree": ids.agree,
        "is_contextual": ids.found.is_contextual,
        "reason": ids.found.reason,
        "closest": ids.closest,
    }
