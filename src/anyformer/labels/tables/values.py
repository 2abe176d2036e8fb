"""The values at every place of a table.

On a cell of its grid a table is constant, to the last bit, once the quantiser has done its work. So the exact value of
an input from there on is that of the centre of its cell; an input that is in no cell has none.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.certificates.bounds.cells import Grid
from anyformer.labels.tables.codes import code_of, coded_stages
from anyformer.labels.values import Pair, Values
from anyformer.networks.evaluate import add_positions
from anyformer.networks.layers import AttentionStage, FeedForwardStage, Stage, weights
from anyformer.networks.network import Network
from anyformer.networks.roles import Role
from anyformer.runtime.run import run
from anyformer.targets.target import Target


class TableValues(Values):
    """Stage by stage, with the cells, codes and context ids that the proof speaks of."""

    def __init__(self, network: Network, grid: Grid, target: Target | None, x: Array) -> None:
        super().__init__(network, x)
        self.grid, self.target = grid, target

    @cached_property
    def cells(self) -> Integers:
        """Which interval of the grid holds each entry, (batch, tokens, width); −1 for one in none."""
        found = np.full(self.x.shape, -1, dtype=np.int64)
        for i, (lows, highs) in enumerate(zip(self.grid.lows, self.grid.highs, strict=True)):
            index = np.searchsorted(lows, self.x[..., i], side="right") - 1
            held = (index >= 0) & (self.x[..., i] <= highs[np.maximum(index, 0)])
            found[..., i] = np.where(held, index, -1)
        return found

    @cached_property
    def columns(self) -> Integers:
        """The number of each token's column of cells, its first coordinate counting fastest; −1 outside the cells."""
        radices = np.cumprod([1, *self.grid.cells_per_axis[:-1]])
        return np.where((self.cells >= 0).all(axis=-1), self.cells @ radices, -1)

    @cached_property
    def _centres(self) -> Array:
        """The centres of the inputs' cells; inputs themselves where they have none."""
        centres = [(low + high) / 2 for low, high in zip(self.grid.lows, self.grid.highs, strict=True)]
        chosen = [centre[np.maximum(self.cells[..., i], 0)] for i, centre in enumerate(centres)]
        return np.where(self._known[:, None, None], np.stack(chosen, axis=-1), self.x)

    @property
    def _known(self) -> Array:
        """Which sequences lie in a cell."""
        return np.asarray((self.cells >= 0).all(axis=(1, 2)))

    def network_stream(self, stage: int, layer: int) -> Array:
        """The stream before a layer, by running the layers before it."""
        return _run_until(self.network, stage, layer, self.x)

    def exact_stream(self, stage: int, layer: int) -> Array:
        """The same for the centre of the cell; before the quantiser is done, for the input itself."""
        if not self._is_quantised(stage, layer):
            return self.network_stream(stage, layer)
        stream = _run_until(self.network, stage, layer, self._centres)
        return np.where(self._known[:, None, None], stream, np.nan)

    def _is_quantised(self, stage: int, layer: int) -> bool:
        roles = [one.role for one in self.network.stages]
        last = max((k for k, role in enumerate(roles) if role is Role.QUANTISE), default=-1)
        return stage > last or (stage == last and layer == len(self.network.stages[stage]))

    def codes(self, stage: int) -> Pair | None:
        """The whole numbers that tokens hold after a stage, in units of a cell; None where they hold none.

        After the quantiser the number of the token's column, and its place's share; then codes; then context ids.
        """
        code = code_of(self.network)
        if code is None or stage not in coded_stages(self.network):
            return None
        after = self.of((stage, 0, "stage", 0))
        direction = np.array(code.direction)
        return Pair(after.exact @ direction / code.unit, after.network @ direction / code.unit)

    @property
    def output(self) -> Pair:
        """The target's value, NaN if it is not known, and the network's."""
        wanted = np.full(self.x.shape, np.nan) if self.target is None else self.target(self.x)
        return Pair(wanted, run(self.network, self.x))


def _run_until(network: Network, stage: int, layer: int, x: Array) -> Array:
    """The stream before a layer: a table has no embedding, so that what comes before is a network of its own."""
    stages = list(network.stages[:stage])
    if layer:
        stages.append(_first(network.stages[stage], layer))
    return run(replace(network, stages=tuple(stages)), x) if stages else add_positions(network, x)


def _first(stage: Stage, layers: int) -> Stage:
    assert isinstance(stage, AttentionStage | FeedForwardStage)
    return replace(stage, **{name: array[:layers] for name, array in weights(stage).items()})  # type: ignore[arg-type]
