"""A method of one's own in one file: averaging, with powers of n + 1 as codes. Longer ids, but obviously right."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anyformer.construction.codes.multipliers import multiset_multiplier
from anyformer.construction.codes.sums import SumCodes
from anyformer.construction.contexts.averages import Averages
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.methods.grown_table import GrownTable
from anyformer.construction.request import Request
from anyformer.errors import PlanError


@dataclass(frozen=True)
class Powers(GrownTable):
    """A sum of n powers of n + 1 names its terms: its digits count them."""

    name: ClassVar[str] = "powers"

    def context(self, request: Request, lattice: Lattice) -> Averages:
        """How columns become ids on this grid."""
        if request.has_positions:
            raise PlanError("powers is for functions without positions; take averaging.")
        tokens = lattice.tokens
        codes = (tokens + 1) ** np.arange(lattice.columns, dtype=np.int64)
        multiplier = multiset_multiplier(codes, tokens, factor=tokens)
        return Averages(SumCodes(codes[None], tokens, multiplier, tokens), lattice.width)
