"""Context ids by one layer of uniform attention: every token gets a multiple of the mean of all codes."""

from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Integers
from anyformer.construction.codes.sums import SumCodes, sum_codes
from anyformer.construction.contexts.context_map import first_coordinate
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.stages.codes import gather, recode
from anyformer.construction.stages.draft import Draft
from anyformer.networks.layers import AttentionStage
from anyformer.networks.probability_maps import Softmax
from anyformer.networks.roles import Role


@dataclass(frozen=True, eq=False)
class Averages:
    """Recode, then add a multiple of the mean. Sequences with equal columns get ids too."""

    codes: SumCodes
    width: int
    leaves_strays: bool = False

    @classmethod
    def on(cls, lattice: Lattice) -> "Averages":
        """The context map of a grid."""
        return cls(sum_codes(lattice), lattice.width)

    @property
    def reading(self) -> tuple[int, ...]:
        """Ids stand in the first coordinate."""
        return first_coordinate(self.width)

    @property
    def largest_id(self) -> int:
        """No id is larger."""
        return self.codes.largest_id

    @property
    def carry(self) -> float:
        """The share of a token's first coordinate that the mean brings to the others."""
        return self.codes.attention_gain / self.codes.tokens

    def farthest(self, top: float) -> float:
        """A mean is no larger than the largest token."""
        return 2 * top * self.codes.tokens

    def ids(self, columns: Integers) -> Integers:
        """Ids of sequences of columns, shape (sequences, tokens)."""
        return self.codes.ids(columns)

    def stages(self, lattice: Lattice, slots: int) -> list[Draft]:
        """Gather, recode, average."""
        numbers = self.codes.factor * self.codes.codes.ravel()
        return [*gather(lattice), *recode(lattice, numbers, slots), _average(lattice, self.codes.attention_gain)]


def _average(lattice: Lattice, gain: int) -> Draft:
    """Uniform attention: no query, no key; every token gets gain times the mean of the first coordinates."""
    zeros = np.zeros((1, 2, 1, lattice.width))
    W_V, W_O = zeros.copy(), np.zeros((1, 2, lattice.width, 1))
    W_V[0, 0, 0, 0], W_O[0, 0, 0, 0] = 1.0, gain
    b_Q = np.zeros((1, 2, 1))
    return Draft(AttentionStage("average", zeros, b_Q, zeros, W_V, W_O, Softmax(), Role.CONTEXT_ID), 1.0)
