"""Is a finite map a contextual mapping, as the papers define it? With a witness where it is not."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyformer.errors import AnyformerError
from anyformer.targets.target import Symmetry


@dataclass(frozen=True)
class ContextualMapReport:
    """Whether a map is contextual; if not, two (sequence, token) places that share an id, and why that is a fault."""

    is_contextual: bool
    reason: str
    witness: tuple[tuple[int, int], tuple[int, int]] | None = None


def check_contextual_map(
    sequences: ArrayLike, ids: ArrayLike, symmetry: Symmetry = Symmetry.EQUIVARIANT
) -> ContextualMapReport:
    """Check the two conditions of a contextual mapping q on a finite set of sequences.

    (i) the entries of q(L) are all different; (ii) q(L) and q(L') share no entry for L ≠ L', where with EQUIVARIANT
    symmetry sequences that are column permutations of each other count as the same, and q must then permute with
    them.

    Args:
        sequences: shape (count, tokens) or (count, tokens, width), all different.
        ids: q of each sequence, shape (count, tokens).
        symmetry: which sequences count as the same.

    Example:
        >>> check_contextual_map([[0, 1], [0, 2]], [[1, 2], [1, 3]]).witness
        ((0, 0), (1, 0))
    """
    contents, values = np.asarray(sequences), np.asarray(ids)
    if values.ndim != 2 or contents.shape[:2] != values.shape:
        raise AnyformerError(
            f"ids must have shape (count, tokens) and sequences (count, tokens[, width]), the same count and tokens; "
            f"got {values.shape} and {contents.shape}"
        )
    columns = _column_names(contents)
    owners: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for row, token in np.ndindex(*values.shape):
        owners[values[row, token].item()].append((row, token))
    for shared in owners.values():
        fault = _fault(shared, columns, symmetry)
        if fault:
            return fault
    return ContextualMapReport(True, f"all ids of {len(values)} sequences are apart")


def _column_names(contents: NDArray[Any]) -> list[list[int]]:
    """Number the different columns, so that sequences can be compared quickly."""
    tokens = contents.shape[1]
    flat = contents.reshape(contents.shape[0] * tokens, math.prod(contents.shape[2:]))
    return list(np.unique(flat, axis=0, return_inverse=True)[1].reshape(-1, tokens).tolist())


def _fault(
    shared: Sequence[tuple[int, int]], columns: list[list[int]], symmetry: Symmetry
) -> ContextualMapReport | None:
    """Why two places must not share an id."""
    first_row, first_token = shared[0]
    for row, token in shared[1:]:
        witness = ((first_row, first_token), (row, token))
        if row == first_row:
            return ContextualMapReport(False, f"two tokens of sequence {row} have the same id", witness)
        alike = symmetry is Symmetry.EQUIVARIANT and sorted(columns[row]) == sorted(columns[first_row])
        if not alike:
            return ContextualMapReport(False, f"sequences {first_row} and {row} are different but share an id", witness)
        if columns[row][token] != columns[first_row][first_token]:
            reason = (
                f"sequences {first_row} and {row} are permutations of each other, but their ids are not permuted alike"
            )
            return ContextualMapReport(False, reason, witness)
    return None
