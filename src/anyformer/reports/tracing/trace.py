"""One input on its way through a network, stage by stage: from the network and the certificate alone."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from anyformer.arrays import Array, as_sequences
from anyformer.certificates.bounds.cells import Grid
from anyformer.certificates.claims.certificate import Certificate
from anyformer.errors import CertificateError, NetworkError
from anyformer.labels.tables.codes import code_of, coded_stages
from anyformer.networks.evaluate import add_positions
from anyformer.networks.network import Network
from anyformer.networks.roles import Role
from anyformer.reports.tracing.walk import Column, Move, walk
from anyformer.targets.domains import CompactSupport, Domain

Columns = tuple[Column, ...]


@dataclass(frozen=True)
class StageTrace:
    """What one stage did: the moves of its layers, the tokens after it, and their codes where they hold any.

    Codes are whole numbers in units of a cell: after the quantiser the code of the token's cell, moved up by its
    position if the network has positions; after shifts the x_j of the proof; then the context ids.
    """

    name: str
    role: Role
    kind: str
    layers: int
    moves: tuple[Move, ...]
    values: Columns
    codes: tuple[int | float, ...] | None


@dataclass(frozen=True)
class Trace:
    """An input's whole way. `cells` and `columns` are its place in the certificate's grid; None outside the cells."""

    input: Columns
    domain: tuple[Column, Column]
    """The low and high ends, per coordinate of a token."""
    leaves_domain: bool
    """Whether the certificate says nothing about this input. With compact support it covers every input."""
    cells: tuple[tuple[int | None, ...], ...]
    columns: tuple[int | None, ...]
    positioned: Columns | None
    unit: float | None
    stages: tuple[StageTrace, ...]
    output: Columns
    expected: Columns | None
    """The target's own value, if it is a ready-made one."""

    @property
    def context_ids(self) -> tuple[int | float, ...] | None:
        """Every token's id in units of a cell, after the last attention layer."""
        return next((stage.codes for stage in reversed(self.stages) if stage.role is Role.CONTEXT_ID), None)

    @property
    def largest_difference(self) -> float | None:
        """max |f − g| over the entries, if f is known."""
        if self.expected is None:
            return None
        return float(np.abs(np.array(self.expected) - np.array(self.output)).max())


def trace(network: Network, certificate: Certificate, x: ArrayLike) -> Trace:
    """Walk one sequence of shape (tokens, width) through every stage.

    Args:
        network: the weights, softmax and ReLU only.
        certificate: its grid defines the cells; its target, if ready-made, gives the wanted value.
        x: the sequence.

    Returns:
        The trace; its output is that of `runtime.run`, bit for bit.
    """
    if not network.is_soft:
        raise NetworkError("only softmax and ReLU networks are traced; this one has hard stages. Trace the soft one.")
    if network.has_embedding:
        raise NetworkError(
            f"only networks without an embedding are traced; this one works on a stream of width "
            f"{network.stream_width}. Run it instead."
        )
    if certificate.grid is None or len(certificate.grid.lows) != network.width:
        rows = 0 if certificate.grid is None else len(certificate.grid.lows)
        raise CertificateError(
            f"the certificate's grid must have one row per coordinate of a token, {network.width}; "
            f"got {rows}. Keep a certificate with the network it was made for."
        )
    given = as_sequences(np.asarray(x, dtype=np.float64)[None], network.tokens, network.width)[0]
    sequence = network.dtype.rounded(given)
    start = add_positions(network, sequence[None])[0]
    code = code_of(network)
    cells = _cells(certificate.grid, sequence)
    stages = _stages(network, start)
    declared, box = certificate.target, certificate.target.domain
    return Trace(
        input=_columns(sequence),
        domain=(tuple(box.lows(network.width).tolist()), tuple(box.highs(network.width).tolist())),
        leaves_domain=_leaves(box, sequence),
        cells=cells,
        columns=tuple(_column_code(certificate.grid, column) for column in cells),
        positioned=None if network.positional_encoding is None else _columns(start),
        unit=None if code is None else code.unit,
        stages=stages,
        output=stages[-1].values if stages else _columns(start),
        expected=_columns(declared.target()(sequence)) if declared.is_ready_made else None,
    )


def _leaves(domain: Domain, sequence: Array) -> bool:
    if isinstance(domain, CompactSupport):
        return False
    width = sequence.shape[1]
    return bool(((sequence < domain.lows(width)) | (sequence > domain.highs(width))).any())


def _stages(network: Network, state: Array) -> tuple[StageTrace, ...]:
    code, coded = code_of(network), coded_stages(network)
    traced = []
    with np.errstate(all="ignore"):  # an overflow is reported below
        for index, stage in enumerate(network.stages):
            state, moves = walk(stage, state, network.views(index), network.dtype)
            if not np.isfinite(state).all():
                raise NetworkError(
                    f"the values must stay finite; after stage {stage.name!r} they are {state.tolist()}. "
                    f"Give an input nearer to the domain."
                )
            codes = code.of(state) if code is not None and index in coded else None
            traced.append(StageTrace(stage.name, stage.role, stage.kind, len(stage), moves, _columns(state), codes))
    return tuple(traced)


def _cells(grid: Grid, sequence: Array) -> tuple[tuple[int | None, ...], ...]:
    """Which interval of the grid holds each entry."""
    return tuple(
        tuple(_cell(low, high, value) for low, high, value in zip(grid.lows, grid.highs, column, strict=True))
        for column in sequence.tolist()
    )


def _cell(lows: Array, highs: Array, value: float) -> int | None:
    index = int(np.searchsorted(lows, value, side="right")) - 1
    return index if index >= 0 and value <= highs[index] else None


def _column_code(grid: Grid, cells: tuple[int | None, ...]) -> int | None:
    """Σ_i k_i·Π_{j<i} N_j: the number of a grid column, its first coordinate counting fastest."""
    counts = grid.cells_per_axis
    known = [cell for cell in cells if cell is not None]
    if len(known) < len(cells):
        return None
    return sum(cell * math.prod(counts[:i]) for i, cell in enumerate(known))


def _columns(state: Array) -> Columns:
    return tuple(map(tuple, state.tolist()))
