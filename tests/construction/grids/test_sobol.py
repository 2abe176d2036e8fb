"""Our points are SciPy's, to the bit."""

import numpy as np
import pytest
from scipy.stats import qmc

from anyformer.construction.grids.sobol import DIRECTIONS, SEED, sobol_points


@pytest.mark.parametrize("samples", [1, 2, 1024, 4096])
@pytest.mark.parametrize("dimensions", [1, 2, 3, 8, 17, len(DIRECTIONS) + 1, len(DIRECTIONS) + 2])
def test_the_points_are_those_of_scipy(dimensions, samples):
    theirs = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(SEED)).random(samples)
    assert np.array_equal(sobol_points(dimensions, samples), theirs)


def test_points_are_shared_and_cannot_be_changed():
    assert sobol_points(3, 64) is sobol_points(3, 64)
    with pytest.raises(ValueError, match="read-only"):
        sobol_points(3, 64)[0, 0] = 1.0
