"""Sums of products: einsum, and everything that is one. Over tokens they are mixings, means or softmax heads."""

from collections import Counter
from collections.abc import Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.programs.tracing.axes import Axis, Kind, shape_of, sized
from anyformer.programs.tracing.broadcasting import constants
from anyformer.programs.tracing.rules.elementwise import arithmetic
from anyformer.programs.tracing.rules.linear_maps import is_linear_map, linear_map
from anyformer.programs.tracing.rules.movement import expanded, transposed
from anyformer.programs.tracing.rules.reductions import total
from anyformer.programs.tracing.runs import Run
from anyformer.programs.tracing.traced import Traced


def einsum(run: Run, subscripts: Any, *operands: Any) -> Traced:
    """np.einsum, from left to right."""
    if not isinstance(subscripts, str):
        raise NotTraceable("np.einsum is traced with its subscripts as a string: np.einsum('bjw,wv->bjv', x, W).")
    inputs, output = _labels(subscripts.replace(" ", ""), [_ndim(operand) for operand in operands])
    array, labels = operands[0], inputs[0]
    if len(operands) == 1:
        return _summed(run, array, labels, output)
    for at in range(1, len(operands)):
        later = set(output).union(*inputs[at + 1 :])
        both = dict.fromkeys([*labels, *inputs[at]])
        kept = output if at == len(operands) - 1 else "".join(label for label in both if label in later)
        array, labels = contracted(run, (array, labels), (operands[at], inputs[at]), kept), kept
    if not isinstance(array, Traced):
        raise NotTraceable("np.einsum without a traced array is NumPy's own.")
    return array


def _ndim(operand: Any) -> int:
    return len(operand.axes) if isinstance(operand, Traced) else np.ndim(operand)


def _labels(subscripts: str, ndims: Sequence[int]) -> tuple[list[str], str]:
    """The labels of every operand and of the result, dots replaced by letters that are not used."""
    left, arrow, right = subscripts.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ndims):
        raise ValueError("more operands provided to einstein sum function than specified in the subscripts string")
    free = [letter for letter in ascii_letters if letter not in subscripts]
    longest = max((ndim - len(one) + 3 for one, ndim in zip(inputs, ndims, strict=True) if "..." in one), default=0)
    dots = "".join(free[:longest])
    full = []
    for one, ndim in zip(inputs, ndims, strict=True):
        missing = ndim - len(one.replace("...", ""))
        full.append(one.replace("...", dots[len(dots) - missing :] if missing else ""))
        if len(full[-1]) != ndim:
            raise ValueError(f"operand has {ndim} dimensions, and the subscripts {one!r} name {len(full[-1])}")
    if not arrow:
        counts = Counter("".join(one.replace("...", "") for one in inputs))
        return full, dots + "".join(sorted(letter for letter, count in counts.items() if count == 1))
    return full, right.replace("...", dots)


def _summed(run: Run, array: Any, labels: str, output: str) -> Traced:
    if len(set(labels)) < len(labels):
        raise NotTraceable("np.einsum with a label twice in one operand takes a diagonal, which cannot be traced.")
    gone = tuple(at for at, label in enumerate(labels) if label not in output)
    kept = [label for label in labels if label in output]
    reduced = total(array, gone, name="np.einsum") if gone else array
    return transposed(reduced, [kept.index(label) for label in output])


def contracted(run: Run, first: tuple[Any, str], second: tuple[Any, str], output: str) -> Any:
    """The product of two arrays, summed over the labels that are not in the output."""
    if any(len(set(labels)) < len(labels) for _, labels in (first, second)):
        raise NotTraceable("np.einsum with a label twice in one operand takes a diagonal, which cannot be traced.")
    if not isinstance(first[0], Traced) and not isinstance(second[0], Traced):
        return np.einsum(f"{first[1]},{second[1]}->{output}", first[0], second[0])
    _check_sizes(first, second)
    if not isinstance(first[0], Traced):
        first, second = second, first
    if not isinstance(second[0], Traced):
        second = (_with_tokens(run, first, second, output), second[1])
    if not isinstance(second[0], Traced) and is_linear_map(first[0]):
        return linear_map(run, first, second, output)
    order = output + "".join(label for label in dict.fromkeys(first[1] + second[1]) if label not in output)
    parts = [_laid_out(array, labels, order) for array, labels in (first, second)]
    multiplied = arithmetic(run, np.multiply, *parts)
    gone = tuple(range(len(output), len(order)))
    return total(multiplied, gone, name="a sum of products") if gone else multiplied


def _check_sizes(first: tuple[Any, str], second: tuple[Any, str]) -> None:
    sizes: dict[str, int] = {}
    for array, labels in (first, second):
        shape = shape_of(array.axes) if isinstance(array, Traced) else np.shape(array)
        for label, size in zip(labels, shape, strict=True):
            if sizes.setdefault(label, size) not in (size, 1) and size != 1:
                raise ValueError(f"a sum of products over axes of different sizes, {sizes[label]} and {size}")
            sizes[label] = max(sizes[label], size)


def _laid_out(array: Any, labels: str, order: str) -> Any:
    """The array with one axis for every label of the order, of size 1 where it has none."""
    kept = [label for label in order if label in labels]
    missing = tuple(at for at, label in enumerate(order) if label not in labels)
    places = [labels.index(label) for label in kept]
    if not isinstance(array, Traced):
        return np.expand_dims(np.transpose(array, places), missing)
    return expanded(transposed(array, places), missing) if missing else transposed(array, places)


def _with_tokens(run: Run, first: tuple[Traced, str], second: tuple[Any, str], output: str) -> Any:
    """A plain array that mixes tokens as a traced one: its other axis of as many entries is one of tokens, too."""
    array, labels = second[0], second[1]
    kinds = {label: axis.kind for label, axis in zip(first[1], first[0].axes, strict=True)}
    if not any(kinds.get(label) is Kind.TOKENS and label not in output for label in labels):
        return (
            array
            if all(kinds.get(label, Kind.SIZED) is Kind.SIZED for label in labels)
            else _traced(run, array, [kinds.get(label, Kind.SIZED) for label in labels])
        )
    sizes = np.shape(array)
    found = [
        kinds.get(label, Kind.TOKENS if size == run.tokens else Kind.SIZED)
        for label, size in zip(labels, sizes, strict=True)
    ]
    return _traced(run, array, found)


def _traced(run: Run, array: Any, kinds: Sequence[Kind]) -> Traced:
    values = np.asarray(array)
    axes = tuple(Axis(kind, size) if size != 1 else sized(1) for kind, size in zip(kinds, values.shape, strict=True))
    return Traced(run, axes, constants(run, values, axes))


def matmul(run: Run, a: Any, b: Any) -> Traced:
    """a @ b."""
    first, second = _ndim(a), _ndim(b)
    if not first or not second:
        raise ValueError("matmul: input operand does not have enough dimensions")
    letters = ascii_letters[: max(first, second)]
    one = letters[len(letters) - first + 2 :] if first > 1 else ""
    other = letters[len(letters) - second + 2 :] if second > 1 else ""
    rows, columns = ("Y" if first > 1 else ""), ("Z" if second > 1 else "")
    batch = one if len(one) >= len(other) else other
    result = contracted(run, (a, f"{one}{rows}X"), (b, f"{other}X{columns}"), f"{batch}{rows}{columns}")
    assert isinstance(result, Traced)
    return result


def dot(run: Run, a: Any, b: Any) -> Traced:
    """np.dot."""
    first, second = _ndim(a), _ndim(b)
    if not first or not second:
        return arithmetic(run, np.multiply, a, b)
    mine, theirs = ascii_letters[: first - 1], ascii_letters[first - 1 : first + second - 2]
    inner = f"{theirs[:-1]}Z{theirs[-1]}" if second > 1 else "Z"
    result = contracted(run, (a, f"{mine}Z"), (b, inner), mine + theirs)
    assert isinstance(result, Traced)
    return result


def inner(run: Run, a: Any, b: Any) -> Traced:
    """np.inner: over the last axes."""
    first, second = _ndim(a), _ndim(b)
    if not first or not second:
        return arithmetic(run, np.multiply, a, b)
    mine, theirs = ascii_letters[: first - 1], ascii_letters[first - 1 : first + second - 2]
    result = contracted(run, (a, f"{mine}Z"), (b, f"{theirs}Z"), mine + theirs)
    assert isinstance(result, Traced)
    return result


def tensordot(run: Run, a: Any, b: Any, axes: Any = 2) -> Traced:
    """np.tensordot."""
    first, second = _ndim(a), _ndim(b)
    if isinstance(axes, int | np.integer):
        mine, theirs = list(range(first - int(axes), first)), list(range(int(axes)))
    else:
        mine, theirs = (np.atleast_1d(part).tolist() for part in axes)
    one, other = list(ascii_letters[:first]), list(ascii_letters[first : first + second])
    for p, q in zip(mine, theirs, strict=True):
        other[q] = one[p]
    gone = {one[p] for p in mine}
    output = "".join(label for label in [*one, *other] if label not in gone)
    result = contracted(run, (a, "".join(one)), (b, "".join(other)), output)
    assert isinstance(result, Traced)
    return result
