"""A linear map by the weights that are not 0: W x + b of wide networks, most of whose weights are.

Leaving out a product with a weight of 0 changes no bit while the other factor is finite: the sum stays what it was, and
the sign of a zero is dropped at the end. A factor that has overflowed gives NaN by the definition. So every map has a
`limit`: tokens x with Σ|x| up to it may take the short way, and what comes of them is finite. The others are
computed with every product (`all_products`).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.networks.dtypes import FLOAT64, DType
from anyformer.networks.fused import fused
from anyformer.networks.magnitudes import MOST_TAME


class SparseRows(NamedTuple):
    """Row i of a matrix has `weights[starts[i]:starts[i + 1]]` in these `columns`, from left to right."""

    starts: Integers
    columns: Integers
    weights: Array

    @classmethod
    def of(cls, matrix: Array) -> "SparseRows":
        """The weights of a matrix that are not 0."""
        rows, columns = np.nonzero(matrix)
        starts = np.searchsorted(rows, np.arange(len(matrix) + 1))
        return cls(starts.astype(np.int64), columns.astype(np.int64), matrix[rows, columns])


@dataclass(frozen=True, eq=False)
class LinearMap:
    """W x + b for tokens, each a column of x: from the bias on, one fused product after the other."""

    W: Array
    b: Array
    rows: SparseRows

    @classmethod
    def of(cls, W: Array, b: Array) -> "LinearMap":
        """Find the weights that are not 0."""
        return cls(W, b, SparseRows.of(W))

    @property
    def limit(self) -> float:
        """The largest Σ|x| for which all sums of the map stay finite; negative if there is none."""
        return safe_size(self.W, self.b)

    def all_products(self, x: Array, dtype: DType = FLOAT64) -> Array:
        """W x + b by the definition, zeros included; x has shape (columns of W, tokens)."""
        total = np.repeat(self.b[:, None], x.shape[1], axis=1)
        for weights, row in zip(self.W.T, x, strict=True):
            total = fused(weights[:, None], row, total, dtype)
        return total


def safe_size(W: Array, b: Array) -> float:
    """The largest Σ|x| for which every partial sum of W x + b stays finite; negative if b alone may overflow.

    |b| and the largest |W| times Σ|x| are at most 2¹⁰⁰⁰ each, so a partial sum is at most 2¹⁰⁰¹; its roundings do not
    matter beside the 2¹⁰²⁴ where float64 ends.
    """
    if not (np.abs(b) <= MOST_TAME).all():
        return -1.0
    return float(MOST_TAME / max(1.0, np.abs(W).max(initial=0.0)))
