import itertools

import numpy as np
import pytest

from anyformer.construction.codes.galois_fields import GaloisField, is_prime, logarithms, prime_factors


@pytest.mark.parametrize(("q", "order"), [(3, 2), (3, 5), (5, 3), (7, 4), (11, 3), (2, 7), (13, 2)])
def test_logarithms_are_those_that_listing_all_powers_finds(q, order):
    field = GaloisField.of(q, order)
    powers = itertools.accumulate([field.theta] * (field.size - 1), field.product, initial=field.one)
    listed = list(powers)
    assert len(set(listed)) == field.size
    wanted = {(a, 1) + (0,) * (order - 2) for a in range(q)}
    assert sorted(logarithms(field).tolist()) == [e for e, power in enumerate(listed) if power in wanted]


def test_large_fields_are_quick_enough_to_be_checked():
    field = GaloisField.of(5, 16)
    for a, exponent in enumerate(logarithms(field).tolist()):
        assert field.power(field.theta, exponent) == (a, 1) + (0,) * 14


@pytest.mark.parametrize(("q", "order"), [(2, 11), (3, 8), (5, 6), (7, 9), (31, 4), (67, 3)])
def test_prime_factors(q, order):
    rest = q**order - 1
    for prime in prime_factors(q, order):
        assert is_prime(prime)
        while rest % prime == 0:
            rest //= prime
    assert rest == 1


def test_products_are_those_of_polynomials():
    field = GaloisField.of(7, 3)
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b, c = (tuple(rng.integers(0, 7, 3).tolist()) for _ in range(3))
        plus = tuple((x + y) % 7 for x, y in zip(a, b, strict=True))
        left = field.product(plus, c)
        right = zip(field.product(a, c), field.product(b, c), strict=True)
        assert left == tuple((x + y) % 7 for x, y in right)
        assert field.product(a, b) == field.product(b, a)
