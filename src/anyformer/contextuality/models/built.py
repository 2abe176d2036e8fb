"""Networks built by this package: the stream after the embedding and after every stage, to the bit.

A table is measured on the centres of its cells, all of them where they are few: with its ids it must be a contextual
mapping there. A compiled network computes steps and has no ids; it is measured on points of its domain.
"""

from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from anyformer.arrays import Array
from anyformer.certificates.bounds.cells import Grid
from anyformer.certificates.contextual_map import check_contextual_map
from anyformer.contextuality.layers import Layered
from anyformer.contextuality.models.grids import contexts_of_columns, number_of_contexts
from anyformer.contextuality.report import TableIds
from anyformer.contextuality.sequences import Sequences, from_columns
from anyformer.errors import ContextualityError
from anyformer.labels.tables.codes import code_of, coded_stages
from anyformer.labels.tables.values import TableValues
from anyformer.model import Model
from anyformer.networks.evaluate import add_positions, apply_stage, embed
from anyformer.networks.network import Network
from anyformer.runtime.run import run as run_network
from anyformer.targets.target import Symmetry

POINTS: Final = 6
"""Different tokens of a compiled network's sequences."""
MOST_SEQUENCES: Final = 512
"""Of a compiled network; more are sampled."""


def from_network(network: Network, name: str = "network", own: Any = None) -> Layered:
    """A network: its stream before the stages, and after each."""

    def run(batch: NDArray[Any]) -> list[NDArray[Any]]:
        if batch.ndim != 3:
            raise ContextualityError(
                f"a network takes vectors, (tokens, {network.width}) a sequence; got token numbers. Give vectors."
            )
        return _streams(network, network.dtype.rounded(batch))

    names = ("input", *(stage.name for stage in network.stages))
    return Layered(name, run, names=names, symmetry=_symmetry(network), is_exact=True, own_sequences=own)


def from_model(model: Model) -> Layered:
    """A model with its certificate, which knows its grid or its domain."""
    claimed = model.certificate.target
    name = f"{claimed.name} on {claimed.tokens} tokens"
    return from_network(model.network, name, own=lambda: own_sequences(model))


def _symmetry(network: Network) -> Symmetry:
    return Symmetry.EQUIVARIANT if network.is_equivariant else Symmetry.NONE


def _streams(network: Network, x: Array) -> list[Array]:
    streams = [add_positions(network, embed(network, x))]
    for k, stage in enumerate(network.stages):
        if network.has_embedding:  # few layers: by the definition
            streams.append(apply_stage(stage, streams[-1], network.views(k), network.dtype))
        else:  # a table may have thousands: the engine gives the same bits
            streams.append(run_network(replace(network, stages=network.stages[: k + 1]), x))
    return streams


def own_sequences(model: Model) -> Sequences:
    """The cells of a table, or sequences of a few points of a compiled network's domain."""
    network, grid = model.network, model.certificate.grid
    if _has_ids(network, grid):
        assert grid is not None
        return _cells(network, grid)
    domain = model.certificate.target.domain
    low, high = domain.lows(network.width), domain.highs(network.width)
    rng = np.random.default_rng(0)
    points = network.dtype.rounded_inside(low + rng.random((POINTS, network.width)) * (high - low), low, high)
    up_to_order = network.is_equivariant
    total = number_of_contexts(POINTS, network.tokens, up_to_order=False)
    if total is not None and total <= MOST_SEQUENCES:
        rows = contexts_of_columns(POINTS, network.tokens, up_to_order=False)
    else:
        rows = rng.integers(0, POINTS, (MOST_SEQUENCES, network.tokens))
    return from_columns(points, list(np.unique(np.sort(rows, axis=1) if up_to_order else rows, axis=0)))


def _has_ids(network: Network, grid: Grid | None) -> bool:
    """Whether it is a table whose stages say where its ids are."""
    if grid is None or network.has_embedding or len(grid.lows) != network.width:
        return False
    return code_of(network) is not None and len(coded_stages(network)) > 0


def _cells(network: Network, grid: Grid) -> Sequences:
    choice = grid.columns
    centres = [(low + high) / 2 for low, high in zip(grid.lows, grid.highs, strict=True)]
    columns = np.stack([centre[choice[:, i]] for i, centre in enumerate(centres)], axis=-1)
    rows = list(contexts_of_columns(len(columns), network.tokens, network.is_equivariant))
    if len(rows) < 2:
        raise ContextualityError(
            f"a table must have at least two contexts to compare; this grid has {len(columns)} cells for "
            f"{network.tokens} tokens. Give sequences."
        )
    return from_columns(columns, rows)


def confirm_ids(model: Model, sequences: Sequences) -> TableIds | None:
    """The ids of a table against the definition, in exact numbers; None for a network without ids."""
    network, grid = model.network, model.certificate.grid
    if not _has_ids(network, grid):
        return None
    assert grid is not None
    assert sequences.columns is not None
    rows = np.stack(sequences.rows)
    stage = coded_stages(network)[-1]
    held = TableValues(network, grid, None, sequences.columns[rows]).codes(stage)
    assert held is not None
    gaps = np.diff(np.unique(held.network))
    return TableIds(
        stage=network.stages[stage].name,
        agree=bool(np.array_equal(held.exact, held.network)),
        found=check_contextual_map(rows, held.network, _symmetry(network)),
        closest=float(gaps.min()) if len(gaps) else float("inf"),
    )
