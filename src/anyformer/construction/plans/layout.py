"""All ids of a table with their values, merged and grouped into layers."""

import numpy as np

from anyformer.construction.grids.sequences import all_sequences, id_count
from anyformer.construction.grids.tables import cell_values
from anyformer.construction.plans.table_sizes import TableSizes
from anyformer.construction.request import Request
from anyformer.construction.stages.value_map import round_outputs
from anyformer.construction.stages.value_runs import Runs, find_runs

# Shares of the tolerance: for merging neighbouring ids, and for rounding outputs so that several ids fit in one layer.
MERGE_SHARE = 2.0**-6
ROUNDING_SHARE = 2.0**-12
# Merging costs accuracy: it is done only where it leaves fewer layers than this share.
WORTH_MERGING = 0.9


def lay_out(request: Request, sizes: TableSizes, slots: int, merges: bool) -> Runs:
    """The runs of ids that get one value each, `slots` of them to a layer."""
    lattice, tolerance = sizes.lattice, request.tolerance / request.entries_scale
    sequences = all_sequences(lattice)
    widest = widest_group(request, sizes, merges)
    grain = sizes.quanta(widest)
    outputs = round_outputs(cell_values(request.target, lattice, sequences), grain)
    ids, first = np.unique(sizes.context.ids(sequences).ravel(), return_index=True)
    values = outputs.reshape(-1, lattice.width)[first]
    assert len(ids) == id_count(lattice), "two tokens that must be told apart share an id"
    plain = find_runs(ids, values, 0.0, slots, widest)
    merged = find_runs(ids, values, 2 * MERGE_SHARE * tolerance, slots, widest) if merges else plain
    chosen = merged if merged.layers < WORTH_MERGING * plain.layers else plain
    return Runs(chosen.lowest, chosen.highest, round_outputs(chosen.values, grain), chosen.group)


def widest_group(request: Request, sizes: TableSizes, merges: bool) -> int:
    """How far apart the ids of a layer may be for outputs to be rounded by no more than their share."""
    return sizes.widest(ROUNDING_SHARE * request.tolerance / request.entries_scale) if merges else 0


def most_layers(request: Request, sizes: TableSizes, slots: int, merges: bool) -> int:
    """A bound on the layers of `lay_out`, without any value.

    A group ends when it is full or when the next id is more than `widest` below its first; the ids of all groups of the
    second kind lie within the largest id, each using up more than `widest` of it.
    """
    ids, widest = id_count(sizes.lattice), widest_group(request, sizes, merges)
    if widest == 0:
        return ids
    return min(ids, -(-ids // slots) + sizes.context.largest_id // widest + 1)
