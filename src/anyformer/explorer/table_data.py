"""A table as data for the page: its cells, how tokens hold codes, and the ids of all contexts."""

import math
from typing import Any

import numpy as np

from anyformer.arrays import Array, Booleans, Integers
from anyformer.certificates.bounds.cells import Grid, cells_between, count_cells
from anyformer.labels.tables.codes import Code, code_of, coded_stages
from anyformer.networks.evaluate import add_positions, apply_stage
from anyformer.networks.network import Network

# Contexts whose ids are drawn; of more, so many random ones.
MOST_CONTEXTS = 1_000


def table_data(network: Network, grid: Grid) -> dict[str, Any]:
    """The grid, the code, and the contextual map."""
    code, coded = code_of(network), coded_stages(network)
    return {
        "lows": [row.tolist() for row in grid.lows],
        "highs": [row.tolist() for row in grid.highs],
        "code": None if code is None else {"direction": list(code.direction), "unit": code.unit},
        "coded": list(coded),
        "contexts": None if code is None or not coded else _contexts(network, grid, code, coded[-1]),
    }


def _contexts(network: Network, grid: Grid, code: Code, last: int) -> dict[str, Any]:
    """The ids of every context, or of random ones, from the network's own states at the centres of cells."""
    columns = math.prod(grid.cells_per_axis)
    total = count_cells(columns, network.tokens, network.is_equivariant)
    codes, choice, coinciding = _every(grid, network, total) if total <= MOST_CONTEXTS else _some(grid, network)
    ids = _ids(network, grid, choice, code, last)
    return {
        "ids": ids.tolist(),
        "cells": codes.tolist(),
        "coinciding": coinciding.tolist(),
        "total": total,
        "said": _said(ids, codes, coinciding if network.is_equivariant else np.zeros(len(ids), np.bool_), total),
    }


def _every(grid: Grid, network: Network, total: int) -> tuple[Integers, Integers, Booleans]:
    batch = cells_between(grid, network.tokens, network.is_equivariant, 0, total)
    return batch.codes, batch.choice, batch.coinciding


def _some(grid: Grid, network: Network) -> tuple[Integers, Integers, Booleans]:
    """Random contexts: which column of cells each token lies in."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, math.prod(grid.cells_per_axis), (MOST_CONTEXTS, network.tokens))
    codes = np.unique(np.sort(codes, axis=1) if network.is_equivariant else codes, axis=0)
    ordered = np.sort(codes, axis=1)
    choice = np.stack(np.unravel_index(codes, grid.cells_per_axis), axis=-1)
    return codes, choice, np.asarray((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))


def _ids(network: Network, grid: Grid, choice: Integers, code: Code, last: int) -> Array:
    boxes = grid.boxes(choice)
    state = add_positions(network, network.dtype.rounded(boxes.low + (boxes.high - boxes.low) / 2))
    for k, stage in enumerate(network.stages[: last + 1]):
        state = apply_stage(stage, state, network.views(k), network.dtype)
    return np.asarray(state @ np.array(code.direction) / code.unit)


def _said(ids: Array, codes: Integers, left_out: Booleans, total: int) -> str:
    """What the picture shows, counted from the ids themselves."""
    if left_out.all():
        which = f"all {total:,} contexts" if len(ids) == total else f"each of {len(ids):,} random contexts of {total:,}"
        return f"In {which} two tokens lie in one cell: there are too few cells for different tokens."
    owners: dict[float, set[tuple[Any, ...]]] = {}
    for row, cells in zip(ids[~left_out], codes[~left_out], strict=True):
        for place, one in enumerate(row.tolist()):
            # Without positions, a token is its cell within a multiset; sorted rows make that a name.
            name = (tuple(cells.tolist()), int(cells[place]) if left_out.any() else place)
            owners.setdefault(one, set()).add(name)
    shared = sum(len(names) > 1 for names in owners.values())
    counted = f"{len(owners):,} different ids of {int((~left_out).sum()):,} contexts"
    drawn = "" if len(ids) == total else f" ({len(ids):,} of all {total:,} contexts, chosen at random, are drawn)"
    left = int(left_out.sum())
    equal = f" {left:,} more contexts, with two tokens in one cell, are drawn fainter." if left else ""
    verdict = "no two contexts share one" if shared == 0 else f"{shared:,} of them belong to more than one context"
    return f"{counted}: {verdict}{drawn}.{equal}"
