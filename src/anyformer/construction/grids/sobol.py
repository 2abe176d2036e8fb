"""Points that fill a cube evenly: a scrambled Sobol sequence, the same at every call.

The points are those of `scipy.stats.qmc.Sobol(dimensions, scramble=True, rng=default_rng(SEED))` to the bit; the tests
check this. Importing scipy.stats takes a second or more, but a plan takes a few milliseconds. So up to 40 dimensions
the points are made here, and beyond that by SciPy.
"""

from functools import lru_cache

import numpy as np

from anyformer.arrays import Array

SEED, BITS = 7, 30

# A primitive polynomial over GF(2) and the first direction numbers for every dimension but the first (S. Joe and F. Y.
# Kuo, SIAM J. Sci. Comput. 30, 2635-2654, 2008).
DIRECTIONS = (
    (3, 1),
    (7, 1, 3),
    (11, 1, 3, 1),
    (13, 1, 1, 1),
    (19, 1, 1, 3, 3),
    (25, 1, 3, 5, 13),
    (37, 1, 1, 5, 5, 17),
    (41, 1, 1, 5, 5, 5),
    (47, 1, 1, 7, 11, 19),
    (55, 1, 1, 5, 1, 1),
    (59, 1, 1, 1, 3, 11),
    (61, 1, 3, 5, 5, 31),
    (67, 1, 3, 3, 9, 7, 49),
    (91, 1, 1, 1, 15, 21, 21),
    (97, 1, 3, 1, 13, 27, 49),
    (103, 1, 1, 1, 15, 7, 5),
    (109, 1, 3, 1, 15, 13, 25),
    (115, 1, 1, 5, 5, 19, 61),
    (131, 1, 3, 7, 11, 23, 15, 103),
    (137, 1, 3, 7, 13, 13, 15, 69),
    (143, 1, 1, 3, 13, 7, 35, 63),
    (145, 1, 3, 5, 9, 1, 25, 53),
    (157, 1, 3, 1, 13, 9, 35, 107),
    (167, 1, 3, 1, 5, 27, 61, 31),
    (171, 1, 1, 5, 11, 19, 41, 61),
    (185, 1, 3, 5, 3, 3, 13, 69),
    (191, 1, 1, 7, 13, 1, 19, 1),
    (193, 1, 3, 7, 5, 13, 19, 59),
    (203, 1, 1, 3, 9, 25, 29, 41),
    (211, 1, 3, 5, 13, 23, 1, 55),
    (213, 1, 3, 7, 3, 13, 59, 17),
    (229, 1, 3, 1, 3, 5, 53, 69),
    (239, 1, 1, 5, 5, 23, 33, 13),
    (241, 1, 1, 7, 7, 1, 61, 123),
    (247, 1, 1, 7, 9, 13, 61, 49),
    (253, 1, 3, 3, 5, 3, 55, 33),
    (285, 1, 3, 1, 15, 31, 13, 49, 245),
    (299, 1, 3, 5, 15, 31, 59, 63, 97),
    (301, 1, 3, 1, 11, 11, 11, 77, 249),
)


@lru_cache(maxsize=8)
def sobol_points(dimensions: int, samples: int) -> Array:
    """`samples` points of the unit cube, a power of two of them; shape (samples, dimensions). Not to be written to."""
    if dimensions > len(DIRECTIONS) + 1:
        from scipy.stats import qmc

        points = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(SEED)).random(samples)
    else:
        points = _points(dimensions, samples)
    points.setflags(write=False)
    return np.asarray(points)


def _points(dimensions: int, samples: int) -> Array:
    """Point i is the shift, changed by the directions of the ones in the Gray code of i (Antonov and Saleev)."""
    rng = np.random.default_rng(SEED).spawn(1)[0]
    powers = 2 ** np.arange(BITS, dtype=np.uint32)
    shift = np.dot(rng.integers(0, 2, size=(dimensions, BITS), dtype=np.uint32), powers)
    directions = _scrambled(np.array([_directions(k) for k in range(dimensions)], dtype=np.uint32), rng)
    index = np.arange(samples, dtype=np.uint32)
    gray = index ^ (index >> 1)
    found = np.broadcast_to(shift, (samples, dimensions)).copy()
    for bit in range(samples.bit_length() - 1):
        found[(gray >> bit) & 1 == 1] ^= directions[:, bit]
    return np.asarray(found * (1.0 / 2**BITS))


def _directions(dimension: int) -> list[int]:
    """The numbers m_j·2^(BITS − j) of one dimension, each from those before it by the polynomial's recurrence."""
    if dimension == 0:
        return [1 << (BITS - 1 - j) for j in range(BITS)]
    polynomial, *numbers = DIRECTIONS[dimension - 1]
    degree = len(numbers)
    for j in range(degree, BITS):
        new = numbers[j - degree] ^ (numbers[j - degree] << degree)
        for k in range(1, degree):
            if (polynomial >> (degree - k)) & 1:
                new ^= numbers[j - k] << k
        numbers.append(new)
    return [number << (BITS - 1 - j) for j, number in enumerate(numbers)]


def _scrambled(directions: "np.typing.NDArray[np.uint32]", rng: np.random.Generator) -> "np.typing.NDArray[np.uint32]":
    """Every direction times a random lower triangular matrix of bits, one a dimension (Matousek's scramble)."""
    matrix = np.tril(rng.integers(0, 2, size=(len(directions), BITS, BITS), dtype=np.uint32))
    matrix[:, np.arange(BITS), np.arange(BITS)] = 1
    # The highest bit is the first of a column.
    places = np.arange(BITS - 1, -1, -1, dtype=np.uint32)
    columns = (directions[:, None, :] >> places[:, None]) & 1
    return np.asarray(((matrix @ columns & 1) << places[:, None]).sum(axis=1, dtype=np.uint32))
