"""Integers whose sums never collide: B_n sets (generalised Sidon sets), so a sum of n codes determines the multiset.

A set is B_n if all sums of n of its members, with repetition, are different. Three ways, by size:

- *greedy*: the smallest next member that keeps the property; short codes, cost grows fast;
- *Erdős–Turán* (n = 2): 2pk + (k² mod p) for k < p, p prime;
- *Bose–Chowla*: the discrete logarithms of θ + a, a in GF(q), in GF(q^n)*: q members below q^n, q prime.
"""

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from anyformer.arrays import Integers
from anyformer.construction.codes.galois_fields import GaloisField, is_prime, logarithms
from anyformer.errors import NoCodes

# The greedy search takes seconds from about this many sums on, and its codes are then longer than the algebraic ones.
GREEDY_SUMS = 10_000
# Longer codes leave no bits for outputs anyway.
LONGEST_CODE = 2**53
MULTIPLIERS = 64


def collision_free_codes(count: int, order: int) -> Integers:
    """`count` increasing integers from 0 whose sums of `order` are all different, as small as we can find quickly."""
    if count <= 2:
        return np.arange(count, dtype=np.int64)
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
    """Mark x with k·x = s' − s; differences between sums that are not new are marked already."""
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
    p = next(q for q in itertools.count(max(count, 2)) if is_prime(q))
    k = np.arange(count, dtype=np.int64)
    return 2 * p * k + k * k % p


def bose_chowla_codes(count: int, order: int) -> Integers:
    """A B_n set of `count` members below q^n, q the next prime: logarithms of θ + a to the base of a primitive θ.

    A sum of n logarithms is the logarithm of Π (θ + a_i), a monic polynomial of degree n in θ reduced once; two such
    products are equal only if the polynomials are, and a polynomial over a field has one factorisation.
    """
    q = next(prime for prime in itertools.count(max(count, 3)) if is_prime(prime))
    if q**order > LONGEST_CODE:
        raise NoCodes(
            f"{count} codes whose sums of {order} are all different have up to {(q**order).bit_length()} bits"
        )
    return _shortest(logarithms(GaloisField.of(q, order)), q**order - 1, count)


def _times(members: Integers, unit: int, modulus: int) -> Integers:
    """Products modulo q^n − 1, which need more than 64 bits where that is large."""
    return np.array([member * unit % modulus for member in members.tolist()], dtype=np.int64)


def _shortest(members_of: Integers, modulus: int, count: int) -> Integers:
    """The `count` members that span the least, over some multiples and shifts: sums stay different modulo q^n − 1."""
    units = [a for a in range(1, 4 * MULTIPLIERS) if math.gcd(a, modulus) == 1][:MULTIPLIERS]
    best = None
    for unit in units:
        members = np.sort(_times(members_of, unit, modulus))
        around = np.concatenate([members, members + modulus])
        spans = around[count - 1 :][: len(members)] - members
        start = int(spans.argmin())
        if best is None or spans[start] < best[-1]:
            best = around[start : start + count] - around[start]
    assert best is not None
    return np.asarray(best)
