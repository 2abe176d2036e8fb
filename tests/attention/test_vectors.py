"""The exponential of the kernels, against NumPy in longer numbers."""

import numpy as np
import pytest

from anyformer.attention.kernels.instructions import weigh_row
from anyformer.vector_code import compiled, vector_bytes


def exponentials(x: np.ndarray) -> np.ndarray:
    size, lanes = x.itemsize, vector_bytes() // x.itemsize

    @compiled
    def whole(row, top):
        weigh_row(size, lanes, row.ctypes.data, len(row) // lanes, top.ctypes.data)

    row = x.copy()
    whole(row, np.zeros(1, x.dtype))
    return row


@pytest.mark.parametrize(("dtype", "lowest", "smallest"), [("float32", -87.0, -104.0), ("float64", -708.0, -746.0)])
def test_exp_is_within_two_units_in_the_last_place(dtype, lowest, smallest):
    rng = np.random.default_rng(0)
    near_zero = -np.logspace(-12, 0, 2**12)
    x = np.concatenate([np.linspace(lowest, 1.0, 2**16), near_zero, rng.uniform(lowest, 0, 2**16), [0.0] * 16])
    x = x[: len(x) // 16 * 16].astype(dtype)
    wanted = np.exp(x.astype(np.longdouble))
    units = np.abs(exponentials(x) - wanted) / np.spacing(wanted.astype(dtype))
    assert units[x >= lowest].max() <= 2.0


@pytest.mark.parametrize(("dtype", "lowest"), [("float32", -87.0), ("float64", -708.0)])
def test_far_below_it_is_exactly_zero(dtype, lowest):
    x = np.array([-np.inf, -1e30, 2 * lowest, np.nextafter(np.dtype(dtype).type(lowest), -np.inf)] * 4, dtype)
    assert not exponentials(x).any()
    assert exponentials(np.full(16, lowest, dtype)).all()
