"""Running a network must give the bits of its definition, also where numbers overflow or are too small to be normal."""

from dataclasses import dataclass, replace

import numpy as np

from anyformer.errors import AnyformerError
from anyformer.networks import BlockShape, Network
from anyformer.networks.evaluate import evaluate
from anyformer.networks.runs import Layers
from anyformer.runtime import run
from anyformer.runtime.run import Engine
from tests.hunt.palettes import draw
from tests.hunt.rulings import Outcome, Ruling
from tests.hunt.small_networks import EVERY, some_network


@dataclass(frozen=True, eq=False)
class RunningCase:
    """A network and sequences to run it on."""

    description: str
    network: Network
    x: np.ndarray
    layers: Layers
    engine: Engine

    def judge(self) -> Outcome:
        """False if a bit differs; NaN is NaN, whatever its bits."""
        with np.errstate(all="ignore"):
            expected = evaluate(self.network, self.x)
            try:
                found = run(self.network, self.x, layers=self.layers, engine=self.engine, threads=1)
            except AnyformerError as error:
                return Outcome(Ruling.REFUSED, str(error))
        if np.array_equal(expected, found, equal_nan=True):
            return Outcome(Ruling.PROVED)
        at = tuple(int(k) for k in np.argwhere(~((expected == found) | (np.isnan(expected) & np.isnan(found))))[0])
        return Outcome(Ruling.FALSE, f"evaluate gives {expected[at]!r} at {at}, run gives {found[at]!r}")


def running(rng: np.random.Generator) -> RunningCase:
    """Random networks of every magnitude."""
    network = some_network(rng, EVERY if rng.random() < 0.7 else ("huge", "dyadic"), str(rng.choice(["f", "a", "fa"])))
    network = _of_fixed_shape(network)
    x = np.stack([draw(rng, str(rng.choice(EVERY)), (network.tokens, network.width)) for _ in range(12)])
    layers, engine = list(Layers)[rng.integers(2)], list(Engine)[int(rng.random() < 0.7)]
    return RunningCase(f"{layers.name}, {engine.name}, {network.shape}", network, x, layers, engine)


def _of_fixed_shape(network: Network) -> Network:
    """Padded to four hidden units: a compiled engine is made for each hidden size, which takes seconds."""
    hidden = network.shape.hidden_size
    axes = {"W_1": 1, "b_1": 1, "W_2": 2}
    stages = []
    for stage in network.stages:
        if stage.kind == "feed_forward":
            padded = {}
            for name, axis in axes.items():
                array = getattr(stage, name)
                padded[name] = np.pad(array, [(0, 4 - hidden) if k == axis else (0, 0) for k in range(array.ndim)])
            stage = replace(stage, **padded)
        stages.append(stage)
    shape = BlockShape(network.shape.heads, network.shape.head_size, 4)
    return replace(network, shape=shape, stages=tuple(stages))
