"""Floating-point types as values: rounding against NumPy, PyTorch and exact fractions; networks that have a type."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyformer.errors import NetworkError
from anyformer.networks import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Sparsemax, as_dtype, cast, evaluate
from anyformer.networks.digest import digest
from anyformer.networks.fused import fused
from tests.random_networks import embedded_network, random_network

NARROW = [FLOAT32, FLOAT16, BFLOAT16]
floats = st.floats(allow_nan=False, allow_infinity=False)


def some_floats(seed: int) -> np.ndarray:
    """Of every size, ties and ends of each type among them."""
    rng = np.random.default_rng(seed)
    plain = np.ldexp(rng.normal(size=4000), rng.integers(-160, 140, 4000))
    ties = np.concatenate([(1 + (2 * rng.integers(0, 2**7, 200) + 1) * t.unit) for t in NARROW])
    ends = np.array([f * e for t in NARROW for e in (t.largest, t.tiny, t.smallest_normal) for f in (0.5, 1, 1.5, 2)])
    return np.concatenate([plain, ties, -ties, ends, -ends, [0.0, -0.0, math.inf, -math.inf]])


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT16])
def test_rounding_is_numpys(dtype):
    x = some_floats(0)
    with np.errstate(over="ignore"):
        assert np.array_equal(dtype.rounded(x), x.astype(dtype.name).astype(np.float64))


def test_rounding_to_bfloat16_is_pytorchs():
    import torch

    x = FLOAT32.rounded(some_floats(1))  # from float32 both round once
    assert np.array_equal(
        BFLOAT16.rounded(x), torch.from_numpy(x).to(torch.float32).to(torch.bfloat16).double().numpy()
    )


@pytest.mark.parametrize("dtype", [FLOAT64, *NARROW])
def test_the_numbers_of_a_type_are_its_own(dtype):
    assert 1 + 2 * dtype.unit == dtype.rounded(np.array(1 + 2 * dtype.unit))
    assert dtype.rounded(np.array(dtype.tiny)) == dtype.tiny
    assert dtype.rounded(np.array(dtype.largest)) == dtype.largest
    if dtype != FLOAT64:
        assert dtype.rounded(np.array(1 + dtype.unit)) == 1
        assert dtype.rounded(np.array(dtype.tiny / 2)) == 0
        assert dtype.rounded(np.array(dtype.largest * (1 + dtype.unit))) == math.inf
        assert (
            dtype.rounded(np.exp(np.array(-dtype.exp_underflow - 1e-9)))
            == 0
            < dtype.rounded(np.exp(np.array(-dtype.exp_underflow + 1e-6)))
        )


@pytest.mark.parametrize("dtype", NARROW)
@given(a=floats, b=floats, c=floats)
def test_a_fused_product_is_rounded_once(dtype, a, b, c):
    a, b, c = (float(dtype.rounded(np.array(one))) for one in (a, b, c))
    if not all(map(math.isfinite, (a, b, c))):
        return
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    ours = float(fused(a, b, c, dtype))
    assert ours == nearest(exact, dtype)


def nearest(exact: Fraction, dtype) -> float:
    """The nearest number of a type by whole numbers alone, ties to even."""
    if exact == 0:
        return 0.0
    size = abs(exact)
    exponent = max(size.numerator.bit_length() - size.denominator.bit_length(), dtype.least_exponent)
    while size >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while size < Fraction(2) ** exponent and exponent > dtype.least_exponent:
        exponent -= 1
    step = Fraction(2) ** (exponent - dtype.bits + 1)
    value = round(size / step) * step  # Python rounds ties to even
    if value > Fraction(dtype.largest):
        return math.copysign(math.inf, exact)
    return math.copysign(float(value), exact)


@pytest.mark.parametrize("dtype", [FLOAT64, *NARROW])
def test_so_many_roundings_are_no_more_than_said(dtype):
    for count in (0, 1, 7, 40):
        bound = dtype.roundings(count)
        assert bound == math.inf or Fraction(bound) >= (1 + Fraction(dtype.unit)) ** count - 1
    assert dtype.roundings(2**60) == math.inf


@pytest.mark.parametrize("dtype", NARROW)
def test_points_of_a_box_stay_in_it(dtype):
    rng = np.random.default_rng(2)
    low, high = np.array([-0.1, 1 / 3]), np.array([0.7, 0.35])
    x = low + rng.random((5000, 2)) * (high - low)
    inside = dtype.rounded_inside(np.concatenate([x, [low], [high]]), low, high)
    assert dtype.holds(inside)
    assert (inside >= low).all()
    assert (inside <= high).all()


@pytest.mark.parametrize("dtype", NARROW)
def test_ends_rounded_outwards_hold_what_is_rounded(dtype):
    rng = np.random.default_rng(3)
    low = rng.normal(size=500)
    high = low + rng.choice([0.0, 1e-9, 1e-3], size=500)
    below, above = dtype.rounded_outward(low, high)
    assert dtype.holds(np.stack([below, above]))
    for share in (0.0, 0.3, 1.0):
        near = dtype.rounded(low + share * (high - low))
        assert ((below <= near) & (near <= above)).all()
    assert (below <= low).all()
    assert (high <= above).all()


def test_types_are_named_as_users_name_them():
    import torch

    assert as_dtype("float32") is as_dtype(np.float32) is as_dtype(np.dtype("float32")) is as_dtype(torch.float32)
    assert as_dtype(torch.bfloat16) is BFLOAT16
    for wrong in ("float8", "int32", np.int64, None, 32):
        with pytest.raises(NetworkError, match="dtype must be one of float64, float32, float16, bfloat16"):
            as_dtype(wrong)


def test_a_network_of_a_type_has_weights_of_that_type():
    network = random_network(0, tokens=3, width=2, positions=True)
    with pytest.raises(NetworkError, match=re.escape("every weight must be a float32 number; stages.0.W_1 has others")):
        replace(network, dtype=FLOAT32)
    narrow = cast(network, FLOAT32)
    assert all(FLOAT32.holds(array) for array in narrow.arrays().values())
    assert digest(narrow) != digest(network)
    assert digest(replace(narrow, dtype=FLOAT64)) != digest(narrow)
    assert "dtype=float32" in repr(narrow)


def test_other_probability_maps_are_float64s_alone():
    network = cast(random_network(0, tokens=3, width=2), FLOAT32)
    stages = tuple(
        replace(stage, probability_map=Sparsemax()) if stage.kind == "attention" else stage for stage in network.stages
    )
    with pytest.raises(NetworkError, match="a float32 network must have softmax attention"):
        replace(network, stages=stages)


def test_float32_is_what_numpy_computes_in_float32():
    """Sums of one product leave no choice of order, and NumPy has float32 itself."""
    network = cast(embedded_network(5), FLOAT32)
    stage = network.stages[0]
    x = FLOAT32.rounded(np.random.default_rng(0).normal(size=(4, 5, 3)))
    assert network.W_E is not None
    row = int(np.flatnonzero(np.count_nonzero(network.W_E, axis=1) == 1)[0])
    column = int(np.flatnonzero(network.W_E[row])[0])
    from anyformer.networks.evaluate import embed

    assert np.array_equal(
        embed(network, x)[..., row], (x[..., column].astype(np.float32) * np.float32(network.W_E[row, column]))
    )
    assert FLOAT32.holds(evaluate(network, x))
    assert len(stage) == 2


@pytest.mark.parametrize("dtype", NARROW)
def test_the_input_is_rounded_first(dtype):
    network = cast(random_network(1, tokens=4, width=3), dtype)
    x = np.random.default_rng(0).random((3, 4, 3))
    assert np.array_equal(evaluate(network, x), evaluate(network, dtype.rounded(x)))
    assert not np.array_equal(evaluate(network, x), evaluate(cast(network, FLOAT64), x))
