import itertools
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anyformer.certificates.propagation.enclosures import Enclosure, affine, low_bit, sum_of_products, up

numbers = st.floats(-1e12, 1e12, allow_subnormal=False) | st.integers(-(2**40), 2**40).map(lambda k: k / 2**20)
pairs = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=5)


@given(st.floats(-1e300, 1e300).filter(lambda x: x != 0))
def test_low_bit_is_the_largest_power_of_two_that_divides(x):
    bit = float(low_bit(np.array(x)))
    ratio = Fraction(x) / Fraction(bit)
    assert ratio.denominator == 1
    assert ratio.numerator % 2 == 1


def test_low_bit_of_zero_is_infinite():
    assert low_bit(np.zeros(1)).tolist() == [np.inf]


@given(pairs)
def test_the_error_of_a_sum_covers_every_order_and_the_truth(terms):
    weights, x = np.array(terms).T
    total, error = (float(v) for v in sum_of_products(weights, x))
    truth = sum(Fraction(a) * Fraction(b) for a, b in terms)
    assert abs(truth - Fraction(total)) <= Fraction(error)
    for order in itertools.permutations(terms):
        running = 0.0
        for a, b in order:
            running += a * b
        assert abs(Fraction(running) - truth) <= Fraction(error)


@given(st.lists(st.tuples(st.integers(-(2**20), 2**20), st.integers(-(2**20), 2**20)), min_size=1, max_size=6))
def test_sums_of_small_integers_are_known_to_be_exact(terms):
    weights, x = np.array(terms, dtype=np.float64).T / 2**10
    assert float(sum_of_products(weights, x)[1]) == 0.0


def test_a_sum_that_rounds_is_not_called_exact():
    assert float(sum_of_products(np.ones(2), np.array([1.0, 2.0**-60]))[1]) > 0
    assert float(sum_of_products(np.array([1 / 3]), np.array([1 / 3]))[1]) > 0
    # Exact in the end, but 2^53 + 1 on the way there is not.
    assert float(sum_of_products(np.ones(3), np.array([2.0**53, 1.0, -(2.0**53)]))[1]) > 0


boxes = st.lists(st.tuples(numbers, st.floats(0, 10), st.floats(0, 1e-3), st.floats(0, 1)), min_size=1, max_size=4)


@given(boxes, st.data())
def test_affine_holds_every_member(members, data):
    low = np.array([m[0] for m in members])
    high = low + np.array([m[1] for m in members])
    slack = np.array([m[2] for m in members])
    weights = np.array(data.draw(st.lists(numbers, min_size=len(low), max_size=len(low))))
    bias = np.array(data.draw(numbers))
    result = affine(weights, Enclosure(low, high, slack), bias)
    inner = np.clip(low + np.array([m[3] for m in members]) * (high - low), low, high)
    assert result.low <= weights @ inner + bias <= result.high
    for point in (inner, low, high):
        for sign in (-1, 0, 1):
            reals = [Fraction(v) + sign * Fraction(s) for v, s in zip(point, slack, strict=True)]
            truth = sum((Fraction(w) * r for w, r in zip(weights, reals, strict=True)), Fraction(float(bias)))
            assert Fraction(float(result.low)) - Fraction(float(result.slack)) <= truth
            assert truth <= Fraction(float(result.high)) + Fraction(float(result.slack))


def test_what_is_unbounded_stays_unbounded():
    everything = Enclosure.box(np.array([-np.inf, 0.0]), np.array([np.inf, 1.0]))
    result = affine(np.array([1.0, 2.0]), everything, np.array(5.0))
    assert (result.low, result.high) == (-np.inf, np.inf)
    ignored = affine(np.array([0.0, 2.0]), everything, np.array(5.0))
    assert (ignored.low, ignored.high) == (5.0, 7.0)


def test_folding_rounds_outwards():
    folded = Enclosure(np.array([1.0]), np.array([1.0]), np.array([1e-300])).folded()
    assert folded.low[0] < 1.0 < folded.high[0]
    assert (up(np.array([1.0])) > 1.0).all()
