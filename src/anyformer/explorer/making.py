"""The page of a model: everything it shows, gathered and bounded."""

from typing import Any

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.claims.certificate import Certificate
from anyformer.errors import ExplorerError, NotTraceable
from anyformer.explorer import words
from anyformer.explorer.assembly import assembled
from anyformer.explorer.island import packed
from anyformer.explorer.network_data import network_data
from anyformer.explorer.page import Page
from anyformer.explorer.program_data import fits, program_data, steps_data
from anyformer.explorer.table_data import table_data
from anyformer.labels import Labels, labels_of_network
from anyformer.labels.programs.facts import ProgramFacts
from anyformer.labels.programs.source import ProgramSource
from anyformer.networks.digest import digest
from anyformer.networks.network import Network
from anyformer.programs.program import Program
from anyformer.programs.text import text
from anyformer.programs.tracing import trace
from anyformer.runtime.run import run
from anyformer.targets.target import Target

# Inputs among which the largest error is looked for, fewer where sequences are long; points of a plane, a side.
MOST_SAMPLES, MOST_SAMPLED_NUMBERS, SIDE = 4_096, 1 << 18, 33
MOST_HEADS = 64


def explore(network: Network, certificate: Certificate, target: Target | None = None) -> Page:
    """The page of a network and its certificate.

    Args:
        network: the weights, which the page computes with.
        certificate: what is claimed of them. It is shown, not proved again.
        target: the function, if it is not a ready-made one. A compiled model needs it; without it, the page of a table
            shows the network alone.

    Raises:
        ExplorerError: the network is too large for a page, or the certificate is that of other weights.
        CertificateError: a compiled model's function is the user's own, and was not given.
    """
    if certificate.weights_digest != digest(network):
        raise ExplorerError(
            "the certificate must be about the weights that the page shows; it was issued for others, by its digest. "
            "Keep a certificate with its network, or prove the claim of these weights with `af.recertify`."
        )
    known = certificate.target.target() if target is None and certificate.target.is_ready_made else target
    title = words.title_of(certificate)
    return Page(title, assembled(f"{title} · anyformer", page_data(network, certificate, known)))


def page_data(network: Network, certificate: Certificate, target: Target | None) -> dict[str, Any]:
    """All that the page holds, as a JSON object."""
    omitted: list[str] = []
    weights = network_data(network)  # first: it refuses what is too large
    labels = labels_of_network(network, certificate, target)
    facts = labels.source.facts if isinstance(labels.source, ProgramSource) else None
    exact = _traced(target)
    worst = None if target is None else _worst(network, certificate, target)
    domain = certificate.target.domain
    return {
        "title": words.title_of(certificate),
        "words": words.claim_in_words(network, certificate),
        "trusted": certificate.assumptions,
        "facts": words.facts_of(network, certificate),
        "domain": {
            "kind": domain.kind(),
            "low": domain.lows(network.width).tolist(),
            "high": domain.highs(network.width).tolist(),
        },
        "network": weights,
        "target": _target_data(exact, target, omitted),
        "plane": _plane(network, certificate, target) if target is not None and exact is None else None,
        **_steps(facts, omitted),
        "table": None if certificate.grid is None else table_data(network, certificate.grid),
        "tolerance": certificate.tolerance,
        "certified": certificate.certified_error,
        "entry_bound": None if facts is None or certificate.kind.is_interpolated else facts.bound.largest,
        "norm": words.norm_of(certificate),
        "terms": words.terms_of(certificate, facts),
        "worst": worst,
        "start": _start(network, certificate).ravel().tolist(),
        "heads": _heads(labels, omitted),
        "omitted": omitted,
    }


def _traced(target: Target | None) -> Program | None:
    """The target as a program, if it is one that a page can hold."""
    if target is None:
        return None
    try:
        program = trace(target)
    except NotTraceable:
        return None
    return program if fits(program) else None


def _target_data(exact: Program | None, target: Target | None, omitted: list[str]) -> dict[str, Any] | None:
    if exact is not None:
        return program_data(exact)
    omitted.append(
        "The target's values: its function was not given."
        if target is None
        else "The target's values beyond one plane of inputs: its function cannot be written as a program of steps "
        "that a page could hold."
    )
    return None


def _steps(facts: ProgramFacts | None, omitted: list[str]) -> dict[str, Any]:
    if facts is None:
        return {"program": None, "steps": [], "outputs": []}
    outputs = [text(form, facts.computed) for form in facts.program.outputs]
    if fits(facts.program):
        return {"program": program_data(facts.program), "steps": steps_data(facts), "outputs": outputs}
    omitted.append(f"The {len(facts.program.nodes):,} steps of the program: they are too many for a page.")
    return {"program": None, "steps": [], "outputs": outputs}


def _heads(labels: Labels, omitted: list[str]) -> dict[str, str]:
    """What heads do, by stage, layer and head; of the first ones."""
    found = [label for label in labels.of_kind("head") if label.count == 1]
    if len(found) > MOST_HEADS:
        omitted.append(f"What {len(found) - MOST_HEADS:,} of {len(found):,} heads do, in words.")
    return {f"{one.stage}.{one.layers[0]}.{one.indices[0]}": one.text for one in found[:MOST_HEADS]}


def _start(network: Network, certificate: Certificate) -> Array:
    """An input to begin with: tokens apart from each other, inside the domain and, in a table, inside cells."""
    domain, shape = certificate.target.domain, (network.tokens, network.width)
    share = (np.arange(network.tokens * network.width).reshape(shape) * 0.381966 + 0.17) % 1
    low, high = domain.lows(network.width), domain.highs(network.width)
    return _placed(low + share * (high - low), certificate)


def _placed(x: Array, certificate: Certificate) -> Array:
    """Moved to the middle of the nearest cell where it lies between cells."""
    if certificate.grid is None:
        return x
    moved = x.copy()
    for row, (lows, highs) in enumerate(zip(certificate.grid.lows, certificate.grid.highs, strict=True)):
        cell = np.clip(np.searchsorted(lows, x[:, row], side="right") - 1, 0, len(lows) - 1)
        inside = (x[:, row] >= lows[cell]) & (x[:, row] <= highs[cell])
        moved[:, row] = np.where(inside, x[:, row], (lows[cell] + highs[cell]) / 2)
    return moved


def _worst(network: Network, certificate: Certificate, target: Target) -> dict[str, Any]:
    """The input with the largest error among random ones, corners and inputs whose tokens are nearly equal."""
    numbers = network.tokens * network.width
    count = int(np.clip(MOST_SAMPLED_NUMBERS // numbers, 64, MOST_SAMPLES))
    rng = np.random.default_rng(0)
    unit = rng.random((count, network.tokens, network.width))
    unit[: count // 4] = rng.integers(0, 2, unit[: count // 4].shape)
    near = rng.random((count, 1, 1)) * (rng.random((count, 1, 1)) < 0.3)
    unit = unit * (1 - near) + near * unit.mean(axis=1, keepdims=True)
    low, high = certificate.target.domain.lows(network.width), certificate.target.domain.highs(network.width)
    x = network.dtype.rounded_inside(np.clip(low + unit * (high - low), low, high), low, high)
    with np.errstate(all="ignore"):
        gaps = np.abs(run(network, x) - target(x)).max(axis=(1, 2))
    at = int(np.nanargmax(gaps))
    return {"input": x[at].ravel().tolist(), "error": float(gaps[at]), "samples": count}


def _plane(network: Network, certificate: Certificate, target: Target) -> dict[str, Any]:
    """The target on a plane: its first two numbers vary, the others stay where the page begins."""
    base = _start(network, certificate)
    low, high = certificate.target.domain.lows(network.width), certificate.target.domain.highs(network.width)
    axes = [(0, 0), (0, 1)] if network.width > 1 else [(0, 0), (1, 0)]
    ticks = [np.linspace(low[i], high[i], SIDE) for _, i in axes]
    x = np.broadcast_to(base, (SIDE, SIDE, *base.shape)).copy()
    x[:, :, axes[0][0], axes[0][1]] = ticks[0][None, :]
    x[:, :, axes[1][0], axes[1][1]] = ticks[1][:, None]
    return {
        "axes": [token * network.width + coordinate for token, coordinate in axes],
        "base": base.ravel().tolist(),
        "side": SIDE,
        "values": packed(target(x.reshape(-1, *base.shape)).reshape(SIDE, SIDE, *base.shape)),
    }
