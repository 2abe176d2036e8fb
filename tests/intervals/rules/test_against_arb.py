"""Not one enclosure misses the exact value: elementary operations against Arb.

A million comparisons by default, ten million with ANYFORMER_FULL=1.
"""

import os

import numpy as np
import pytest
from scipy import special

from anyformer.intervals import IntervalArray
from tests.intervals.exact import BITS, arb, compare, compare_function, flint
from tests.intervals.samples import intervals, members

FULL = os.environ.get("ANYFORMER_FULL") == "1"
COUNT = 300_000 if FULL else 30_000


def cube_root(x):
    return -(-x).root(3) if x < 0 else x.root(3)


def logarithm(base):
    return lambda x: x.log() / arb(base).log()


def log_of_sum(power, scale):
    """m + log(1 + power(−d)) for the greater one m and the distance d."""
    return lambda x, y: x.max(y) + power(-abs(x - y)).log1p() / scale


ANYWHERE = {
    np.negative: lambda x: -x,
    np.absolute: abs,
    np.square: lambda x: x * x,
    np.exp: lambda x: x.exp(),
    np.expm1: lambda x: x.expm1(),
    np.exp2: lambda x: arb(2) ** x,
    np.sin: lambda x: x.sin(),
    np.cos: lambda x: x.cos(),
    np.tan: lambda x: x.tan(),
    np.tanh: lambda x: x.tanh(),
    np.sinh: lambda x: x.sinh(),
    np.cosh: lambda x: x.cosh(),
    np.arctan: lambda x: x.atan(),
    np.arcsinh: lambda x: x.asinh(),
    np.cbrt: cube_root,
    np.reciprocal: lambda x: 1 / x,
    np.sinc: lambda x: x.sinc_pi(),
    special.expit: lambda x: 1 / (1 + (-x).exp()),
    special.log_expit: lambda x: -(-x).exp().log1p() if x >= 0 else x - x.exp().log1p(),
    special.erf: lambda x: x.erf(),
    special.erfc: lambda x: x.erfc(),
}

SOMEWHERE = {
    np.sqrt: (lambda x: x.sqrt(), (0.0, np.inf)),
    np.log: (lambda x: x.log(), (0.0, np.inf)),
    np.log2: (logarithm(2), (0.0, np.inf)),
    np.log10: (logarithm(10), (0.0, np.inf)),
    np.log1p: (lambda x: x.log1p(), (-1.0, np.inf)),
    np.arcsin: (lambda x: x.asin(), (-1.0, 1.0)),
    np.arccos: (lambda x: x.acos(), (-1.0, 1.0)),
    np.arctanh: (lambda x: x.atanh(), (-1.0, 1.0)),
    np.arccosh: (lambda x: x.acosh(), (1.0, np.inf)),
}

OF_TWO = {
    np.add: lambda x, y: x + y,
    np.subtract: lambda x, y: x - y,
    np.multiply: lambda x, y: x * y,
    np.divide: lambda x, y: x / y,
    np.maximum: lambda x, y: x.max(y),
    np.minimum: lambda x, y: x.min(y),
    np.hypot: lambda x, y: (x * x + y * y).sqrt(),
    np.arctan2: arb.atan2,
    np.copysign: lambda x, y: abs(x) if y >= 0 else -abs(x),
    np.logaddexp: log_of_sum(lambda d: d.exp(), arb(1)),
    np.logaddexp2: log_of_sum(lambda d: arb(2) ** d, arb(2).log()),
}

DIVIDED = {
    np.floor_divide: lambda x, y: (x / y).floor(),
    np.remainder: lambda x, y: x - (x / y).floor() * y,
    np.fmod: lambda x, y: x - (x / y).floor() * y if (x / y) >= 0 else x + (-x / y).floor() * y,
}


def assert_no_miss(tally, at_least=COUNT // 2):
    assert tally.compared >= at_least
    assert not tally.misses, tally.misses[:3]


@pytest.mark.parametrize("function", ANYWHERE, ids=lambda function: function.__name__)
def test_functions_defined_everywhere(function):
    assert_no_miss(compare_function(function, ANYWHERE[function], COUNT, seed=1))


@pytest.mark.parametrize("function", SOMEWHERE, ids=lambda function: function.__name__)
def test_functions_with_a_domain(function):
    exact, domain = SOMEWHERE[function]
    assert_no_miss(compare_function(function, exact, COUNT, seed=2, domain=domain))


@pytest.mark.parametrize("function", OF_TWO, ids=lambda function: function.__name__)
def test_functions_of_two_arguments(function):
    assert_no_miss(compare_function(function, OF_TWO[function], COUNT, seed=3, arguments=2), at_least=COUNT // 4)


@pytest.mark.parametrize("function", DIVIDED, ids=lambda function: function.__name__)
def test_quotients_and_remainders(function):
    """Where 200 bits tell the quotient; every third pair has a quotient that is decided."""
    tally = compare_function(function, DIVIDED[function], COUNT, seed=7, arguments=2)
    assert_no_miss(tally, at_least=COUNT // 8)
    tally = compare_function(lambda x: function(x, 0.75), lambda x: DIVIDED[function](x, arb(0.75)), COUNT, seed=8)
    assert_no_miss(tally, at_least=COUNT // 4)


@pytest.mark.parametrize("domain", [(0.0, np.inf), (0.5, 2.0)])
def test_products_with_a_logarithm(domain):
    rng = np.random.default_rng(9)
    flint.ctx.prec = BITS
    factors, arguments = intervals(rng, COUNT), intervals(rng, COUNT, domain=domain)
    result = special.xlogy(IntervalArray(*factors), IntervalArray(*arguments))
    chosen = [members(rng, *ends) for ends in (factors, arguments)]
    computed = special.xlogy(*chosen)
    assert ((result.low <= computed) & (computed <= result.high))[~np.isnan(computed)].all()
    rows = list(zip(*(map(arb, part.tolist()) for part in chosen), strict=True))
    exact = [arb(0) if x == 0 else x * y.log() for x, y in rows]
    assert_no_miss(compare(exact, result.low, result.high, rows))


@pytest.mark.parametrize("terms", [1, 2, 7, 40])
@pytest.mark.parametrize("function", [np.logaddexp, np.logaddexp2], ids=lambda function: function.__name__)
def test_logarithms_of_sums(function, terms):
    flint.ctx.prec = BITS
    rng = np.random.default_rng(terms)
    low = rng.normal(size=(COUNT // 20, terms)) * 10.0 ** rng.integers(-3, 4, (COUNT // 20, 1))
    low -= rng.choice([0.0, np.log(terms) + 1e-3], (COUNT // 20, 1)) * (np.abs(low) < 10)
    high = low + np.abs(low) * rng.choice([0.0, 2.0**-52, 1e-9, 0.1], low.shape)
    result = function.reduce(IntervalArray(low, high), axis=1)
    chosen = members(rng, low, high)
    computed = function.reduce(chosen, axis=1)
    assert ((result.low <= computed) & (computed <= result.high)).all()
    scale = arb(1) if function is np.logaddexp else arb(2).log()
    exact = [sum(((arb(v) * scale).exp() for v in row), arb(0)).log() / scale for row in chosen.tolist()]
    assert_no_miss(compare(exact, result.low, result.high, chosen.tolist()), at_least=COUNT // 30)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 7, -1, -2, -3, 12])
def test_integer_powers(exponent):
    def power(x):
        return x**exponent

    assert_no_miss(compare_function(power, power, COUNT // 3, seed=4), at_least=COUNT // 12)


@pytest.mark.parametrize("exponent", [0.5, 1.5, -0.25, 2.000001, 1 / 3])
def test_real_powers_of_non_negative_bases(exponent):
    tally = compare_function(
        lambda x: np.power(x, exponent), lambda x: x ** arb(exponent), COUNT // 3, seed=5, domain=(0.0, np.inf)
    )
    assert_no_miss(tally, at_least=COUNT // 12)


def test_powers_with_unknown_exponents():
    rng = np.random.default_rng(6)
    flint.ctx.prec = BITS
    bases, exponents = intervals(rng, COUNT, domain=(0.0, np.inf)), intervals(rng, COUNT, domain=(-8.0, 8.0))
    result = IntervalArray(*bases) ** IntervalArray(*exponents)
    rows = list(zip(*(map(arb, members(rng, *ends).tolist()) for ends in (bases, exponents)), strict=True))
    assert_no_miss(compare([x**p for x, p in rows], result.low, result.high, rows))


def rows_of_terms(rng, count, terms):
    """Ends of terms with much cancellation among them, and a member of each; shape (count, terms)."""
    low = rng.normal(size=(count, terms)) * 10.0 ** rng.integers(-8, 9, (count, terms))
    low[:, -1] = -low[:, :-1].sum(axis=1)
    high = low + np.abs(low) * rng.choice([0.0, 2.0**-52, 1e-9, 0.1], low.shape)
    return low, high, members(rng, low, high)


@pytest.mark.parametrize("terms", [2, 3, 5, 17, 64])
def test_sums(terms):
    flint.ctx.prec = BITS
    low, high, chosen = rows_of_terms(np.random.default_rng(terms), COUNT // 6, terms)
    result = IntervalArray(low, high).sum(axis=1)
    exact = [sum(map(arb, row), arb(0)) for row in chosen.tolist()]
    assert_no_miss(compare(exact, result.low, result.high, chosen.tolist()), at_least=COUNT // 6)


@pytest.mark.parametrize("unknown_weights", [False, True])
@pytest.mark.parametrize("terms", [2, 5, 16, 40])
def test_sums_of_products(terms, unknown_weights):
    flint.ctx.prec = BITS
    rng = np.random.default_rng(terms)
    low, high, chosen = rows_of_terms(rng, COUNT // 6, terms)
    weights = rng.normal(size=(COUNT // 6, terms, 1))
    weights[:, -1] = 1.0
    factor = IntervalArray(weights - 1e-9, weights + 1e-9) if unknown_weights else weights
    result = (IntervalArray(low, high)[:, np.newaxis, :] @ factor)[:, 0, 0]
    pairs = zip(chosen.tolist(), weights[:, :, 0].tolist(), strict=True)
    exact = [sum((arb(x) * arb(w) for x, w in zip(*pair, strict=True)), arb(0)) for pair in pairs]
    assert_no_miss(compare(exact, result.low, result.high, chosen.tolist()), at_least=COUNT // 6)
