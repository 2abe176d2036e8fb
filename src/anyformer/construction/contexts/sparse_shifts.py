"""Context ids by selective shifts over neighbourhoods, as in Paper B, for any pattern that meets its Assumption 1.

Let γ be the path, M the number of columns, in units of a cell. Token γ(1) starts in the highest slot, n − 1, and γ(i)
in slot i − 2. Phase i = 2..n sweeps the codes of γ(i)'s slot upwards with the selective shift of Paper A, over the
tokens in view only. In a layer whose pattern lets γ(i) see γ(i − 1), the largest token in view is γ(i − 1), which was
shifted last and is the largest of all, and the smallest is γ(i) itself, whose slot is the lowest left; so it becomes
x_i = c_i + M(x_{i−1} − c_i). No shifted token falls into a window to come: x_2 >= M(x_1 − c_2) >= M((n − 2)M + 1) is
above all slots. Layers of other patterns in the cycle are idle: p(n − 1)M in all. Then s layers add C times the largest
token in view, after which all tokens know x_n, which names the sequence.
"""

import itertools
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from anyformer.arrays import Integers
from anyformer.construction.contexts.checked_pattern import pattern_of, repair_in_words, report_on
from anyformer.construction.contexts.context_map import first_coordinate
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.refusal import Fit, Refusal, Resource, Shortage
from anyformer.construction.request import Pattern, Request, pattern_at
from anyformer.construction.stages.codes import gather
from anyformer.construction.stages.draft import Draft
from anyformer.errors import PlanError
from anyformer.networks.layers import AttentionStage
from anyformer.networks.probability_maps import Hardmax
from anyformer.networks.roles import Role
from anyformer.patterns.pattern import SparsityPattern

NAME = "sparse-selective-shift"


@dataclass(frozen=True, eq=False)
class SparseShifts:
    """Phases along the path γ, then C·max, hop by hop."""

    pattern: SparsityPattern
    gamma: tuple[int, ...]
    links: tuple[int, ...]
    """For i = 2..n, the layer of the cycle in which γ(i) sees γ(i − 1)."""
    hops: int
    columns: int
    gain: int
    width: int
    leaves_strays: bool = False

    @classmethod
    def on(cls, request: Request, lattice: Lattice) -> "SparseShifts":
        """The context map of a grid, with the paper's gain C = 2·s·n·N^{nd+1}."""
        tokens, pattern = lattice.tokens, pattern_of(request)
        gamma, hops = path_of(pattern, tokens)
        at = pattern_at(pattern, tokens)
        links = tuple(
            next(layer for layer in range(at.period) if before in at.layer(layer).keys_of(token))
            for before, token in itertools.pairwise(gamma)
        )
        gain = 2 * hops * tokens * lattice.columns**tokens * max(lattice.counts)
        return cls(at, gamma, links, hops, lattice.columns, gain, lattice.width)

    @property
    def reading(self) -> tuple[int, ...]:
        """Ids stand in the first coordinate."""
        return first_coordinate(self.width)

    @property
    def slot_of_token(self) -> tuple[int, ...]:
        """γ(1) highest, then γ(2), γ(3), … from the lowest up."""
        return slots_along(self.gamma)

    @property
    def attention_layers(self) -> int:
        """p(n − 1)M + s, as the theorem states."""
        return self.pattern.period * (len(self.gamma) - 1) * self.columns + self.hops

    @property
    def largest_id(self) -> int:
        """x_i = M·x_{i−1} − (M − 1)c_i is largest for the smallest c_i and the largest x_1."""
        x = len(self.gamma) * self.columns - 1
        for slot in range(len(self.gamma) - 1):
            x = self.columns * x - (self.columns - 1) * slot * self.columns
        return int(x * (1 + self.gain) ** self.hops)

    @property
    def carry(self) -> float:
        """Not used: sparse networks have positions, and so no compact support."""
        return 1.0

    def farthest(self, top: float) -> float:
        """Holds for tokens that are shifted once. Between cells some may be shifted twice; nothing is claimed there."""
        return 2 * top * len(self.gamma)

    def ids(self, columns: Integers) -> Integers:
        """Ids of sequences of columns, shape (sequences, tokens)."""
        x = columns + np.array(self.slot_of_token) * self.columns
        for before, token in itertools.pairwise(self.gamma):
            x[:, token] += self.columns * (x[:, before] - x[:, token])
        for hop in range(self.hops):
            seen = self.pattern.layer(hop)
            x = x + self.gain * np.stack([x[:, seen.keys_of(k)].max(axis=1) for k in range(seen.tokens)], axis=1)
        return np.asarray(x)

    def stages(self, lattice: Lattice, slots: int) -> list[Draft]:
        """Gather, sweep, add maxima."""
        delta = lattice.cell_width
        # Tokens are at least half a cell away from a window's edge and, if different, a cell from each other.
        sweep = Draft(self._sweep(lattice), delta / 2 * delta)
        return [*gather(lattice), sweep, Draft(self._maxima(lattice), delta)]

    def _sweep(self, lattice: Lattice) -> AttentionStage:
        """For every phase and every code of its slot, a whole cycle of layers, of which one is active."""
        phases, period = len(self.links), self.pattern.period
        shape = (phases, self.columns, period)
        at_work = np.broadcast_to(np.arange(period) == np.array(self.links)[:, None, None], shape).ravel()
        codes = np.broadcast_to(np.arange(phases * self.columns).reshape(phases, -1, 1), shape).ravel()
        layers = len(codes)
        reads, W_O = np.zeros((layers, 2, 1, lattice.width)), np.zeros((layers, 2, lattice.width, 1))
        reads[at_work, :, 0, 0] = 1.0
        W_O[at_work, 0, 0, 0], W_O[at_work, 1, 0, 0] = self.columns, -self.columns
        edges = np.stack([codes - 0.5, codes + 0.5], axis=1)[:, :, None] * lattice.cell_width
        b_Q = np.where(at_work[:, None, None], -edges, 0.0)
        return AttentionStage("sparse selective shifts", reads, b_Q, reads, reads, W_O, Hardmax(), Role.SHIFT)

    def _maxima(self, lattice: Lattice) -> AttentionStage:
        reads, W_O = np.zeros((self.hops, 2, 1, lattice.width)), np.zeros((self.hops, 2, lattice.width, 1))
        b_Q = np.zeros((self.hops, 2, 1))
        reads[:, 0, 0, 0], b_Q[:, 0, 0], W_O[:, 0, 0, 0] = 1.0, 1.0, self.gain
        return AttentionStage("all-max shift", np.zeros_like(reads), b_Q, reads, reads, W_O, Hardmax(), Role.CONTEXT_ID)


def slots_along(gamma: tuple[int, ...]) -> tuple[int, ...]:
    """The slot of every token for a path γ."""
    slots = [0] * len(gamma)
    for place, token in enumerate(gamma):
        slots[token] = len(gamma) - 1 if place == 0 else place - 1
    return tuple(slots)


@lru_cache(maxsize=64)
def path_of(pattern: Pattern, tokens: int) -> tuple[tuple[int, ...], int]:
    """γ and s, or a refusal with the checker's findings and a repair."""
    at, report = pattern_at(pattern, tokens), report_on(pattern, tokens)
    if any(len(layer) > 1 for layer in at.layers):
        raise _refused(
            f"both heads of a layer must have the same list of keys, and {report.pattern} has several lists",
            "the parts of the pattern arranged by union or sequentially",
        )
    if report.path.gamma is None or report.reach.hops is None or report.self_loops.missing:
        raise _refused(
            f"the pattern must meet Paper B's Assumption 1 at {tokens} tokens, and of {report.pattern} the checker "
            f"says\n  self-loops: {report.self_loops}\n  path: {report.path}\n  reach: {report.reach}",
            repair_in_words(report, report.repair),
        )
    return report.path.gamma, report.reach.hops


def _refused(detail: str, repair: str) -> PlanError:
    return Refusal(NAME, Shortage(Resource.PATTERN, detail=detail), Fit(repair=repair)).error()
