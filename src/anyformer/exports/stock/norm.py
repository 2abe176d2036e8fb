"""The lemma: a layer norm that finds every channel twice, as c and −c, and a large pair (C, −C), only scales.

**The stream.** A token holds D numbers: pairs (a_i, b_i), which are (c_i, −c_i) up to roundings, the pair (C, −C), and
zeros. What the network calls channel i is x_i = (a_i − b_i)/2. Let |a_i|, |b_i| ≤ r_i ≤ C, A = Σ r_i², S = Σ r_i.

**In real arithmetic.** The mean is m = Σ(a_i + b_i)/D, for C cancels, and m² ≤ Σ(a_i² + b_i²)/D. So the variance is at
least 2C²/D and at most 2(C² + A)/D, and with ε of the norm

    (variance + ε)^(−1/2) = √(D/2)/C · (1 − θ),   0 ≤ θ ≤ τ = (A + ε·D/2)/(2C²),

because 1 ≥ (1 + t)^(−1/2) ≥ 1 − t/2. Weights that read the norm's output get ±½·C/√(D/2) as a factor, + for a_i and −
for b_i. The mean cancels in every difference of a pair, and what is read is (1 − θ)·Σ w_i·x_i: off by τ·Σ|w_i|·r_i.

**As it is computed**, with unit u. Suppose that the computed mean is within κ·u·C of m, and the computed variance
within κ·u of itself, with κ = 4·D + 32. (For two passes over D numbers, in any order, D + 4 and D + 4 + D·κ²·u/2 are
enough: each sum has D − 1 roundings, and a mean that is off by δ adds δ² to a variance of at least 2C²/D. PyTorch on
CPUs updates both number by number, as Welford does, in chunks; the tests measure it.)
Then 1/√ has κ/2 + 4 roundings. All outputs of a token have one shift s in common, |s| ≤ κ·u·C + 2S/D, and each has at
most 3 roundings of |a_i| + |s|. The weights have 6 roundings, with √(head size) for queries; the sum of 2n products and
a bias has 2n + 2, and the division of scores by √(head size) 4. Together, with |w| = Σ|w_i|,

    |read − (Σ w_i·x_i + bias)| ≤ τ·Σ|w_i|·r_i + (κ/2 + 2n + 20)·u·(Σ|w_i|·r_i + |w|·s) + (2n + 8)·u·|bias|,

and besides what underflows: in the norm's output, which the weights make C/√(D/2) times larger, and in 2n products.

**The choice of C.** A large C makes τ small and the shift s large, which is rounded. With the largest r = max r_i and
k channels, τ·r + (κ/2 + 2k + 20)·u·(κ·u·C) is smallest at C³ = (A + ε·D/2)·r/((κ/2 + 2k + 20)·κ·u²). C is the power of
two next to that; in float64 it is about 10⁹, and both terms are below one rounding of r.
"""

import math
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.errors import ExportError
from anyformer.networks.dtypes import DType

# PyTorch's default for nn.TransformerEncoderLayer.
EPSILON = 1e-5
# What is found for the plain network may grow by this share when the norm's error is added; checked afterwards.
ROOM = 2.0**-6
# Errors that are added up relatively may be so large: then products of them are within the slack below.
MOST = 2.0**-12
# For terms of second order, and for the roundings of the bound itself.
UP = 1 + 2.0**-10


@dataclass(frozen=True)
class Norm:
    """A layer norm over `width` numbers, of which `channels` pairs and the pair (large, −large) are not 0."""

    width: int
    channels: int
    dtype: DType
    large: float
    squares: float
    """A: the sum of the squares of what all channels can hold."""
    sizes: float
    """S: the sum of what all channels can hold."""

    @property
    def off(self) -> float:
        """τ: how far the norm's factor can be from √(D/2)/C, relatively, in real arithmetic."""
        return (self.squares + EPSILON * self.width / 2) / (2 * self.large**2) * UP

    @property
    def shift(self) -> float:
        """s: a bound of what all outputs of a token may be shifted by, before they are scaled."""
        return (trusted_roundings(self.width) * self.dtype.unit * self.large + 2 * self.sizes / self.width) * UP

    @property
    def unscale(self) -> float:
        """C/√(D/2): what weights are multiplied by to undo the norm."""
        return self.large / math.sqrt(self.width / 2)

    def reading_error(self, row: Array, reach: Array, bias: float) -> float:
        """The lemma: what reading row·x + bias through the norm may be off by."""
        sizes, count = np.abs(row), int(np.count_nonzero(row))
        if not count:
            return 0.0
        total = float(sizes.sum())
        through, straight = _roundings(self.width, count) * self.dtype.unit, (2 * count + 8) * self.dtype.unit
        read = float(sizes @ reach)
        lost = (2 * count + 2 * total * self.unscale) * self.dtype.underflow
        return (self.off * read + through * (read + total * self.shift) + straight * abs(bias) + lost) * UP

    def check(self) -> None:
        """Raise unless the type has the bits for it."""
        worst = max(self.off, _roundings(self.width, self.channels) * self.dtype.unit)
        if not worst <= MOST or not 2 * self.large**2 * self.width < self.dtype.largest:
            raise ExportError(
                f"a layer norm over {self.width} numbers must be off by at most {MOST:g} in {self.dtype}, and its sums "
                f"must not overflow; it may be off by {worst:.3g}. Build the model with fewer channels, or in float64."
            )


def trusted_roundings(width: int) -> int:
    """κ: how many roundings a norm's mean and variance may have; an assumption of the certificate."""
    return 4 * width + 32


def _roundings(width: int, count: int) -> float:
    return trusted_roundings(width) / 2 + 2 * count + 20


def norm_for(width: int, reach: Array, dtype: DType) -> Norm:
    """The norm with the best C for a stream whose channels hold no more than `reach`."""
    most = np.asarray(reach) * (1 + ROOM)
    # Where all channels hold 0, any C will do.
    squares, sizes, largest = float((most**2).sum()), float(most.sum()), float(most.max()) or 1.0
    per_shift = _roundings(width, len(reach)) * trusted_roundings(width) * dtype.unit**2
    best = ((squares + EPSILON * width / 2) * largest / per_shift) ** (1 / 3)
    # No channel may be larger than C.
    large = 2.0 ** max(round(math.log2(best)), math.ceil(math.log2(largest)))
    found = Norm(width, len(reach), dtype, large, squares * UP, sizes * UP)
    found.check()
    return found
