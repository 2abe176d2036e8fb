"""Networks of every kind that becomes ONNX, and the cells of tables."""

from dataclasses import dataclass

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates.bounds.cells import cells_between, count_cells
from anyformer.certificates.claims.certificate import Certificate
from anyformer.networks import Network
from anyformer.networks.probability_maps import Entmax, Sparsemax


@dataclass(frozen=True)
class Claimed:
    """A network, and a certificate that may say anything of it."""

    network: Network
    certificate: Certificate


@pytest.fixture(scope="session")
def claimed(compiled_models):
    """Put a certificate beside any network; nothing in it is true."""
    return lambda network: Claimed(network, compiled_models[0].certificate)


@pytest.fixture(scope="session")
def tables(small_models, averaged_models):
    """Tables by every method: with positions, width 2, compact support, sparse patterns and other probability maps."""
    sort, mean = af.targets.sort(tokens=3), af.targets.mean_scale(tokens=2)
    wanted = [
        (sort, 0.5, {"method": "sparse-averaging", "pattern": "ring"}),
        (sort, 0.5, {"method": "sparse-selective-shift", "pattern": "sliding-window"}),
        (sort, 0.5, {"method": "sparse-averaging", "pattern": "ring", "probability_map": Sparsemax()}),
        (sort, 0.5, {"method": "sparse-averaging", "pattern": "ring", "probability_map": Entmax(1.5)}),
        (mean, 0.2, {"method": "averaging", "probability_map": Sparsemax()}),
        (mean, 0.3, {"method": "selective-shift", "probability_map": Entmax(1.3)}),
    ]
    made = [af.construct(target, tolerance, **options) for target, tolerance, options in wanted]
    return [*small_models, *averaged_models, *made]


def inside_every_cell(model: af.Model) -> np.ndarray:
    """The centre of every cell of a table, and a random point of every cell."""
    grid, tokens = model.certificate.grid, model.network.tokens
    batch = cells_between(grid, tokens, False, 0, count_cells(len(grid.columns), tokens, up_to_order=False))
    boxes = grid.boxes(batch.choice)
    shares = np.random.default_rng(0).random(boxes.low.shape)
    return np.concatenate([(boxes.low + boxes.high) / 2, boxes.low + shares * (boxes.high - boxes.low)])
