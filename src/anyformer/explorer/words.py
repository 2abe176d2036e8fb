"""What the certificate says, in plain words, and who spends how much of the tolerance."""

import math
from typing import Any

from anyformer.certificates.claims.certificate import Certificate
from anyformer.certificates.programs.error_bound import term_of
from anyformer.labels.programs.facts import ProgramFacts
from anyformer.networks.layers import AttentionStage
from anyformer.networks.network import Network
from anyformer.programs.forms import Node
from anyformer.programs.steps import Input
from anyformer.programs.text import formula, name_of
from anyformer.targets.domains import CompactSupport

TERMS = {
    "cells": "inputs whose tokens lie in different cells",
    "coincidence": "inputs with two tokens in one cell",
    "rest": "the thin walls between cells",
    "rest_volume": "the volume of these walls",
    "largest": "the largest error of any output entry, for any input",
    "interpolation": "the target between the grid's points, where it is interpolated",
    "computation": "the network's own arithmetic",
}


def title_of(certificate: Certificate) -> str:
    """The target and its sizes."""
    declared = certificate.target
    return f"{declared.name} on {declared.tokens} tokens" + (
        "" if declared.width == 1 else f" of {declared.width} numbers each"
    )


def claim_in_words(network: Network, certificate: Certificate) -> list[str]:
    """The claim, what it is measured in, and what was measured beside it."""
    declared, error, asked = certificate.target, certificate.certified_error, certificate.tolerance
    ends = zip(declared.domain.lows(declared.width), declared.domain.highs(declared.width), strict=True)
    box = " × ".join(dict.fromkeys(f"[{low:g}, {high:g}]" for low, high in ends))
    where = (
        f"over all inputs (the target is 0 as soon as a token leaves {box})"
        if isinstance(declared.domain, CompactSupport)
        else f"over all inputs whose tokens lie in {box}"
    )
    size = f"{asked:g}" if error == asked else f"{asked:g}; the proof gives {error:.4g}"
    measure = (
        f"The largest distance of network and target in any entry, {where}, is at most {size}."
        if certificate.p == math.inf
        else f"The L^{certificate.p:g} distance of network and target, {where}, is at most {size}."
    )
    order = (
        "Permuting the tokens of the input permutes the output."
        if network.is_equivariant
        else "The network knows the places of its tokens."
    )
    return [
        f"This Transformer computes “{declared.name}” with softmax attention, ReLU units and no training.",
        measure,
        f"Measured on {certificate.measured.samples:,} inputs, it is {certificate.measured.error:.4g}. {order}",
        "The page shows what the certificate states; `anyformer verify` proves it again from the weights.",
    ]


def facts_of(network: Network, certificate: Certificate) -> list[list[str]]:
    """Sizes, method and kind."""
    built = certificate.construction.get("method")
    return [
        ["method", str(built) if built is not None else "not said"],
        ["holds", certificate.kind.value],
        ["layers", f"{network.layer_count:,}, of which {network.attention_layer_count:,} of attention"],
        ["heads × size, hidden units", _shape(network)],
        ["stream width", f"{network.stream_width:,} a token"],
        ["parameters", f"{network.parameter_count:,}"],
        ["arithmetic", network.dtype.name],
        ["weights", f"{certificate.weights_digest[:16]}…"],
    ]


def _shape(network: Network) -> str:
    shape = network.shape
    has_units = any(not isinstance(stage, AttentionStage) for stage in network.stages)
    return f"{shape.heads} × {shape.head_size}, at most {shape.hidden_size if has_units else 0:,} a layer"


def norm_of(certificate: Certificate) -> str:
    """The exponent as text."""
    return f"L^{certificate.p:g}"


def terms_of(certificate: Certificate, facts: ProgramFacts | None) -> list[dict[str, Any]]:
    """Every term of the bound: in words, and its part of ε where the terms add up to the bound."""
    steps = _steps(facts)
    known = set(certificate.terms) & {"cells", "coincidence", "rest"}
    found = []
    for name, value in certificate.terms.items():
        words = TERMS.get(name) or steps.get(name, name)
        share = (value / certificate.tolerance) ** certificate.p if name in known and _adds(certificate) else None
        found.append({"name": name, "words": words, "value": value, "share": share})
    return found


def _adds(certificate: Certificate) -> bool:
    """Whether the p-th powers of a table's terms add up to that of its bound."""
    return certificate.p != math.inf and certificate.tolerance > 0


def _steps(facts: ProgramFacts | None) -> dict[str, str]:
    if facts is None:
        return {}
    return {term_of(node): _in_words(node, facts) for node in facts.program.nodes}


def _in_words(node: Node, facts: ProgramFacts) -> str:
    name = name_of(node)
    return f"{name}, an input" if isinstance(node.step, Input) else f"{name} = {formula(node, facts.computed)}"
