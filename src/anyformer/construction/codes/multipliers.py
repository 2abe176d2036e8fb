"""The smallest K for which id = f·g + K·S tells every token of every sequence apart, found without listing ids.

g is a token's code, S the sum of the codes of its sequence, f a fixed factor. Two ids collide iff f·(g − g') = K·(S'
− S); with D = g − g' > 0 that means that K divides f·D and that S' − S = f·D/K for sequences that hold a token g and
a token g'.
"""

import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from anyformer.arrays import Booleans, Integers
from anyformer.errors import NoCodes

# Tables of sums hold a byte per number; tables of differences are found by an FFT of a few float64 numbers each.
LARGEST_TABLE = 1 << 28
SHORT_TABLE = 1 << 23


def multiset_multiplier(codes: Integers, tokens: int, factor: int) -> int:
    """The smallest K for all multisets of `tokens` codes of a B_n set.

    Take g out of one multiset and g' out of the other: what is left are arbitrary sums σ, σ' of n − 1 codes, and S' −
    S = σ' − σ − D. So K is bad iff there is a D such that K divides f·D and D + f·D/K is a difference of two (n −
    1)-sums. With K = k·gcd(K, f) and f = e·gcd(K, f), these are the D = k·m, and D + f·D/K = (k + e)·m.
    """
    some_is_reachable = _test_for_differences(codes, tokens - 1)  # refuses codes that are too long for a table
    is_difference = _differences(codes)
    for multiplier in itertools.count(1):
        common = math.gcd(multiplier, factor)
        k, e = multiplier // common, factor // common
        multiples = np.flatnonzero(is_difference[k::k]) + 1
        if not some_is_reachable((k + e) * multiples):
            return multiplier
    raise AssertionError("there is always a multiplier")


def _differences(codes: Integers) -> Booleans:
    """Which numbers are differences of two codes, by number; 0 does not count."""
    found = np.zeros(int(codes[-1]) + 1, dtype=bool)
    for place, code in enumerate(codes):
        found[codes[place + 1 :] - code] = True
    return found


def _test_for_differences(codes: Integers, order: int) -> Callable[[Integers], bool]:
    """A test whether any of the given numbers is a difference of two sums of `order` codes."""
    longest = int(order * codes[-1])
    if longest > LARGEST_TABLE:
        raise NoCodes(f"codes up to {codes[-1]:,} are too long to find a multiplier for sums of {order} of them")
    sums = codes
    for _ in range(order - 1):
        sums = np.unique(sums[:, None] + codes[None, :])
    is_sum = np.zeros(2 * longest + 2, dtype=bool)
    is_sum[sums] = True
    if longest > SHORT_TABLE:
        # There are few numbers to test, and few sums compared with the table: test one number at a time.
        return lambda wanted: any(bool(is_sum[sums + x].any()) for x in wanted[wanted <= longest].tolist())
    reachable = _autocorrelation(is_sum[: longest + 1]) > 0.5
    return lambda wanted: bool(reachable[wanted[wanted <= longest]].any())


def _autocorrelation(indicator: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How many pairs of marked places lie x apart, by x. Whole numbers far below 2⁵³: FFT errors stay below 1/2."""
    size = 1 << (2 * len(indicator)).bit_length()
    spectrum = np.fft.rfft(indicator.astype(np.float64), size)
    return np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[: len(indicator)]


def positional_codes(columns: int, tokens: int) -> Integers:
    """g[k, c] = c·M^k + a_k: the digits of a sum give the sequence, and the a_k make all codes differ and increase."""
    powers = np.array([columns**k for k in range(tokens)], dtype=np.int64)
    spans = (columns - 1) * powers + 1
    offsets = np.concatenate([[0], np.cumsum(spans)[:-1]])
    return np.asarray(np.arange(columns)[None, :] * powers[:, None] + offsets[:, None])


def positional_multiplier(codes: Integers, factor: int) -> int:
    """The smallest K for all sequences with one code per row of `codes`, as made by `positional_codes`."""
    tokens, columns = codes.shape
    flat = codes.ravel() * factor
    k = 0
    while True:
        k += 1
        if not _collides(flat, k, tokens, columns):
            return k


def _collides(flat: Integers, k: int, tokens: int, columns: int) -> bool:
    """Whether two codes agree modulo k and two sequences that hold them have sums with exactly that distance."""
    residue = flat % k
    order = np.argsort(residue, kind="stable")
    for near in range(1, len(order)):
        first, second = order[:-near], order[near:]
        pairs = np.flatnonzero(residue[first] == residue[second])
        if not len(pairs):
            return False
        for pair in pairs:
            x, y = int(first[pair]), int(second[pair])
            if _reachable(x, y, int(flat[x] - flat[y]) // k, tokens, columns):
                return True
            if _reachable(y, x, int(flat[y] - flat[x]) // k, tokens, columns):
                return True
    return False


def _reachable(x: int, y: int, gap: int, tokens: int, columns: int) -> bool:
    """Whether S' − S = gap for digits c, c' of base M, where c has token x's digit in its slot and c' token y's."""
    slot_x, digit_x = divmod(x, columns)
    slot_y, digit_y = divmod(y, columns)
    ranges = [[1 - columns, columns - 1] for _ in range(tokens)]
    ranges[slot_x] = [-digit_x, columns - 1 - digit_x]
    low, high = ranges[slot_y]
    ranges[slot_y] = [max(low, digit_y - columns + 1), min(high, digit_y)]
    if slot_x == slot_y:
        ranges[slot_x] = [digit_y - digit_x] * 2
    return _has_digits(gap, ranges, columns)


def _has_digits(gap: int, ranges: list[list[int]], base: int) -> bool:
    """Whether gap = Σ d_j·base^j with each d_j in its range: from the lowest digit up, at most two choices each."""
    if not ranges:
        return gap == 0
    low, high = ranges[0]
    first = low + (gap - low) % base
    return any(_has_digits((gap - digit) // base, ranges[1:], base) for digit in range(first, high + 1, base))
