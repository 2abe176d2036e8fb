"""Integers whose sums never collide: B_n sets (generalised Sidon sets), so that a sum of n codes names the multiset.

A set is B_n if all sums of n of its members, with repetition, are different. Three ways, by size:

- *greedy*: the smallest next member that keeps the property; short codes, cost grows fast;
- *Erdős–Turán* (n = 2): 2pk + (k² mod p) for k < p, p prime;
- *Bose–Chowla*: the discrete logarithms of θ + a, a in GF(q), in GF(q^n)*: q members below q^n, q prime.
"""

import itertools
import math

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

# The greedy search takes seconds from about this many sums on, and its codes are then longer than the algebraic ones.
GREEDY_SUMS = 10_000
MULTIPLIERS = 64


def collision_free_codes(count: int, order: int) -> Integers:
    """`count` increasing integers from 0 whose sums of `order` are all different, as small as we can find quickly."""
    found = [erdos_turan_codes(count) if order == 2 else bose_chowla_codes(count, order)]
    if math.comb(count + order - 1, order) <= GREEDY_SUMS:
        found.append(greedy_codes(count, order))
    return min(found, key=lambda codes: int(codes[-1]))


def greedy_codes(count: int, order: int) -> Integers:
    """The lexicographically first B_n set that starts with 0.

    As 0 is a member, sums of k members are sums of n members too. A new member x collides iff k·x + s = s' for some 1
    <= k <= n, s a sum of n − k old members and s' a sum of n old members or fewer, which again is one of n. So x is
    forbidden iff k·x is a difference between an n-sum and an (n − k)-sum.
    """
    members = [0]
    sums = [np.zeros(1, dtype=np.int64) for _ in range(order + 1)]
    forbidden = np.zeros(1024, dtype=bool)
    forbidden[0] = True
    checked: list[Integers] = [np.zeros(0, dtype=np.int64)] * (order + 1)
    while len(members) < count:
        forbidden = _forbid(forbidden, sums, checked, order)
        free = np.flatnonzero(~forbidden)
        if not len(free):
            forbidden, checked = _grown(forbidden), [np.zeros(0, dtype=np.int64)] * (order + 1)
            continue
        x = int(free[0])
        members.append(x)
        checked = list(sums)
        sums = [np.unique(np.concatenate([sums[k - j] + j * x for j in range(k + 1)])) for k in range(order + 1)]
    return np.array(members, dtype=np.int64)


def _grown(forbidden: NDArray[np.bool_]) -> NDArray[np.bool_]:
    larger = np.zeros(2 * len(forbidden), dtype=bool)
    larger[: len(forbidden)] = forbidden
    return larger


def _forbid(
    forbidden: NDArray[np.bool_], sums: list[Integers], checked: list[Integers], order: int
) -> NDArray[np.bool_]:
    """Mark x with k·x = s' − s; differences between sums that were all there the last time are marked already."""
    limit = len(forbidden)
    whole_new = np.setdiff1d(sums[order], checked[order], assume_unique=True)
    for k in range(1, order + 1):
        part_new = np.setdiff1d(sums[order - k], checked[order - k], assume_unique=True)
        for whole, part in ((whole_new, sums[order - k]), (sums[order], part_new)):
            for s in part:
                gaps = whole - s
                gaps = gaps[(gaps > 0) & (gaps < k * limit)]
                forbidden[gaps[gaps % k == 0] // k] = True
    return forbidden


def erdos_turan_codes(count: int) -> Integers:
    """A Sidon set of `count` members below 2p², p the next prime."""
    p = next(q for q in itertools.count(max(count, 2)) if _is_prime(q))
    k = np.arange(count, dtype=np.int64)
    return 2 * p * k + k * k % p


def bose_chowla_codes(count: int, order: int) -> Integers:
    """A B_n set of `count` members below q^n, q the next prime: logarithms of θ + a to the base of a primitive θ.

    A sum of n logarithms is the logarithm of Π (θ + a_i), a monic polynomial of degree n in θ reduced once; two such
    products are equal only if the polynomials are, and a polynomial over a field has one factorisation.
    """
    q = next(prime for prime in itertools.count(max(count, 3)) if _is_prime(prime))
    return _shortest(_logarithms(q, order, _primitive_polynomial(q, order)), q**order - 1, count)


def _shortest(logarithms: Integers, modulus: int, count: int) -> Integers:
    """The shortest stretch of `count` members over some multiples: sums stay different modulo q^n − 1 under both."""
    units = [a for a in range(1, 4 * MULTIPLIERS) if math.gcd(a, modulus) == 1][:MULTIPLIERS]
    best = None
    for unit in units:
        members = np.sort(logarithms * unit % modulus)
        around = np.concatenate([members, members + modulus])
        spans = around[count - 1 :][: len(members)] - members
        start = int(spans.argmin())
        if best is None or spans[start] < best[-1]:
            best = around[start : start + count] - around[start]
    assert best is not None
    return np.asarray(best)


def _logarithms(q: int, order: int, polynomial: tuple[int, ...]) -> Integers:
    """Exponents e with θ^e = θ + a for some a in GF(q): all powers of θ, a block at a time."""
    block = min(1 << 16, q**order)
    powers = np.zeros((block, order), dtype=np.int64)
    element = _one(order)
    for exponent in range(block):
        powers[exponent] = element
        element = _times_theta(element, polynomial, q)
    found = []
    start = _one(order)
    for first in range(0, q**order - 1, block):
        # Row i of the matrix is start·θ^i, so powers @ matrix are the powers of θ from `first` on.
        rows, row = [], start
        for _ in range(order):
            rows.append(row)
            row = _times_theta(row, polynomial, q)
        here = powers @ np.array(rows, dtype=np.int64) % q
        hits = np.flatnonzero((here[:, 1] == 1) & ~here[:, 2:].any(axis=1)) + first
        found.append(hits[hits < q**order - 1])
        start = _product(start, element, polynomial, q)
    return np.concatenate(found)


def _times_theta(element: list[int], polynomial: tuple[int, ...], q: int) -> list[int]:
    """Multiply by θ modulo θ^n = Σ polynomial[i]·θ^i."""
    top = element[-1]
    return [(carry + top * c) % q for carry, c in zip([0, *element[:-1]], polynomial, strict=True)]


def _primitive_polynomial(q: int, order: int) -> tuple[int, ...]:
    """Coefficients c with θ^n = Σ c_i θ^i such that θ generates GF(q^n)*: the first found in a fixed random order."""
    rng = np.random.default_rng([q, order])
    size = q**order - 1
    primes = _prime_factors(size)
    while True:
        polynomial = tuple(int(c) for c in rng.integers(0, q, order))
        if (
            polynomial[0]
            and _power(polynomial, size, q) == _one(order)
            and all(_power(polynomial, size // prime, q) != _one(order) for prime in primes)
        ):
            return polynomial


def _one(order: int) -> list[int]:
    return [1] + [0] * (order - 1)


def _power(polynomial: tuple[int, ...], exponent: int, q: int) -> list[int]:
    """θ^exponent by squaring. Only for an irreducible polynomial can θ have order q^n − 1: that is all to check."""
    order = len(polynomial)
    result, base = _one(order), [0, 1, *[0] * (order - 2)]
    while exponent:
        if exponent & 1:
            result = _product(result, base, polynomial, q)
        base = _product(base, base, polynomial, q)
        exponent >>= 1
    return result


def _product(a: list[int], b: list[int], polynomial: tuple[int, ...], q: int) -> list[int]:
    total = [0] * len(a)
    for factor in reversed(a):
        total = _times_theta(total, polynomial, q)
        total = [(t + factor * c) % q for t, c in zip(total, b, strict=True)]
    return total


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % k for k in range(2, math.isqrt(number) + 1))


def _prime_factors(number: int) -> list[int]:
    factors, k = [], 2
    while k * k <= number:
        if number % k == 0:
            factors.append(k)
            while number % k == 0:
                number //= k
        k += 1
    return [*factors, number] if number > 1 else factors
