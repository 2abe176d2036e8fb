"""Method `averaging`: one layer of uniform attention, and ids for every sequence. The theorem: docs/averaging.md."""

from dataclasses import dataclass
from typing import ClassVar

from anyformer.construction.contexts.averages import Averages
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.methods.grown_table import GrownTable
from anyformer.construction.request import Request


@dataclass(frozen=True)
class Averaging(GrownTable):
    """Codes whose sums never collide, and one attention layer that adds a multiple of their mean."""

    name: ClassVar[str] = "averaging"

    def context(self, request: Request, lattice: Lattice) -> Averages:
        """How columns become ids on this grid."""
        return Averages.on(lattice)
