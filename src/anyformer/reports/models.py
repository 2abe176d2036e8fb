"""A model, as data and as text: what it is made of and what is claimed of it."""

import math
from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType

from anyformer.certificates.bounds.powers import exponent_data
from anyformer.certificates.claims.certificate import Certificate
from anyformer.model import Model
from anyformer.networks.dtypes import FLOAT64
from anyformer.networks.layers import own_sizes
from anyformer.networks.network import Network
from anyformer.reports.plans import asked
from anyformer.reports.programs import program_of, stated_program
from anyformer.reports.stages import stage_row, stage_table
from anyformer.reports.terminal import count, duration, error_size, facts, heading, number

READ_NOT_PROVED = "read from the file, not re-proved; `anyformer verify` proves it again"


def build_data(model: Model, output: str | None) -> dict[str, Any]:
    """A fresh model as a JSON object; `output` is where it was written, if it was."""
    made = model.construction
    return {
        **_network_data(model.network),
        **_claim_data(model.certificate),
        "instead_of": None if made is None else made.plan.instead_of,
        "output": output,
    }


def build_view(model: Model, seconds: float, by_phase: Mapping[str, float], output: str | None) -> RenderableType:
    """A fresh model as text, with what the time was spent on."""
    certificate = model.certificate
    place = output if output is not None else "nothing was written: name a folder with -o to keep the model"
    return Group(
        _title(model),
        heading(f"CERTIFIED {_claim(certificate)}", style="bold green"),
        facts(
            [
                ("measured", _measured(certificate)),
                ("holds", certificate.kind.value),
                *_size_facts(model),
                *_instead_of(model),
                ("time", _time(seconds, by_phase)),
                ("written to", place),
            ]
        ),
    )


def _instead_of(model: Model) -> list[tuple[str, str]]:
    """Why the network was not made by the method that comes first."""
    reason = None if model.construction is None else model.construction.plan.instead_of
    return [] if reason is None else [("instead of", reason)]


def _time(seconds: float, by_phase: Mapping[str, float]) -> str:
    """With the two longest phases, unless they took less than a hundredth of it."""
    longest = sorted(by_phase.items(), key=lambda phase: -phase[1])[:2]
    shown = [f"{duration(took)} {phase}" for phase, took in longest if took >= seconds / 100]
    return duration(seconds) + (f" ({', '.join(shown)})" if shown else "")


def describe_data(model: Model) -> dict[str, Any]:
    """A model as a JSON object. What the certificate claims is a part of its own, labelled."""
    network = model.network
    stages = [
        {
            "name": stage.name,
            "role": stage.role.name.lower(),
            "kind": stage.kind,
            "layers": len(stage),
            "purpose": stage.role.value,
        }
        for stage in network.stages
    ]
    claim = {**_claim_data(model.certificate), "weights_digest": model.certificate.weights_digest}
    return {
        **_network_data(network),
        "stages": stages,
        **({} if model.certificate.grid is not None else {"program": stated_program(model.certificate)}),
        "certificate": {"status": READ_NOT_PROVED, **claim},
    }


def describe_view(model: Model) -> RenderableType:
    """A model as text."""
    certificate = model.certificate
    return Group(
        _title(model),
        facts(_size_facts(model)),
        stage_table([stage_row(one.name, one.role, one.kind, len(one)) for one in model.network.stages]),
        *program_of(certificate),
        heading("Certificate"),
        facts(
            [
                ("status", READ_NOT_PROVED),
                ("states", _claim(certificate)),
                ("holds", certificate.kind.value),
                ("measured", _measured(certificate)),
                ("sha256", certificate.weights_digest),
            ]
        ),
    )


def _network_data(network: Network) -> dict[str, Any]:
    return {
        "tokens": network.tokens,
        "width": network.width,
        "positions": network.positional_encoding is not None,
        "connections": None if network.pattern is None else [seen.connections for seen in network.pattern.seen],
        "block_shape": [network.shape.heads, network.shape.head_size, network.shape.hidden_size],
        "dtype": network.dtype.name,
        "layers": network.layer_count,
        "attention_layers": network.attention_layer_count,
        "parameters": network.parameter_count,
        **_stream_data(network),
    }


def _stream_data(network: Network) -> dict[str, Any]:
    """What only networks with an embedding have."""
    if not network.has_embedding:
        return {}
    return {"stream_width": network.stream_width, "hidden_units": network.hidden_unit_count}


def _claim_data(certificate: Certificate) -> dict[str, Any]:
    measured = certificate.measured
    return {
        "target": certificate.target.name,
        "p": exponent_data(certificate.p),
        "epsilon": certificate.tolerance,
        "certified_error": certificate.certified_error,
        "measured_error": measured.error,
        "measured_interval": [measured.low, measured.high],
        "kind": certificate.kind.value,
        "cells_per_axis": _cells_per_axis(certificate),
        "method": certificate.construction.get("method"),
        "id_bits": certificate.construction.get("id_bits"),
    }


def _cells_per_axis(certificate: Certificate) -> list[int] | None:
    if certificate.cells is not None:
        return [certificate.cells] * certificate.target.width
    return None if certificate.grid is None else list(certificate.grid.cells_per_axis)


def _title(model: Model) -> RenderableType:
    network = model.network
    has_positions = network.positional_encoding is not None
    return heading(asked(model.certificate.target.name, network.tokens, network.width, has_positions))


def _claim(certificate: Certificate) -> str:
    return (
        f"error at most {error_size(certificate.certified_error)} in L^{number(certificate.p)}, "
        f"asked for {number(certificate.tolerance)}"
    )


def _measured(certificate: Certificate) -> str:
    measured = certificate.measured
    if certificate.p == math.inf:
        return f"{error_size(measured.error)}, the largest on {count(measured.samples)} samples"
    interval = f"{error_size(measured.low)} to {error_size(measured.high)}"
    return f"{error_size(measured.error)} ({interval}, on {count(measured.samples)} samples)"


def _size_facts(model: Model) -> list[tuple[str, str]]:
    network, made = model.network, model.certificate.construction
    return [
        ("method", str(made.get("method", "not stated"))),
        *([] if network.dtype == FLOAT64 else [("dtype", network.dtype.name)]),
        ("block", _block(network)),
        *_stream_facts(network),
        ("layers", f"{count(network.layer_count)}, of which {count(network.attention_layer_count)} attention"),
        *_sparse_facts(model),
        ("parameters", count(network.parameter_count)),
        *_table_facts(model.certificate),
    ]


def _table_facts(certificate: Certificate) -> list[tuple[str, str]]:
    if (cells := _cells_per_axis(certificate)) is None:
        return []
    per_axis = ("cells per axis", " × ".join(map(count, cells)))
    if certificate.grid is None:
        return [per_axis]
    return [
        per_axis,
        ("context ids", f"of {certificate.construction.get('id_bits', 'an unknown number of')} bits"),
    ]


def _block(network: Network) -> str:
    """The shape of every block, or of the largest."""
    shape = network.shape
    heads = "1 head" if shape.heads == 1 else f"{count(shape.heads)} heads"
    sizes = f"{heads} of size {count(shape.head_size)}, {count(shape.hidden_size)} hidden units"
    return f"at most {sizes}" if any(own_sizes(stage, shape) for stage in network.stages) else sizes


def _stream_facts(network: Network) -> list[tuple[str, str]]:
    if not network.has_embedding:
        return []
    units = f"{count(network.hidden_unit_count)} hidden units in all"
    return [("stream", f"{count(network.stream_width)} numbers a token, {units}")]


def _sparse_facts(model: Model) -> list[tuple[str, str]]:
    pattern = model.network.pattern
    if pattern is None:
        return []
    links = " and ".join(count(seen.connections) for seen in pattern.seen)
    stated = str(model.certificate.construction.get("pattern", "explicit pattern"))
    return [("pattern", f"{stated}, {links} connections a layer")]
