"""Method `sparse-selective-shift`: Paper B's construction, for patterns that meet its Assumption 1."""

from dataclasses import dataclass
from typing import ClassVar

from anyformer.construction.contexts.checked_pattern import pattern_of
from anyformer.construction.contexts.sparse_shifts import SparseShifts, path_of, slots_along
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.methods.grown_table import Counts, GrownTable
from anyformer.construction.request import Request


@dataclass(frozen=True)
class SparseSelectiveShift(GrownTable):
    """Selective shifts along a path through the pattern; one layer for every id, as in the paper."""

    name: ClassVar[str] = "sparse-selective-shift"
    is_sparse: ClassVar[bool] = True
    merges: ClassVar[bool] = False

    def lattice(self, request: Request, counts: Counts) -> Lattice:
        """The grid, one slot a token in the order of the path."""
        gamma, _ = path_of(pattern_of(request), request.target.tokens)
        return Lattice.with_slots(request.target, counts, slots_along(gamma))

    def context(self, request: Request, lattice: Lattice) -> SparseShifts:
        """How columns become ids on this grid."""
        return SparseShifts.on(request, lattice)
