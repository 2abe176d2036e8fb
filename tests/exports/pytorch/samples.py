"""Networks of every kind, and inputs on the cells of a table."""

import dataclasses

import numpy as np

import anyformer as af
from anyformer.networks import AttentionStage, Entmax, Network, Softmax, Sparsemax
from anyformer.patterns import Multihead, Ring, Sequential, SlidingWindow, Strided
from tests.random_networks import embedded_network, random_network

MAPS = [Softmax(), Sparsemax(), Entmax(1.5)]
FAMILIES = [None, SlidingWindow(1), Multihead((Ring(), SlidingWindow(2))), Sequential((Ring(), Strided(2)))]


def networks() -> dict[str, Network]:
    """With and without positions, an embedding, a pattern; every map and every kind of pattern."""
    found = {"plain": random_network(1, tokens=5, width=3), "positions": random_network(2, 5, 3, positions=True)}
    found["embedded"] = embedded_network(3)
    found["embedded sparse"] = embedded_network(4, tokens=7, pattern=Multihead((Ring(), SlidingWindow(2))).at(7))
    for family in FAMILIES:
        for rho in MAPS:
            found[f"{family} {rho}"] = sparse_network(family, rho)
    return {name: _calm(network) for name, network in found.items()}


def sparse_network(family, rho, tokens: int = 6, width: int = 3) -> Network:
    network = random_network(5, tokens, width, positions=True)
    stages = tuple(
        dataclasses.replace(stage, probability_map=rho) if isinstance(stage, AttentionStage) else stage
        for stage in (*network.stages, *network.stages[1:2])
    )
    return dataclasses.replace(network, stages=stages, pattern=None if family is None else family.at(tokens))


def _calm(network: Network) -> Network:
    """With smaller weights: layers that amplify what comes in amplify rounding too, and the bound on it even more."""
    stages = tuple(
        dataclasses.replace(stage, **{name: getattr(stage, name) / 4 for name in stage.AXES})
        for stage in network.stages
    )
    return dataclasses.replace(network, stages=stages)


def on_cells(model: af.Model, count: int = 200) -> np.ndarray:
    """Points of random cells of a table: their centres, and as many anywhere in them."""
    rng, grid = np.random.default_rng(0), model.certificate.grid
    choices = [rng.integers(0, size, (count, model.network.tokens)) for size in grid.cells_per_axis]
    ends = [(low[choice], high[choice]) for low, high, choice in zip(grid.lows, grid.highs, choices, strict=True)]
    centres = np.stack([(low + high) / 2 for low, high in ends], axis=-1)
    anywhere = np.stack([low + rng.random(low.shape) * (high - low) for low, high in ends], axis=-1)
    return np.concatenate([centres, anywhere])


def inputs(network: Network, count: int = 4) -> np.ndarray:
    return np.random.default_rng(9).normal(size=(count, network.tokens, network.width))
