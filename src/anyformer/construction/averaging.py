"""Method `averaging`: one layer of uniform attention, and ids for every sequence.

Quantise, gather each column's code in the first coordinate, recode it so that sums never collide, add a multiple of the
mean, give values, clip. Sequences with equal columns have ids too, so the error is that of the table alone.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from anyformer.construction import by_ids
from anyformer.construction.averages import Naming, naming
from anyformer.construction.by_ids import Way
from anyformer.construction.drafts import Draft
from anyformer.construction.gathering import gather, recode
from anyformer.construction.lattice import Integers, Lattice
from anyformer.construction.limits import Limits
from anyformer.networks.layers import AttentionStage
from anyformer.networks.probability_maps import Softmax
from anyformer.targets.target import Target

NAME = "averaging"


@dataclass(frozen=True, eq=False)
class Averages:
    """The context map: recode, then every token gets a multiple of the mean of all."""

    names: Naming

    @property
    def largest_id(self) -> int:
        """No id is larger."""
        return self.names.largest_id

    @property
    def carry(self) -> float:
        """A token's share in what the mean brings to the others."""
        return self.names.attention_gain / self.names.tokens

    def ids(self, columns: Integers) -> Integers:
        """Ids of sequences of columns, shape (sequences, tokens)."""
        return self.names.ids(columns)

    def drafts(self, lattice: Lattice, slots: int) -> list[Draft]:
        """Gather, recode, average."""
        targets = self.names.factor * self.names.codes.ravel()
        return [*gather(lattice), *recode(lattice, targets, slots), average(lattice, self.names.attention_gain)]


def average(lattice: Lattice, gain: int) -> Draft:
    """Uniform attention: no query, no key; every token gets gain times the mean of the first coordinates."""
    zeros = np.zeros((1, 2, 1, lattice.width))
    W_V, W_O = zeros.copy(), np.zeros((1, 2, lattice.width, 1))
    W_V[0, 0, 0, 0], W_O[0, 0, 0, 0] = 1.0, gain
    return Draft(AttentionStage("average", zeros, np.zeros((1, 2, 1)), zeros, W_V, W_O, Softmax()), 1.0)


def _grid(target: Target, counts: tuple[int, ...], limits: Limits) -> Lattice:
    return Lattice.with_counts(target, counts)


WAY = Way(NAME, _grid, lambda lattice, limits: Averages(naming(lattice)))
METHOD = by_ids.method(WAY)
plan_with, table = partial(by_ids.plan_with, WAY), partial(by_ids.table, WAY)
