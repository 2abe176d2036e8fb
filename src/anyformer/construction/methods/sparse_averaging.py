"""Method `sparse-averaging`: means over neighbourhoods, hop by hop. The theorem: docs/sparse.md."""

from dataclasses import dataclass
from typing import ClassVar

from anyformer.construction.contexts.checked_pattern import pattern_of
from anyformer.construction.contexts.sparse_averages import SparseAverages, hops_of
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.methods.grown_table import Counts, GrownTable
from anyformer.construction.request import Request


@dataclass(frozen=True)
class SparseAveraging(GrownTable):
    """Means over neighbourhoods; works for every pattern in which each output comes to depend on each input."""

    name: ClassVar[str] = "sparse-averaging"
    is_sparse: ClassVar[bool] = True

    def lattice(self, request: Request, counts: Counts) -> Lattice:
        """The grid, one slot a token."""
        hops_of(pattern_of(request), request.target.tokens)
        return Lattice.with_slots(request.target, counts)

    def context(self, request: Request, lattice: Lattice) -> SparseAverages:
        """How columns become ids on this grid."""
        return SparseAverages.on(request, lattice)
