"""Every refusal says what it refuses and what to write instead."""

import math
import re

import numpy as np
import pytest

from anyformer.errors import AnyformerError
from anyformer.intervals import IntervalArray, IntervalError, enclose
from tests.intervals.samples import intervals

MODULUS = "declare a modulus instead (lipschitz=… / --lipschitz)"
X = IntervalArray(np.full((2, 3, 4), -0.5), np.full((2, 3, 4), 1.5))


def plus_equals(plain):
    plain += X
    return plain


def assign(array, index, value):
    array[index] = value


FAULTS = {
    "fft": (lambda: np.fft.fft(X), "np.fft.fft is not supported on intervals."),
    "inverse": (lambda: np.linalg.inv(X[0]), "np.linalg.inv is not supported on intervals."),
    "ufunc": (lambda: np.nextafter(X, X), "np.nextafter is not supported on intervals."),
    "ufunc of an operator": (lambda: X << 2, "np.left_shift is not supported on intervals."),
    "reduce": (lambda: np.subtract.reduce(X), "np.subtract.reduce is not supported on intervals."),
    "at": (lambda: np.add.at(X, 0, 1), "np.add.at is not supported on intervals."),
    "invert": (lambda: ~X, "np.invert is not supported on intervals."),
    "attribute": (lambda: X.imag, "Intervals have no attribute .imag."),
    "argsort": (lambda: np.argsort(X), "np.argsort is not supported on intervals: which entry it names differs"),
    "argmax": (lambda: np.argmax(X, axis=1), "np.argmax is not supported on intervals"),
    "argmin": (lambda: X.argmin(axis=1), "Use the values instead: np.sort, np.max"),
    "argmax method": (lambda: X.argmax(), "np.argmax is not supported"),
    "argsort method": (lambda: X.argsort(axis=1), "np.argsort is not supported"),
    "nonzero": (lambda: np.nonzero(X), "np.nonzero is not supported on intervals"),
    "sort in place": (lambda: X.sort(axis=1), "Write x = np.sort(x, axis=…)."),
    "asarray": (lambda: np.asarray(X), "An interval cannot become a plain array"),
    "array of intervals": (lambda: np.array([X, X]), "Use np.stack or np.concatenate to join"),
    "assignment into plain": (lambda: assign(np.zeros((2, 3, 4)), 0, X[0]), "np.zeros_like(x) to make an array to be"),
    "float": (lambda: float(X[0, 0, 0]), "An interval is not one number"),
    "int": (lambda: int(X[0, 0, 0]), "An interval is not one number"),
    "math": (lambda: math.exp(X[0, 0, 0]), "np.exp for math.exp"),
    "index": (lambda: [1, 2][X[0, 0, 0]], "An interval cannot be an index"),
    "interval as index": (lambda: X[X], "An interval cannot be an index"),
    "condition as index": (lambda: X[X > 0], "An undecided condition cannot be an index. The condition is undecided"),
    "condition as one of the indices": (lambda: X[0, (X > 0)[0]], "An undecided condition cannot be an index"),
    "condition as index to set": (
        lambda: assign(X.copy(), X > 0, 0.0),
        "Write it with np.where(condition, this, that)",
    ),
    "condition as index of plain": (lambda: np.zeros((2, 3, 4))[X > 0], "An interval cannot become a plain array"),
    "if": (lambda: 1 if X[0, 0, 0] > 0 else 2, "The condition is undecided on this box"),
    "if any": (lambda: 1 if (X > 0).any() else 2, "np.where(condition, this, that), np.maximum or np.minimum"),
    "truth": (lambda: bool(X), "An interval is neither true nor false."),
    "where alone": (lambda: np.where(X > 0), "Give it both branches"),
    "out": (lambda: np.add(X, 1, out=np.zeros((2, 3, 4))), "np.add(…, out=…) is not supported on intervals"),
    "out of a function": (lambda: np.sum(X, axis=0, out=np.zeros((3, 4))), "np.sum(…, out=…) is not supported"),
    "out of a join": (lambda: np.stack([X, X], out=np.zeros((2, 2, 3, 4))), "np.stack(…, out=…) is not supported"),
    "out by position": (lambda: np.take(X, [0], 0, np.zeros((1, 3, 4))), "out=…) is not supported on intervals"),
    "plain += interval": (lambda: plus_equals(np.zeros((2, 3, 4))), "Write y = y + x instead of y += x"),
    "where=": (lambda: np.sum(X, where=np.ones((2, 3, 4), dtype=bool)), "np.sum does not take where on intervals."),
    "where= of a ufunc": (lambda: np.exp(X, where=np.ones(4, dtype=bool)), "np.exp does not take where"),
    "dtype": (lambda: np.sum(X, dtype=np.float32), "np.sum does not take dtype on intervals."),
    "initial": (lambda: np.max(X, initial=3.0), "np.max does not take initial on intervals."),
    "prepended condition": (lambda: np.diff(X, prepend=X[:1] > 0), "np.diff with prepend or append, as it is,"),
    "returned weights": (lambda: np.average(X, returned=True), "Write np.average(…) and np.sum(weights) as two calls."),
    "weights that are conditions": (lambda: np.average(X, weights=X > 0), "np.average with weights, as it is, of cond"),
    "quantile of weights": (
        lambda: np.quantile(X, 0.5, method="inverted_cdf", weights=np.ones((2, 3, 4))),
        "np.quantile does not take weights on intervals.",
    ),
    "unknown percentage": (lambda: np.percentile(X, X[0, 0, 0]), "np.percentile on intervals takes plain numbers q"),
    "unknown position": (lambda: np.partition(X, X[0, 0, 0]), "np.partition on intervals takes plain numbers kth"),
    "partition in place": (lambda: X.partition(1), "Write x = np.partition(x, kth)."),
    "periodic interpolation": (
        lambda: np.interp(X, [0.0, 1.0], [0.0, 1.0], period=2.0),
        "np.interp does not take period on intervals.",
    ),
    "unknown points": (lambda: np.interp(X, X[0, 0], [0.0] * 4), "np.interp on intervals takes plain numbers xp"),
    "points in disorder": (
        lambda: np.interp(X, [0.0, 2.0, 1.0], [0.0, 1.0, 2.0]),
        "np.interp on intervals takes finite numbers xp, each greater than the one before; got [0. 2. 1.].",
    ),
    "values with a jump": (
        lambda: np.interp(X, [0.0, 1e-300], [-1e300, 1e300]),
        "np.interp on intervals takes finite numbers fp with finite slopes between them",
    ),
    "undecided piece": (
        lambda: np.piecewise(X, [X > 0], [np.square, np.abs]),
        "np.piecewise calls its functions on the entries that a condition picks, and on this box a condition is",
    ),
    "array as a piece": (lambda: np.piecewise(X, [X > 0], [np.ones(3), 0.0]), "takes functions and numbers; got an"),
    "numbers as pieces": (lambda: np.piecewise(X, [X], [1.0]), "np.piecewise on intervals takes conditions made of"),
    "pieces of a plain array": (
        lambda: np.piecewise(np.arange(24).reshape(2, 3, 4), [X > 0], [1.5]),
        "np.piecewise on intervals takes an interval array x",
    ),
    "pieces of another shape": (
        lambda: np.piecewise(X, [X[0] > 0], [1.5]),
        "takes conditions of the shape of x, (2, 3, 4); got (3, 4).",
    ),
    "mode of a convolution": (lambda: np.convolve(X[0, 0], X[0, 1], 1), "takes the modes full, same and valid; got 1"),
    "convolution of conditions": (lambda: np.convolve(X[0, 0] > 0, X[0, 1]), "np.convolve of conditions is not supp"),
    "product of conditions by name": (lambda: np.outer(a=X > 0, b=X > 0), "np.outer of conditions is not supported"),
    "polynomial of a condition": (lambda: np.polyval([1.0, 2.0], X > 0), "np.polyval of conditions is not supported"),
    "keyword of pad": (
        lambda: np.pad(X, 1, mode="linear_ramp", end_values=2),
        "np.pad does not take end_values on int",
    ),
    "keyword of einsum": (lambda: np.einsum("abc->a", X, dtype=np.float32), "np.einsum does not take dtype on interva"),
    "keyword of concatenate": (lambda: np.concatenate([X, X], dtype=np.float32), "Intervals are joined with float64"),
    "complex polynomial": (lambda: np.polyval([1j, 2.0], X), "np.polyval would be of complex128"),
    "polynomial as a coefficient": (lambda: np.polyval(np.poly1d([1.0, 2.0]), X), "np.polyval of an np.poly1d"),
    "vectorize": (
        lambda: np.vectorize(abs)(X),
        "np.vectorize does not take intervals: it makes plain arrays of its arguments. Call the function on the whole",
    ),
    "taken by intervals": (lambda: np.take(np.ones(3), X), "np.take does not take intervals"),
    "masked": (lambda: np.ma.array(X), "np.ma.array does not take intervals"),
    "polynomial object": (
        lambda: np.polynomial.Polynomial([1.0, 2.0])(X),
        "np.polynomial.Polynomial does not take intervals: it makes plain arrays of its arguments. Write its formula",
    ),
    "astype": (lambda: X.astype(np.float32), "Intervals are of float64 and stay so; got astype(float32)."),
    "astype of a condition": (lambda: (X > 0).astype(int), "A condition on intervals becomes float64 only"),
    "complex": (lambda: X * 1j, "Intervals mix with float64 numbers and integers only; got complex"),
    "long double": (lambda: X * np.longdouble(1), "Intervals mix with float64 numbers and integers only"),
    "text": (lambda: X + np.array(["a"]), "Intervals mix with float64 numbers and integers only"),
    "NaN": (lambda: X + np.nan, "Intervals do not mix with NaN"),
    "NaN joined": (lambda: np.concatenate([X, np.full((2, 3, 4), np.nan)]), "Intervals do not mix with NaN"),
    "NaN padded": (lambda: np.pad(X, 1, constant_values=np.nan), "Intervals do not mix with NaN"),
    "complex joined": (lambda: np.stack([X, np.full((2, 3, 4), 1j)]), "Intervals are joined with float64 numbers"),
    "exp of a condition": (lambda: np.exp(X > 0), "np.exp of conditions is not supported on intervals."),
    "condition and short floats": (lambda: (X > 0) * np.float32(0.1), "np.multiply would be of float32"),
    "where of short floats": (lambda: np.where(X > 0, np.float32(1), np.float32(2)), "np.where would be of float32"),
    "matrix norm": (lambda: np.linalg.norm(X, 2, axis=(0, 1)), "A matrix norm, np.linalg.norm with ord=2 over 2 axes,"),
    "other norm": (lambda: np.linalg.norm(X, 3, axis=0), "np.linalg.norm with ord=3 is not supported"),
    "einsum of three": (lambda: np.einsum("i,i,i->i", *[X[0, 0]] * 3), "as a chain of np.einsum calls"),
    "einsum by lists": (lambda: np.einsum(X, [0, 1, 2]), "np.einsum with subscripts that are not a string"),
    "pad": (lambda: np.pad(X, 1, mode="mean"), "np.pad on intervals takes the modes constant, edge"),
    "round": (lambda: np.round(X, 23), "np.round to 23 decimals, whose power of ten is no float64, is not supported"),
    "shape of the ends": (lambda: IntervalArray([0.0], [1.0, 2.0]), "one shape; got (1,) and (2,)."),
    "order of the ends": (lambda: IntervalArray([1.0], [0.0]), "Every low end must be at most its high end"),
}


# Steps that have no value on part of a box: nothing is known there, for this reason.
UNDEFINED = {
    "sqrt": (np.sqrt, "The function may leave its domain on this box: np.sqrt needs arguments that are at least 0"),
    "std": (lambda x: x + np.sqrt(x.mean()), "got the interval [-0.5"),
    "log": (lambda x: np.log(x - 2), "np.log needs arguments between 0.0 and inf; got the interval [-2.5"),
    "log1p": (lambda x: np.log1p(x - 3), "np.log1p needs arguments between -1.0 and inf"),
    "arcsin": (lambda x: np.arcsin(x + 2), "np.arcsin needs arguments between -1.0 and 1.0"),
    "arccos": (lambda x: np.arccos(x - 3), "np.arccos needs arguments between -1.0 and 1.0"),
    "real power": (lambda x: x**0.5, "a power needs arguments that are at least 0"),
    "unknown exponent": (lambda x: x**x, "an exponent that is no known integer"),
    "negative power": (lambda x: x**-2, "a negative power needs arguments other than 0; got the interval [-0.5, 1.5]"),
    "division": (lambda x: 1 / x, "division needs arguments other than 0; got the interval [-0.5, 1.5]"),
    "tan": (lambda x: np.tan(2 * x), "np.tan needs arguments away from π/2 + kπ"),
    "sin": (lambda x: np.sin(1e308 * x * 10), "np.sin needs arguments that are finite"),
    "infinities": (lambda x: 1e308 * x * 10 - 1e308 * x * 10, "∞ − ∞, 0·∞ or ∞/∞ may occur"),
    "sum": (lambda x: x + (1e308 * x * 10).sum(), "∞ − ∞, 0·∞ or ∞/∞ may occur"),
    "remainder": (lambda x: 3.0 % x, "np.remainder needs arguments to divide by that are other than 0; got the interv"),
    "floor division": (lambda x: 3.0 // x, "np.floor_divide needs arguments to divide by that are other than 0"),
    "fmod": (lambda x: np.fmod(x, x), "np.fmod needs arguments to divide by that are other than 0"),
    "remainder of infinities": (lambda x: (1e308 * x * 10) % 2.0, "∞ − ∞, 0·∞ or ∞/∞ may occur"),
    "sinc": (lambda x: np.sinc(1e308 * x), "np.sinc needs arguments that are finite"),
    "average": (lambda x: x + np.average(x, axis=-1, weights=x)[..., None], "division needs arguments other than 0"),
    "quantile": (lambda x: x + np.quantile(1e308 * x * 10, 0.3), "∞ − ∞, 0·∞ or ∞/∞ may occur"),
    "quantile of nothing": (lambda x: x + np.quantile(x[..., :0], 0.3), "A quantile of no entries is no number."),
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_why_nothing_is_known(name):
    function, message = UNDEFINED[name]
    result = enclose(function, X.low, X.high)
    assert np.isinf(result.low).all()
    assert np.isinf(result.high).all()
    assert message in result.why_unknown


@pytest.mark.parametrize("name", FAULTS)
def test_message(name):
    fault, message = FAULTS[name]
    with pytest.raises(IntervalError, match=re.escape(message)):
        fault()


@pytest.mark.parametrize("name", ["fft", "ufunc", "attribute", "where=", "complex", "float"])
def test_what_is_unsupported_comes_with_the_way_out(name):
    with pytest.raises(AnyformerError, match=re.escape(MODULUS)):
        FAULTS[name][0]()


def test_too_many_terms(monkeypatch):
    monkeypatch.setattr("anyformer.intervals.rules.reductions.sums.MOST_TERMS", 5)
    monkeypatch.setattr("anyformer.intervals.rules.linear_algebra.contractions.MOST_TERMS", 5)
    ends = intervals(np.random.default_rng(0), 6)
    with pytest.raises(IntervalError, match="at most 5 terms; got 6"):
        IntervalArray(*ends).sum()
    with pytest.raises(IntervalError, match="at most 5 terms; got 6"):
        IntervalArray(*ends) @ np.ones(6)


SCIPY = {
    "gamma": "scipy.special.gamma is not supported on intervals. Rewrite it",
    "softmax": "scipy.special.softmax does not take intervals: it makes plain arrays of its arguments."
    " Write e = np.exp(x - x.max(axis=…, keepdims=True)) and e / e.sum(axis=…, keepdims=True); or, with tighter",
    "log_softmax": "Write z = x - x.max(axis=…, keepdims=True) and z - np.log(np.exp(z).sum(axis=…, keepdims=True)).",
    "logsumexp": "scipy.special.logsumexp does not take intervals: it makes plain arrays of its arguments."
    " Write np.logaddexp.reduce(x, axis=…).",
}


@pytest.mark.parametrize("name", SCIPY)
def test_functions_of_scipy_are_named(name):
    special = pytest.importorskip("scipy.special")
    with pytest.raises(IntervalError, match=re.escape(SCIPY[name])):
        getattr(special, name)(X)


def test_the_call_is_named_within_a_function_too():
    special = pytest.importorskip("scipy.special")
    with pytest.raises(IntervalError, match=r"^On the box from .*: scipy\.special\.softmax does not take intervals"):
        enclose(lambda x: special.softmax(x, axis=-1), X.low, X.high)


def test_wrong_shapes_are_numpys_to_complain_about():
    with pytest.raises(ValueError, match="broadcast"):
        X + np.ones(3)
    with pytest.raises(ValueError, match="matmul"):
        X @ np.ones((3, 3))
