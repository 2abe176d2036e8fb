import itertools
import json
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad

from anyformer.errors import TargetError
from anyformer.targets import EntrywiseLipschitz, Lipschitz, Tightest, modulus_from_json, same_coordinate
from anyformer.targets.moduli import ROUNDING

EXPONENTS = [1, 2, 4.5]
TOKENS, WIDTH = 3, 2
BOUNDS = np.random.default_rng(5).random((TOKENS, WIDTH, TOKENS, WIDTH))
HALF_WIDTHS = np.random.default_rng(6).random((4, 5, TOKENS, WIDTH))
MODULI = [
    Lipschitz(1.75),
    EntrywiseLipschitz(BOUNDS),
    Tightest((Lipschitz(1.5), EntrywiseLipschitz(BOUNDS))),
]


def test_largest_deviation_of_lipschitz_is_the_constant_times_the_largest_half_width():
    deviations = Lipschitz(1.75).largest_deviation(HALF_WIDTHS)
    assert deviations.shape == HALF_WIDTHS.shape
    for box in np.ndindex(4, 5):
        assert (deviations[box] == 1.75 * HALF_WIDTHS[box].max()).all()


def test_largest_deviation_of_entrywise_is_the_sum_over_input_entries():
    deviations = EntrywiseLipschitz(BOUNDS).largest_deviation(HALF_WIDTHS)
    assert deviations.shape == HALF_WIDTHS.shape
    for box in np.ndindex(4, 5):
        for entry in np.ndindex(TOKENS, WIDTH):
            assert deviations[box][entry] == pytest.approx((BOUNDS[entry] * HALF_WIDTHS[box]).sum(), rel=ROUNDING)


@pytest.mark.parametrize("p", EXPONENTS)
def test_tightest_is_the_smaller_one_entry_by_entry(p):
    one, other, both = Lipschitz(1.5), EntrywiseLipschitz(BOUNDS), MODULI[2]
    largest = both.largest_deviation(HALF_WIDTHS)
    assert (largest == np.minimum(one.largest_deviation(HALF_WIDTHS), other.largest_deviation(HALF_WIDTHS))).all()
    assert (largest < one.largest_deviation(HALF_WIDTHS)).any()
    assert (largest < other.largest_deviation(HALF_WIDTHS)).any()
    mean = both.mean_deviation(HALF_WIDTHS, p)
    assert (mean == np.minimum(one.mean_deviation(HALF_WIDTHS, p), other.mean_deviation(HALF_WIDTHS, p))).all()


def _mean_power_of_largest(half_widths, p):
    """E (max_b h_b |t_b|)^p = ∫ p s^{p−1} P(max > s) ds, integrated between the places where P has kinks."""
    h = half_widths.ravel()
    kinks = [0.0, *sorted(h)]
    survival = lambda s: p * s ** (p - 1) * (1 - np.minimum(1, s / h).prod())  # noqa: E731
    return sum(quad(survival, a, b)[0] for a, b in itertools.pairwise(kinks))


@pytest.mark.parametrize("p", EXPONENTS)
def test_mean_deviation_of_lipschitz_bounds_the_steepest_function_and_is_attained_on_cubes(p):
    # The quadrature's own error estimates stay below 1e-8.
    for half_widths in HALF_WIDTHS.reshape(-1, TOKENS, WIDTH):
        bound = Lipschitz(1.75).mean_deviation(half_widths, p)
        assert np.ptp(bound) == 0
        assert 1.75 * _mean_power_of_largest(half_widths, p) ** (1 / p) <= bound[0, 0] + 1e-8
    cube = np.full((TOKENS, WIDTH), 0.3)
    attained = 1.75 * _mean_power_of_largest(cube, p) ** (1 / p)
    assert Lipschitz(1.75).mean_deviation(cube, p) == pytest.approx(attained, abs=1e-8)


def _midpoints(half_widths, per_axis):
    """Midpoints of a grid of the box: |x − centre|, shape (points, tokens, width)."""
    offsets = np.abs((np.arange(per_axis) + 0.5) / per_axis * 2 - 1)
    axes = np.meshgrid(*[offsets] * half_widths.size, indexing="ij")
    return np.stack(axes, axis=-1).reshape(-1, *half_widths.shape) * half_widths


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize(
    "bounds",
    [np.random.default_rng(7).random((3, 1, 3, 1)), np.eye(3)[:, None, :, None], np.zeros((3, 1, 3, 1))],
    ids=["dense", "one entry each", "constant"],
)
def test_mean_deviation_bounds_the_integral_over_a_grid(bounds, p):
    half_widths, per_axis = np.array([[0.5], [0.2], [0.9]]), 48
    distances = _midpoints(half_widths, per_axis)
    moduli = [EntrywiseLipschitz(bounds), Lipschitz(bounds.sum(axis=(2, 3)).max())]
    steepest = [np.einsum("jikl,bkl->bji", bounds, distances), moduli[1].constant * distances.max(axis=(1, 2))]
    for modulus, values in zip(moduli, steepest, strict=True):
        largest = modulus.largest_deviation(half_widths)
        # Within a grid cell |f| moves by at most largest / per_axis, and |f|^p by p largest^{p−1} times that.
        error = p * largest**p / per_axis
        integral = (values**p).mean(axis=0)
        assert (integral <= modulus.mean_deviation(half_widths, p) ** p + error).all()
    if (bounds > 0).sum() == 3:  # with one term Minkowski's inequality is an equality
        attained = (steepest[0] ** p).mean(axis=0)
        assert (np.abs(attained - moduli[0].mean_deviation(half_widths, p) ** p) <= p * largest**p / per_axis).all()


@settings(max_examples=50)
@given(
    bounds=arrays(np.float64, (2, 3, 2, 3), elements=st.floats(1e-6, 1e6)),
    half_widths=arrays(np.float64, (2, 3), elements=st.floats(1e-6, 1e6)),
)
def test_rounding_of_sums_is_as_documented(bounds, half_widths):
    deviations = EntrywiseLipschitz(bounds).largest_deviation(half_widths)
    for entry in np.ndindex(2, 3):
        exact = sum(Fraction(bounds[entry][b]) * Fraction(half_widths[b]) for b in np.ndindex(2, 3))
        assert abs(Fraction(deviations[entry]) - exact) <= Fraction(ROUNDING) * exact


@given(p=st.floats(1, 100), constant=st.floats(1e-6, 1e6), half_width=st.floats(1e-6, 1e6))
def test_rounding_of_means_is_as_documented(p, constant, half_width):
    half_widths = np.full((2, 3), half_width)
    entrywise = EntrywiseLipschitz(np.einsum("jk,il->jikl", np.eye(2), np.eye(3)) * constant)
    with localcontext(prec=50):
        exponent = 1 / Decimal(p)
        for modulus, base in [(Lipschitz(constant), 6 / (6 + Decimal(p))), (entrywise, 1 / (1 + Decimal(p)))]:
            exact = Decimal(constant) * Decimal(half_width) * base**exponent
            got = Decimal(float(modulus.mean_deviation(half_widths, p)[1, 2]))
            assert abs(got - exact) <= Decimal(ROUNDING) * exact


def test_same_coordinate_puts_weights_between_tokens_and_keeps_coordinates_apart():
    weights = np.arange(9.0).reshape(3, 3)
    bounds = same_coordinate(weights, width=2).bounds
    for j, i, k, m in np.ndindex(3, 2, 3, 2):
        assert bounds[j, i, k, m] == (weights[j, k] if i == m else 0)


def test_entrywise_bounds_are_a_read_only_copy():
    bounds = BOUNDS.copy()
    modulus = EntrywiseLipschitz(bounds)
    bounds[:] = 0
    assert (modulus.bounds == BOUNDS).all()
    with pytest.raises(ValueError, match="read-only"):
        modulus.bounds[0, 0, 0, 0] = 1


def test_equal_moduli_are_equal_and_hash_alike():
    assert EntrywiseLipschitz(BOUNDS) == EntrywiseLipschitz(BOUNDS.copy())
    assert hash(EntrywiseLipschitz(BOUNDS)) == hash(EntrywiseLipschitz(BOUNDS.copy()))
    assert EntrywiseLipschitz(BOUNDS) != EntrywiseLipschitz(BOUNDS / 2)
    assert Lipschitz(2) == Lipschitz(2.0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Lipschitz(-1.0), "Lipschitz constant must be finite and not negative; got -1.0"),
        (lambda: Lipschitz(math.nan), "must be finite"),
        (lambda: Lipschitz([1.0, 2.0]), "must be one number.*EntrywiseLipschitz"),
        (lambda: Lipschitz("steep"), "must be numbers; got 'steep'"),
        (lambda: EntrywiseLipschitz(-BOUNDS), "not negative"),
        (lambda: EntrywiseLipschitz(np.ones((3, 2, 2, 3))), r"\(tokens, width, tokens, width\).*got \(3, 2, 2, 3\)"),
        (lambda: EntrywiseLipschitz(np.ones((6, 6))), r"got \(6, 6\)"),
        (lambda: Tightest(()), r"at least one modulus; got \(\)"),
        (lambda: Tightest((1.0,)), "at least one modulus"),
    ],
)
def test_faulty_moduli_are_refused(build, message):
    with pytest.raises(TargetError, match=message):
        build()


@pytest.mark.parametrize("modulus", MODULI)
@pytest.mark.parametrize(
    ("half_widths", "message"),
    [
        (np.ones(3), r"shape \(..., tokens, width\).*got shape \(3,\)"),
        (-np.ones((TOKENS, WIDTH)), "not negative"),
        (np.full((TOKENS, WIDTH), np.nan), "finite"),
    ],
)
def test_faulty_half_widths_are_refused(modulus, half_widths, message):
    with pytest.raises(TargetError, match=message):
        modulus.largest_deviation(half_widths)


@pytest.mark.parametrize("p", [0.5, math.inf, math.nan])
@pytest.mark.parametrize("modulus", MODULI)
def test_faulty_exponents_are_refused(modulus, p):
    with pytest.raises(TargetError, match="p must be finite and at least 1"):
        modulus.mean_deviation(np.ones((TOKENS, WIDTH)), p)


def test_entrywise_bounds_of_another_shape_are_refused():
    with pytest.raises(TargetError, match=r"\(tokens, width\) = \(3, 2\); got \(2, 3\)"):
        EntrywiseLipschitz(BOUNDS).largest_deviation(np.ones((2, 3)))


@pytest.mark.parametrize("modulus", [*MODULI, Tightest((MODULI[2], Lipschitz(0.1)))])
def test_json_round_trip_is_exact(modulus):
    assert modulus_from_json(json.loads(json.dumps(modulus.to_json()))) == modulus


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, r"a modulus must be .* one of lipschitz, entrywise, tightest; got None"),
        ({"kind": "lipschitz"}, r"keys \['constant', 'kind'\]; got \['kind'\]"),
        ({"kind": "lipschitz", "constant": 2.0}, r"float.hex\(\).*got 2.0"),
        ({"kind": "lipschitz", "constant": "-0x1p0"}, "not negative"),
        ({"kind": "entrywise", "bounds": [["0x1p0"], "0x1p0"]}, "must be numbers"),
        ({"kind": "tightest", "moduli": "lipschitz"}, "must be a list; got 'lipschitz'"),
        ({"kind": "tightest", "moduli": []}, "at least one modulus"),
    ],
)
def test_faulty_json_is_refused(data, message):
    with pytest.raises(TargetError, match=message):
        modulus_from_json(data)
