"""Every supported NumPy function: right shape, members inside, smaller boxes inside larger ones, tight on points."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from anyformer.intervals import IntervalArray
from anyformer.intervals.rules.rounding import ELEMENTARY_ULPS
from tests.intervals.samples import assert_holds_members

RNG = np.random.default_rng(20)
SHAPE = (2, 3, 4, 5)
PLAIN = RNG.normal(size=SHAPE)
ROW = RNG.normal(size=5)
MATRIX = RNG.normal(size=(5, 6))
BATCH = RNG.normal(size=(2, 3, 5, 7))
MASK = RNG.uniform(size=SHAPE) > 0.5
PERMUTED = RNG.permuted(np.broadcast_to(np.arange(5), SHAPE), axis=-1)

ELEMENTWISE = {
    "add": lambda x: x + PLAIN,
    "add number": lambda x: 1 + x + 2.5 + np.float64(0.1) + np.int64(3),
    "add itself": lambda x: x + x,
    "subtract": lambda x: 1.5 - x - ROW,
    "multiply": lambda x: x * PLAIN,
    "multiply from the left": lambda x: PLAIN * x * -2 * np.float32(0.3),
    "multiply itself": lambda x: x * x,
    "divide": lambda x: x / PLAIN,
    "divide by it": lambda x: PLAIN / (x * x + 0.5),
    "negative": lambda x: -x,
    "positive": lambda x: +x,
    "absolute": lambda x: abs(x) + np.fabs(x) + np.abs(x),
    "square": np.square,
    "square operator": lambda x: x**2,
    "cube": lambda x: x**3,
    "powers": lambda x: x ** np.arange(5),
    "power of two": lambda x: 2**x,
    "negative powers": lambda x: np.power(x, -2) + np.float_power(x, -3),
    "real power": lambda x: np.abs(x) ** 1.7,
    "sqrt": lambda x: np.sqrt(np.abs(x)),
    "cbrt": np.cbrt,
    "reciprocal": lambda x: np.reciprocal(np.exp(x)),
    "exp": lambda x: np.exp(x) + np.expm1(x) + np.exp2(x),
    "log": lambda x: np.log(np.abs(x)) + np.log2(np.abs(x)) + np.log10(np.abs(x)) + np.log1p(np.abs(x)),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "hyperbolic": lambda x: np.tanh(x) + np.sinh(x) + np.cosh(x) + np.arcsinh(x),
    "inverse": lambda x: (
        np.arctan(x) + np.arcsin(x / 9) + np.arccos(x / 9) + np.arctanh(x / 9) + np.arccosh(abs(x) + 1)
    ),
    "maximum": lambda x: np.maximum(x, PLAIN) + np.fmax(x, 0),
    "minimum": lambda x: np.minimum(x, ROW) + np.fmin(0.3, x),
    "clip": lambda x: np.clip(x, -0.5, 0.5) + x.clip(0, None) + np.clip(x, None, ROW),
    "sign": np.sign,
    "steps": lambda x: np.floor(x) + np.ceil(x) + np.rint(x) + np.trunc(x) + np.round(x),
    "heaviside": lambda x: np.heaviside(x, 0.5),
    "hypot": lambda x: np.hypot(x, PLAIN) + np.hypot(3.0, x) + np.hypot(x, x),
    "arctan2": lambda x: np.arctan2(x, PLAIN),
    "arctan2 from the left": lambda x: np.arctan2(PLAIN, x),
    "arctan2 of intervals": lambda x: np.arctan2(x, x[..., ::-1]),
    "copysign": lambda x: np.copysign(PLAIN, x),
    "copysign of known signs": lambda x: np.copysign(x, PLAIN) + np.copysign(x, -0.0),
    "logaddexp": lambda x: np.logaddexp(x, PLAIN) + np.logaddexp2(30 * x, x),
    "remainder": lambda x: x % 0.75,
    "remainder by a negative number": lambda x: np.remainder(PLAIN, -abs(x) - 0.25) + np.mod(x, -2),
    "floor division": lambda x: x // 0.5 + PLAIN // (1 + np.square(x)),
    "fmod": lambda x: np.fmod(x, 0.75) + np.fmod(x, ROW),
    "divmod": lambda x: divmod(x, 0.5)[0] + np.divmod(x, 1.5)[1],
    "round to decimals": lambda x: np.round(x, 2) + x.round(decimals=1) + np.around(100 * x, -1),
    "sinc": lambda x: np.sinc(x) + np.sinc(5 * x),
    "interp": lambda x: np.interp(x, [-1.5, -0.5, 0.25, 1.0], [0.5, -2.0, 3.0, 1.0]),
    "interp with outer values": lambda x: np.interp(x, [-0.5, 0.5], [1.0, 2.0], left=-3.0, right=7.0),
    "interp of unknown values": lambda x: np.interp(x, np.arange(5) / 2, x[0, 0, 0], right=x[0, 0, 0, 1]),
    "interp at known points": lambda x: np.interp(PLAIN, [-1, 0, 2, 3, 7], x[0, 0, 0]),
    "polyval": lambda x: np.polyval([1.0, -2.0, 0.5], x),
    "polyval of integers": lambda x: np.polyval(np.array([3, 0, 1]), x) + np.polyval([2], x),
    "polyval of unknown coefficients": lambda x: np.polyval(x[0, 0, 0], PLAIN) + np.polyval(list(x[0, 0, 0]), x),
    "piecewise": lambda x: np.piecewise(x, [x < -0.3, x > 0.4], [-1.5, 2, 0.25]),
    "piecewise of known pieces": lambda x: np.piecewise(
        x, [PLAIN > 0, MASK], [np.tanh, lambda v: v - v.mean(), lambda v: v * 2]
    ),
    "piecewise without a last piece": lambda x: np.piecewise(x, [MASK, x > 9.0], [lambda v, k: k * v, 1.0], 3.0),
    "where": lambda x: np.where(x > 0.1, x, 2 * x),
    "where, plain branches": lambda x: np.where(x > PLAIN, PLAIN, 1),
    "where, plain mask": lambda x: np.where(MASK, x, 0.0),
    "where, logic": lambda x: np.where((x > 0) & (x <= 1) | ~(x >= -1) ^ (x != ROW), x, -x),
    "where, logical functions": lambda x: np.where(np.logical_and(x < 1, np.logical_not(x == 0)), x, 3.0),
    "select": lambda x: np.select([x < -1, x < 1], [-x, x * x], default=2.0),
    "mask as number": lambda x: (x > 0) * x + (x < 0.5) / 2 + 3.0 * (x > PLAIN),
    "mask converted": lambda x: (x > 0).astype(float) * 0.1,
    "masks added": lambda x: np.where((x > 0) + (x < -1), x, 0),
}

REDUCING = {
    "sum": lambda x: np.sum(x, axis=1),
    "sum of all": lambda x: np.sum(x),
    "sum over two axes": lambda x: x.sum(axis=(0, -1), keepdims=True),
    "mean": lambda x: np.mean(x, axis=2, keepdims=True),
    "mean of all": lambda x: x.mean(),
    "max": lambda x: np.max(x, axis=1) + np.amax(x, 1) + x.max(1),
    "min": lambda x: np.min(x, axis=(1, 2), keepdims=True) * np.amin(x, axis=0) + x.min(axis=-1, keepdims=True),
    "ptp": lambda x: np.ptp(x, axis=1),
    "prod": lambda x: np.prod(x, axis=1),
    "prod over two axes": lambda x: x.prod(axis=(1, 3), keepdims=True),
    "var": lambda x: np.var(x, axis=1),
    "var with ddof": lambda x: x.var(axis=-1, ddof=1, keepdims=True),
    "std": lambda x: np.std(x, axis=(1, 2)) + x.std(1).std(1),
    "median": lambda x: np.median(x, axis=2),
    "median of an odd number": lambda x: np.median(x, axis=1, keepdims=True),
    "median of all": lambda x: np.median(x),
    "median over two axes": lambda x: np.median(x, axis=(0, -2), keepdims=True) + np.nanmedian(x, axis=(0, 2))[0],
    "average": lambda x: np.average(x, axis=1) + np.average(x, axis=1, weights=[1.0, 2.0, -0.5]),
    "average over two axes": lambda x: np.average(x, axis=(3, 1), weights=np.abs(PLAIN[0, :, 0].T), keepdims=True),
    "average of all": lambda x: np.average(x, weights=np.abs(PLAIN)),
    "average with unknown weights": lambda x: np.average(x, axis=2, weights=np.exp(x)),
    "average of known entries": lambda x: np.average(PLAIN, weights=np.square(x) + 1.0, axis=-1),
    "nan functions": lambda x: np.nansum(x, axis=1) + np.nanmean(x, axis=1) + np.nanmax(x, 1) * np.nanmin(x, axis=1),
    "nan moments": lambda x: np.nanvar(x, axis=1, ddof=1, keepdims=True) + np.nanstd(x, axis=(1,), keepdims=True),
    "nan products": lambda x: np.nanprod(x, axis=1),
    "quantile": lambda x: np.quantile(x, 0.3, axis=2),
    "quantiles": lambda x: np.quantile(x, [0.0, 0.1, 0.5, 0.77, 1.0], axis=(1, -1), keepdims=True),
    "percentile of all": lambda x: np.percentile(x, 95) + np.nanpercentile(x, np.float64(5)),
    "percentiles": lambda x: np.percentile(x, np.array([[10, 20], [30, 99]]), axis=0)[1],
    "percentile, lower": lambda x: np.percentile(x, 40, axis=3, method="lower"),
    "percentile, higher": lambda x: np.percentile(x, 40, axis=3, method="higher"),
    "percentile, nearest": lambda x: np.nanquantile(x, 0.4, axis=3, method="nearest"),
    "percentile, midpoint": lambda x: np.quantile(x, 0.4, axis=3, method="midpoint"),
    "quantile, Weibull": lambda x: np.quantile(x, 0.4, axis=3, method="weibull"),
    "quantile, median unbiased": lambda x: np.quantile(x, [0.01, 0.45], axis=3, method="median_unbiased"),
    "quantile, inverse": lambda x: np.quantile(x, [0.01, 0.4], axis=1, method="inverted_cdf"),
    "quantile, averaged": lambda x: np.quantile(x, [0.5, 0.3, 0.25], axis=2, method="averaged_inverted_cdf"),
    "quantile, closest": lambda x: np.quantile(x, 0.37, axis=2, method="closest_observation"),
    "log of a sum": lambda x: np.logaddexp.reduce(x, axis=1) + np.logaddexp2.reduce(x, 1),
    "log of a sum, axes kept": lambda x: np.logaddexp.reduce(40 * x, axis=-1, keepdims=True),
    "norm": lambda x: np.linalg.norm(x, axis=-1),
    "norm of all": lambda x: np.linalg.norm(x),
    "norm over two axes": lambda x: np.linalg.norm(x, axis=(1, 2)),
    "norm 1": lambda x: np.linalg.norm(x, 1, axis=1, keepdims=True),
    "norm 2": lambda x: np.linalg.norm(x, ord=2, axis=1),
    "norm inf": lambda x: np.linalg.norm(x, np.inf, axis=2) + np.linalg.norm(x, -np.inf, axis=2),
    "reduce": lambda x: np.add.reduce(x) + np.maximum.reduce(x, axis=0) * np.minimum.reduce(x, 0),
    "reduce a product": lambda x: np.multiply.reduce(x, axis=-1, keepdims=True),
    "count": lambda x: np.sum((x > 0).astype(float), axis=1) + (x > 0).astype(float).mean(axis=1),
    "any and all": lambda x: np.where(np.any(x > 1, axis=1) & (x < 2).all(axis=1), 1.0, 2.0),
}

ALONG = {
    "cumsum": lambda x: np.cumsum(x, axis=1) + x.cumsum(1),
    "cumsum of all": lambda x: np.cumsum(x),
    "cumprod": lambda x: np.cumprod(x, axis=2),
    "accumulate": lambda x: np.maximum.accumulate(x, axis=1) + np.minimum.accumulate(x),
    "accumulate sums": lambda x: np.add.accumulate(x, axis=1) + np.multiply.accumulate(x, axis=1),
    "sort": lambda x: np.sort(x) + np.sort(x, axis=1, kind="stable"),
    "sort of all": lambda x: np.sort(x, axis=None),
    "cumprod method": lambda x: x.cumprod(axis=1) + np.nancumprod(x, axis=1) + np.nancumsum(x, axis=1),
    "cumprod of all": lambda x: x[0, 0].cumprod(),
    "partition": lambda x: np.partition(x, 2) + np.partition(x, (0, -1), axis=-1, kind="introselect"),
    "partition along": lambda x: np.partition(x, [0, 1, 2], axis=1),
    "partition of all": lambda x: np.partition(x, 31, axis=None),
    "diff": lambda x: np.diff(x, axis=1),
    "diff with a beginning": lambda x: np.diff(x, axis=1, prepend=0.5, append=x[:, :1]),
    "diff with ends": lambda x: np.diff(x, 2, prepend=PLAIN[..., :2], append=x[0, 0, 0, 0]),
    "no diff with ends": lambda x: np.diff(x, 0, prepend=1),
    "second diff": lambda x: np.diff(x, 2),
    "outer": lambda x: np.subtract.outer(ROW, x[0, 0, 0]) + np.multiply.outer(x[0, 0, 0], x[0, 0, 1]),
}

CONTRACTING = {
    "matmul": lambda x: x @ MATRIX,
    "matmul from the left": lambda x: MATRIX.T @ x.swapaxes(-1, -2),
    "matmul of batches": lambda x: x @ BATCH,
    "matmul of positive weights": lambda x: x @ np.abs(MATRIX),
    "matmul with a vector": lambda x: x @ ROW,
    "vector times matrix": lambda x: ROW @ x.swapaxes(-1, -2),
    "matmul with itself": lambda x: x @ x.swapaxes(-1, -2),
    "matmul of many terms": lambda x: x.reshape(2, 1, 60) @ x.reshape(2, 60, 1),
    "positive weights": lambda x: np.exp(x) @ x.swapaxes(-1, -2),
    "negative weights": lambda x: x @ -np.exp(x).swapaxes(-1, -2),
    "dot": lambda x: np.dot(x, MATRIX) + x.dot(MATRIX),
    "dot of many axes": lambda x: np.dot(x, BATCH),
    "dot with a number": lambda x: np.dot(x, 3.0),
    "dot of vectors": lambda x: np.dot(x[0, 0, 0], x[1, 2, 3]),
    "inner": lambda x: np.inner(x, MATRIX.T) + np.inner(x, x[0, 0, 0])[..., None],
    "inner of many axes": lambda x: np.inner(x, BATCH.swapaxes(-1, -2)),
    "inner with a number": lambda x: np.inner(x, 2.5) + np.inner(x[0, 0, 0], ROW),
    "outer product": lambda x: np.outer(x[0], ROW),
    "outer product of intervals": lambda x: np.outer(x[0, 0, 0], x[1, 0]),
    "convolve": lambda x: np.convolve(x[0, 0, 0], ROW[:3]),
    "convolve, same": lambda x: (
        np.convolve(ROW[:2], x[0, 0].ravel(), "same") + np.convolve(x[0, 1].ravel(), ROW[:4], "same")
    ),
    "convolve, valid": lambda x: np.convolve(x[0, 0].ravel(), x[1, 1, 1], mode="valid"),
    "convolve with a number": lambda x: np.convolve(x[0, 0, 0], 2.0),
    "tensordot": lambda x: np.tensordot(x, BATCH, axes=([0, 3], [0, 2])),
    "tensordot of last axes": lambda x: np.tensordot(x, MATRIX, 1),
    "einsum, explicit": lambda x: np.einsum("abik,abkj->abij", x, BATCH),
    "einsum, implicit": lambda x: np.einsum("abik,kj", x, MATRIX),
    "einsum, ellipsis": lambda x: np.einsum("...k,kj->...j", x, MATRIX, optimize=True),
    "einsum, implied ellipsis": lambda x: np.einsum("...k, k", x, ROW),
    "einsum of two intervals": lambda x: np.einsum("abik,abjk->baij", x, x),
    "einsum without sums": lambda x: np.einsum("abik,k->abik", x, x[0, 0, 0]),
    "einsum of one": lambda x: np.einsum("abik->ki", x),
    "einsum that transposes": lambda x: np.einsum("abik->kiba", x),
    "einsum of a diagonal": lambda x: np.einsum("abii->ab", x[..., :4]),
    "einsum of two diagonals": lambda x: np.einsum("ii,ij->i", x[0, 0, :, :4], x[0, 1]),
}

MOVING = {
    "reshape": lambda x: np.reshape(x, (6, 20)) + x.reshape(6, -1) + x.reshape((6, 20)),
    "ravel": lambda x: x.ravel() + np.ravel(x) + x.flatten(),
    "transpose": lambda x: x.T + np.transpose(x) + x.transpose() + x.transpose(3, 2, 1, 0) + x.transpose((3, 2, 1, 0)),
    "swapaxes": lambda x: np.swapaxes(x, 1, 2) + np.moveaxis(x, 1, 2),
    "expand and squeeze": lambda x: np.squeeze(np.expand_dims(x, 2), 2) + np.expand_dims(x, 0).squeeze(),
    "flip": lambda x: np.flip(x, axis=1) + np.roll(x, 2, axis=2) + x[:, ::-1],
    "take": lambda x: np.take(x, [2, 0], axis=1) + x.take([1, 1], axis=1),
    "take along axis": lambda x: np.take_along_axis(x, PERMUTED, axis=-1),
    "tile": lambda x: np.tile(x, (1, 2, 1, 3)) + np.repeat(np.repeat(x, 2, axis=1), 3, axis=3),
    "repeat": lambda x: x.repeat(2, axis=0),
    "stack": lambda x: np.stack([x, PLAIN, x * 2], axis=1),
    "concatenate": lambda x: np.concatenate([x, PLAIN, np.zeros((2, 3, 4, 1))], axis=-1),
    "stacks": lambda x: np.vstack([x, x]) + np.hstack([x, PLAIN]).reshape(4, 3, 4, 5) + np.append(x, x, axis=0),
    "column stack": lambda x: np.column_stack([x[0, 0, 0], ROW]),
    "broadcast": lambda x: np.broadcast_to(x[:, :1], SHAPE) + np.broadcast_arrays(x[:1], PLAIN)[0],
    "at least": lambda x: np.atleast_2d(x[0, 0, 0]) + np.atleast_1d(x[0, 0, 0, 0]) + np.atleast_3d(x[0, 0, 0]).sum(),
    "split": lambda x: np.split(x, 2, axis=2)[1] + np.array_split(x, 2, axis=2)[0],
    "pad": lambda x: (
        np.pad(x, ((0, 0), (1, 1), (0, 0), (2, 0))) + np.pad(x, ((0, 0), (2, 0), (0, 0), (1, 1)), mode="edge")
    ),
    "pad with a number": lambda x: np.pad(x, 1, constant_values=7.5),
    "windows": lambda x: sliding_window_view(x, 3, axis=-1).mean(axis=-1),
    "triangles": lambda x: np.triu(x) + np.tril(x, -1),
    "likes": lambda x: np.zeros_like(x) + np.ones_like(x) + np.full_like(x, 2.5),
    "copy": lambda x: x.copy() + np.copy(x) + x.astype(float),
    "index": lambda x: x[1, ..., 0] + x[0, :, :, -1] + x[..., 2][1],
    "index by arrays": lambda x: x[:, [2, 0, 1]][:, :, np.array([3, 1])] + x[:, :, 1:3],
    "index by mask": lambda x: x[MASK],
    "new axes": lambda x: x[:, np.newaxis] - x[:, :, None],
    "shape": lambda x: x.reshape(np.shape(x)[0], np.size(x) // len(x)) + np.ndim(x) + x.ndim + x.size + np.size(x, 1),
    "iteration": lambda x: sum(row * at for at, row in enumerate(x)),
}

FUNCTIONS = {**ELEMENTWISE, **REDUCING, **ALONG, **CONTRACTING, **MOVING}
JUMPING = {"sign", "steps", "heaviside"}
# Where a partition puts the other entries is not said, and sinc has its absolute error near its zeros, too.
NOT_TIGHT = {"partition", "partition along", "partition of all"}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("width", [0.0, 1e-9, 0.05, 1.5])
def test_members_stay_inside(name, width):
    rng = np.random.default_rng(5)
    low = rng.normal(size=SHAPE)
    assert_holds_members(FUNCTIONS[name], low, low + width * rng.uniform(size=SHAPE))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_smaller_boxes_have_smaller_enclosures(name):
    rng = np.random.default_rng(6)
    low = rng.normal(size=SHAPE)
    high = low + rng.uniform(size=SHAPE)
    inner_low, inner_high = low + 0.2 * (high - low), high - 0.3 * (high - low)
    outer, inner = (
        as_ends(FUNCTIONS[name](IntervalArray(low, high))),
        as_ends(FUNCTIONS[name](IntervalArray(inner_low, inner_high))),
    )
    assert (outer[0] <= inner[0]).all()
    assert (inner[1] <= outer[1]).all()


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - JUMPING - NOT_TIGHT))
def test_points_stay_tight(name):
    """A few hundred ulps of the terms involved: 64 terms with (k + 4) ulps each is the longest sum here."""
    x = np.random.default_rng(7).normal(size=SHAPE)
    low, high = as_ends(FUNCTIONS[name](IntervalArray(x, x)))
    value = np.asarray(FUNCTIONS[name](x))
    scale = np.maximum(np.abs(value), np.abs(value).max())
    assert (high - low <= 64 * 68 * 2.0**-52 * scale + 1e-300).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_are_numbers_and_arrays_are_arrays(name):
    x = np.random.default_rng(7).normal(size=SHAPE)
    result, value = FUNCTIONS[name](IntervalArray(x, x)), FUNCTIONS[name](x)
    assert isinstance(result, np.ndarray) == isinstance(value, np.ndarray)
    assert isinstance(result, float) == isinstance(value, float)


def as_ends(result):
    return (result.low, result.high) if hasattr(result, "low") else (np.asarray(result), np.asarray(result))


@pytest.mark.parametrize("name", ["concatenate", "repeat", "take along axis", "index by mask", "pad with a number"])
def test_movement_is_exact(name):
    x = np.random.default_rng(8).normal(size=SHAPE)
    moved = MOVING[name](IntervalArray(x, x))
    assert np.array_equal(moved.low, MOVING[name](x))
    assert np.array_equal(moved.high, MOVING[name](x))


def width_in_ulps(result, value):
    return ((result.high - result.low) / (2.0**-52 * np.abs(value))).max()


@pytest.mark.parametrize("function", [np.exp, np.sin, np.tanh, np.log, np.cbrt, np.arctan, np.expm1])
def test_elementary_functions_are_within_a_few_ulps(function):
    x = np.random.default_rng(9).uniform(0.5, 3, 1000)
    assert width_in_ulps(function(IntervalArray(x, x)), function(x)) <= 2 * ELEMENTARY_ULPS + 2


@pytest.mark.parametrize("function", [np.add, np.subtract, np.multiply, np.divide])
def test_arithmetic_is_within_a_few_ulps(function):
    x, y = np.random.default_rng(10).uniform(0.5, 3, (2, 1000))
    assert width_in_ulps(function(IntervalArray(x, x), y), function(x, y)) <= 4
