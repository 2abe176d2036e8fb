"""Which axes a product of two arrays brings together: einsum's subscripts, written out."""

import string
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyformer.intervals.ends import Plain
from anyformer.intervals.errors import IntervalError


@dataclass(frozen=True)
class Subscripts:
    """One letter an axis: those of every operand and those of the result."""

    operands: tuple[str, ...]
    result: str

    @property
    def written(self) -> str:
        """As einsum takes them."""
        return f"{','.join(self.operands)}->{self.result}"

    @property
    def summed(self) -> str:
        """The letters that the result no longer has."""
        return "".join(sorted(set("".join(self.operands)) - set(self.result)))

    def terms(self, shapes: Sequence[Sequence[int]]) -> int:
        """How many products every entry of the result adds up."""
        sizes: dict[str, int] = {}
        for letters, shape in zip(self.operands, shapes, strict=True):
            for letter, size in zip(letters, shape, strict=True):
                sizes[letter] = max(sizes.get(letter, 1), size)
        return int(np.prod([sizes[letter] for letter in self.summed], dtype=np.int64))

    def spread(self, operand: int, array: Plain) -> Plain:
        """One operand with the axes of the result first and the summed ones last, of size 1 where it has none."""
        letters = self.operands[operand]
        own = "".join(letter for letter in self.result + self.summed if letter in letters)
        ordered: Plain = np.einsum(f"{letters}->{own}", array)
        sizes = dict(zip(own, ordered.shape, strict=True))
        return ordered.reshape([sizes.get(letter, 1) for letter in self.result + self.summed])


def parsed(subscripts: str, dimensions: Sequence[int]) -> Subscripts:
    """Write out an ellipsis and an implied result.

    >>> parsed("...i,ij", [2, 2])
    Subscripts(operands=('Zi', 'ij'), result='Zj')
    """
    given, arrow, result = subscripts.replace(" ", "").partition("->")
    operands = given.split(",")
    if len(operands) != len(dimensions) or len(operands) > 2:
        raise IntervalError(
            f"np.einsum on intervals takes one operand or two, each with its subscripts; got {subscripts!r} for"
            f" {len(dimensions)} operands. Write it as a chain of np.einsum calls of two operands each."
        )
    free = "".join(letter for letter in string.ascii_letters if letter not in subscripts)
    hidden = [size - len(letters.replace("...", "")) for letters, size in zip(operands, dimensions, strict=True)]
    written = [letters.replace("...", _last(free, size)) for letters, size in zip(operands, hidden, strict=True)]
    common = _last(free, max((n for n, o in zip(hidden, operands, strict=True) if "..." in o), default=0))
    if not arrow:
        joined = given.replace("...", "").replace(",", "")
        result = "..." + "".join(sorted(letter for letter in set(joined) if joined.count(letter) == 1))
    return Subscripts(tuple(written), result.replace("...", common))


def matmul(first: int, second: int) -> Subscripts:
    """np.matmul of arrays of so many dimensions."""
    left = "k" if first == 1 else "...ik"
    right = "k" if second == 1 else "...kj"
    result = "..." + ("" if first == 1 else "i") + ("" if second == 1 else "j")
    return parsed(f"{left},{right}->{result}", [first, second])


def dot(first: int, second: int) -> Subscripts:
    """np.dot: the last axis of the first array with the last but one of the second."""
    return tensordot(first, second, ([first - 1], [max(second - 2, 0)]))


def tensordot(first: int, second: int, axes: tuple[Sequence[int], Sequence[int]]) -> Subscripts:
    """np.tensordot over pairs of axes, one of the first array with one of the second."""
    left = list(string.ascii_lowercase[:first])
    right = list(string.ascii_uppercase[:second])
    for at, other in zip(*axes, strict=True):
        right[other] = left[at]
    result = [letter for letter in left if letter not in right] + [letter for letter in right if letter not in left]
    return Subscripts(("".join(left), "".join(right)), "".join(result))


def _last(letters: str, size: int) -> str:
    return letters[len(letters) - size :]
