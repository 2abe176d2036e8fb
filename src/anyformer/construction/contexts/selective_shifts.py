"""Context ids by selective shifts, as in Paper A. Attention only.

With codes c_1 < … < c_n in units of a cell: x_1 = c_1 + M(c_n − c_1), x_j = c_j + M(x_{j−1} − c_j), id_j = x_j + C·x_n.
"""

import math
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.stages.coordinates import LADDER_RATIO
from anyformer.construction.stages.draft import Draft
from anyformer.networks.layers import AttentionStage
from anyformer.networks.probability_maps import Hardmax
from anyformer.networks.roles import Role


@dataclass(frozen=True)
class SelectiveShifts:
    """Sweep the codes upwards, then add C·max to all. Tokens that share a cell get no ids without positions."""

    lattice: Lattice
    leaves_strays: bool = True

    @property
    def reading(self) -> tuple[int, ...]:
        """Only the first coordinate is shifted: an id is u·z."""
        return self.lattice.radices

    @property
    def largest_id(self) -> int:
        """No id is larger."""
        return (1 + broadcast_gain(self.lattice)) * largest_shifted(self.lattice)

    @property
    def carry(self) -> float:
        """The global shift alone brings C times the largest token to all."""
        return broadcast_gain(self.lattice)

    def farthest(self, top: float) -> float:
        """A layer of the sweep multiplies what it finds by at most 1 + 2M."""
        layers, columns = self.lattice.slots * self.lattice.columns, self.lattice.columns
        growth = layers * math.log2(1 + 2 * columns) + math.log2(top / LADDER_RATIO) + 45
        return 2.0**growth if growth < 1000 else math.inf

    def ids(self, columns: Integers) -> Integers:
        """id_j = x_j + C·x_n for rows of columns' codes; with positions, each token's slot is added first."""
        x = shifted_codes(columns + self.lattice.slot_codes, self.lattice.columns)
        return np.asarray(x + broadcast_gain(self.lattice) * x[:, -1:])

    def stages(self, lattice: Lattice, slots: int) -> list[Draft]:
        """Each layer of the sweep shifts the tokens at one code by M·(max − min).

        A shifted token lands above every code still to come, so it is shifted once and is the new maximum.
        """
        delta = lattice.cell_width
        codes = (lattice.slot_codes[:, None] + np.arange(lattice.columns)).ravel().astype(np.float64)
        lower, upper = (codes - 0.5) * delta, (codes + 0.5) * delta
        # Tokens are at least half a cell away from a window's edge and, if different, a cell from each other.
        sweep = Draft(_shift_layers("selective shifts", lattice, lower, upper, lattice.columns), delta / 2 * delta)
        return [sweep, Draft(_add_maximum("global shift", lattice, broadcast_gain(lattice)), delta)]


def _shift_layers(name: str, lattice: Lattice, lower: Array, upper: Array, gain: float) -> AttentionStage:
    """Ψ(Z; lower, upper): two heads, one looking for the max from `lower` on, the other from `upper` on, the min below.

    Their difference is max − min for a token between the two, and 0 for all others.
    """
    layers, width = len(lower), lattice.width
    reads = np.broadcast_to(np.array(lattice.radices, dtype=np.float64), (layers, 2, 1, width))
    W_O = np.zeros((layers, 2, width, 1))
    W_O[:, 0, 0, 0], W_O[:, 1, 0, 0] = gain, -gain
    b_Q = -np.stack([lower, upper], axis=1)[:, :, None]
    return AttentionStage(name, reads, b_Q, reads, reads, W_O, Hardmax(), Role.SHIFT)


def _add_maximum(name: str, lattice: Lattice, gain: float) -> AttentionStage:
    """One head looks at the largest token, for every query; the other is idle."""
    reads = np.zeros((1, 2, 1, lattice.width))
    reads[0, 0, 0] = lattice.radices
    b_Q, W_O = np.zeros((1, 2, 1)), np.zeros((1, 2, lattice.width, 1))
    b_Q[0, 0, 0], W_O[0, 0, 0, 0] = 1.0, gain
    return AttentionStage(name, np.zeros_like(reads), b_Q, reads, reads, W_O, Hardmax(), Role.CONTEXT_ID)


def shifted_codes(codes: Integers, columns: int) -> Integers:
    """x_1 < … < x_n for rows of increasing codes, by the recursion above."""
    x = np.empty_like(codes)
    x[:, 0] = codes[:, 0] + columns * (codes[:, -1] - codes[:, 0])
    for j in range(1, codes.shape[1]):
        x[:, j] = codes[:, j] + columns * (x[:, j - 1] - codes[:, j])
    return x


def largest_shifted(lattice: Lattice) -> int:
    """max x_n, attained when the first n − 1 codes are as small and the last as large as they can be."""
    first = np.arange(lattice.tokens) if not lattice.has_positions else np.zeros(lattice.tokens, dtype=np.int64)
    codes = [int(a) + int(b) for a, b in zip(first, np.broadcast_to(lattice.slot_codes, lattice.tokens), strict=True)]
    codes[-1] += max(lattice.columns - 1 - int(first[-1]), 0)
    x = codes[0] + lattice.columns * (codes[-1] - codes[0])
    for code in codes[1:]:
        x = code + lattice.columns * (x - code)
    return x


def broadcast_gain(lattice: Lattice) -> int:
    """C > every x, so that x_n can be read off an id: M^{n+1} as in the paper, doubled where slots need more."""
    gain: int = lattice.columns ** (lattice.tokens + 1)
    while gain <= largest_shifted(lattice):
        gain *= 2
    return gain
