"""The stages of a network that works with a table: quantise, give ids, give values, tidy up."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anyformer.arrays import Array
from anyformer.construction.contexts.context_map import ContextMap
from anyformer.construction.dyadic import power_of_two_above
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.stages.coordinates import clamp_rows, vanish
from anyformer.construction.stages.draft import Draft
from anyformer.construction.stages.quantise import mark_outside, quantise, to_grid
from anyformer.construction.stages.value_map import lifted
from anyformer.networks.dtypes import FLOAT64
from anyformer.networks.roles import Role


@dataclass(frozen=True, eq=False)
class TableSizes:
    """What follows from a grid and its context map before any value is known, in the network's own units."""

    lattice: Lattice
    context: ContextMap
    bound: float
    """No output is larger."""
    bits: int = FLOAT64.bits
    """Of the numbers that the network computes with."""

    @cached_property
    def stray_threshold(self) -> float:
        """Above all outputs and grid entries by a factor that keeps both below the ramp."""
        return 4 * max(self.bound, power_of_two_above(self.lattice.largest_entry))

    @cached_property
    def lift(self) -> float:
        """How much ids are raised: above the reading of every output, and above the threshold for strays."""
        return max(2 * power_of_two_above(self.bound * sum(self.context.reading)), self.stray_threshold)

    @cached_property
    def top(self) -> float:
        """No lifted id reaches half of it."""
        return 2 * power_of_two_above(self.context.largest_id * self.lattice.cell_width + self.lift)

    def quantum(self, widest: int) -> float:
        """The output grain for which a group of ids that reaches over `widest` is moved without any rounding.

        The largest product is (id/ramp)·(reach + ramp) with a ramp of half a cell; all bits from there down.
        """
        return self.top * power_of_two_above(2 * widest + 1) * 2.0**-self.bits

    def widest(self, grain: float) -> int:
        """The widest reach that keeps the quantum at or below `grain`."""
        spare = int(np.floor(np.log2(grain / (self.top * 2.0**-self.bits))))
        return 0 if spare < 1 else 2 ** min(spare - 1, 40) - 1

    def quanta(self, widest: int) -> Array:
        """The grain of outputs in each coordinate: the first shares its bits with the ids."""
        quanta = np.full(self.lattice.width, self.bound * power_of_two_above(2 * widest + 1) * 2.0 ** (3 - self.bits))
        quanta[0] = max(self.quantum(widest), quanta[0])
        return quanta

    def before_values(self, ramp: float, hidden_size: int) -> list[Draft]:
        """Onto the grid, to ids, and up above all outputs."""
        lattice, context = self.lattice, self.context
        # A mark alone must lift every token of a sequence that leaves the support above all ids: carry·mark >= top.
        mark = 4 * power_of_two_above(max(self.top / context.carry, lattice.largest_entry))
        return [
            *to_grid(lattice),
            *mark_outside(lattice, ramp, mark),
            *quantise(lattice, ramp),
            *context.stages(lattice, hidden_size // 2),
            *(self._vanishing("vanish outside", Role.GUARD, self.top) if lattice.is_guarded else []),
            lifted(lattice, self.lift),
        ]

    def after_values(self) -> list[Draft]:
        """Send strays to 0, and clip: this bounds the output everywhere, also for inputs between cells."""
        lattice, context = self.lattice, self.context
        # Tokens that vanished outside a support were lifted with the rest; so were tokens without an id.
        has_strays = lattice.is_guarded or (context.leaves_strays and not lattice.has_positions)
        strays = self._vanishing("vanish strays", Role.STRAY, self.stray_threshold) if has_strays else []
        return [*strays, clamp_rows("clip", Role.CLIP, lattice.width, self.bound, context.farthest(self.top))]

    def _vanishing(self, name: str, role: Role, threshold: float) -> list[Draft]:
        """Tokens at or above the threshold go to 0. Where the first coordinate is the id, the others are 0."""
        if not any(self.context.reading[1:]):
            return vanish(name, role, self.lattice.width, threshold)
        ceiling = threshold if role is Role.STRAY else 4 * power_of_two_above(self.lattice.largest_entry)
        return vanish(name, role, self.lattice.width, threshold, others=ceiling)
