"""Checks that labels agree with weights: written against the weights alone, so that they can catch wrong labels."""

import re
from collections.abc import Iterator

import numpy as np

from anyformer.labels import EMBEDDING, Label, Labels, Place
from anyformer.labels.programs.values import ProgramValues
from anyformer.networks.layers import AttentionStage, FeedForwardStage
from anyformer.networks.network import Network

# Roundings of a sum of a few products, next to the numbers in it.
ROUNDINGS = 2.0**8
ROUNDING = ROUNDINGS * 2.0**-53
TERM = re.compile(r"(?P<sign>[−+]?) ?(?:(?P<factor>[0-9.e-]+)·)?(?P<node>[vx]\d+)")


def places_of(network: Network) -> Iterator[Place]:
    """Every stage, head and hidden unit."""
    for k, stage in enumerate(network.stages):
        yield Place(k, 0, "stage", 0)
        kind, axis = ("head", "heads") if isinstance(stage, AttentionStage) else ("unit", "hidden_size")
        for layer in range(len(stage)):
            yield from (Place(k, layer, kind, index) for index in range(stage.sizes[axis]))


def missing(labels: Labels, network: Network) -> list[Place]:
    """Places without a label, or with a label of another place; and channels that nothing is said of."""
    wrong = [place for place in places_of(network) if not labels[place].covers(place)]
    told = {index for label in labels.of_kind("channel") for index in range(*label.indices)}
    return wrong + [
        Place(EMBEDDING, 0, "channel", channel) for channel in range(network.stream_width) if channel not in told
    ]


def faults_of_units(labels: Labels, network: Network) -> list[str]:
    """Units whose label says other weights than they have, or a kink that is not −b/w."""
    found = []
    for place in places_of(network):
        if place.kind != "unit":
            continue
        label, stage = labels[place], network.stages[place.stage]
        assert isinstance(stage, FeedForwardStage)
        row, bias = stage.W_1[place.layer, place.index], float(stage.b_1[place.layer, place.index])
        column = stage.W_2[place.layer, :, place.index]
        if label.step == "idle":
            if column.any():
                found.append(f"{place} writes something")
            continue
        if dict(label.reads) != {int(c): row[c] for c in np.flatnonzero(row)} or label.constant != bias:
            found.append(f"{place} reads something else")
        if dict(label.writes) != {int(c): column[c] for c in np.flatnonzero(column)}:
            found.append(f"{place} writes something else")
        if len(label.reads) == 1 and label.argument in ("x0", "x1", "coordinate 0", "coordinate 1"):
            wanted = -bias / label.reads[0][1]
            if label.kink is None or abs(label.kink - wanted) > ROUNDING * (1 + abs(wanted)):
                found.append(f"{place} has its kink at {wanted}, not at {label.kink}")
    return found


def faults_of_heads(labels: Labels, network: Network) -> list[str]:
    """Heads that are called means but have scores, or idle but write; and the other way round."""
    found = []
    for place in places_of(network):
        stage = network.stages[place.stage]
        if place.kind != "head" or not isinstance(stage, AttentionStage):
            continue
        label, at = labels[place], (place.layer, place.index)
        queries = bool(stage.W_Q[at].any() or stage.b_Q[at].any())
        is_idle = not stage.W_O[at].any()
        if (label.step == "idle") != is_idle:
            found.append(f"{place} is idle or not")
        if label.step == "mean" and queries and stage.W_K[at].any():
            found.append(f"{place} is no mean")
        if not queries and not is_idle and label.step != "mean":
            found.append(f"{place} is a mean")
    return found


def argument_value(label: Label, values: ProgramValues) -> np.ndarray | None:
    """The u of a unit as the network has it, from the words of its label; None if they say more than plain terms."""
    assert label.argument is not None
    words, total = label.argument, 0.0
    if TERM.sub("", words).strip():
        return None
    for term in TERM.finditer(words):
        factor = float(term["factor"] or 1.0) * (-1.0 if term["sign"] == "−" else 1.0)
        total = total + factor * values.node(term["node"]).network
    return np.asarray(total)


def faults_of_arguments(labels: Labels, values: ProgramValues) -> list[str]:
    """Units that are not max(slope·(u − kink), 0) of the u that their label names."""
    found = []
    for label in labels.of_kind("unit"):
        if label.step == "idle" or label.kink is None:
            continue
        u = argument_value(label, values)
        if u is None:
            continue
        wanted, got = label.slope * (u - label.kink), values.before(label.first).network
        # Weights of a unit are rounded to the network's type, so that it looks along u but for that.
        if np.abs(wanted - got).max() > ROUNDINGS * values.network.dtype.unit * (1 + np.abs(u).max()):
            found.append(str(label.first))
    return found
