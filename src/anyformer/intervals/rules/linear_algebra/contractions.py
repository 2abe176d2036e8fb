"""Sums of products: matmul, dot, tensordot, einsum.

Rounding. Fix how NumPy, or the BLAS behind it, adds k products: in some order, each product rounded or fused into the
addition. The result is increasing in every exact product, rounding being monotone. So for members it is at least its
result for the least products qᵢ, which is off Σqᵢ by at most γ·Σ|qᵢ| with γ = ku/(1 − ku), u = 2⁻⁵³, and by
SMALLEST/2 for every product that underflows. What we compute is off by as much, or by one rounding more where it is a
sum of two. (k + 4)·(2⁻⁵²·S + 4·SMALLEST), for a computed S ≈ Σ|qᵢ|, exceeds both together and the rounding of the
bound itself while k² < 2⁵², which `sums.MOST_TERMS` sees to. The high ends mirror this.

Where S is huge or no number, partial sums may overflow both ways or 0 meet ∞: nothing is known. An infinite end of an
argument makes S infinite or NaN wherever it takes part.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np

from anyformer.intervals.ends import Ends, Plain, ends_of, is_point, magnitudes
from anyformer.intervals.errors import IntervalError, unsupported
from anyformer.intervals.rules.elementwise.arithmetic import multiply
from anyformer.intervals.rules.linear_algebra import subscripts as rules
from anyformer.intervals.rules.linear_algebra.subscripts import Subscripts
from anyformer.intervals.rules.reductions.sums import HUGE, MOST_TERMS, added_up
from anyformer.intervals.rules.rounding import SMALLEST, ULP, known_between
from anyformer.intervals.rules.undefined import INFINITIES, unknown

Product: TypeAlias = Callable[[Plain, Plain], Plain]

# Up to here all products of two intervals are written out, which is tight; beyond it BLAS multiplies parts.
FEW_TERMS = 16


def matmul(a: Ends, b: Ends) -> Ends:
    """a @ b."""
    return _contracted(np.matmul, rules.matmul(a.low.ndim, b.low.ndim), a, b)


def dot(a: Any, b: Any) -> Ends:
    """np.dot: a plain product if either is a number."""
    first, second = ends_of(a), ends_of(b)
    if first.low.ndim == 0 or second.low.ndim == 0:
        return multiply(first, second)
    return _contracted(np.dot, rules.dot(first.low.ndim, second.low.ndim), first, second)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Ends:
    """np.tensordot over the last `axes` of a and the first of b, or over given pairs of axes."""
    first, second = ends_of(a), ends_of(b)
    if isinstance(axes, int):
        axes = (range(first.low.ndim - axes, first.low.ndim), range(axes))
    pairs = (np.atleast_1d(axes[0]).tolist(), np.atleast_1d(axes[1]).tolist())
    rule = rules.tensordot(first.low.ndim, second.low.ndim, pairs)
    return _contracted(partial(np.tensordot, axes=pairs), rule, first, second)


def einsum(subscripts: Any, *operands: Any, optimize: Any = False) -> Ends:
    """np.einsum of one operand or two; `optimize` makes no difference to an enclosure."""
    del optimize
    if not isinstance(subscripts, str):
        raise unsupported("np.einsum with subscripts that are not a string")
    ends = [ends_of(operand) for operand in operands]
    rule = rules.parsed(subscripts, [operand.low.ndim for operand in ends])
    if len(ends) == 1:
        return _summed(rule, ends[0]) if rule.summed else _rearranged(rule, ends[0])
    return _contracted(partial(np.einsum, rule.written), rule, *ends)


def _summed(rule: Subscripts, a: Ends) -> Ends:
    def added(x: Plain) -> Plain:
        return np.asarray(np.einsum(rule.written, x))

    return added_up(added, a, rule.terms([a.low.shape]))


def _rearranged(rule: Subscripts, a: Ends) -> Ends:
    """Entries in another order, or those on a diagonal: NumPy gives a view, and so does this."""
    return Ends(np.einsum(rule.written, a.low), np.einsum(rule.written, a.high))


def _contracted(product: Product, rule: Subscripts, a: Ends, b: Ends) -> Ends:
    terms = rule.terms([a.low.shape, b.low.shape])
    if terms > MOST_TERMS:
        raise IntervalError(f"A sum on intervals has at most {MOST_TERMS} terms; got {terms}.")
    if is_point(b) or _of_one_sign(b):
        result = _in_parts(lambda x, y: product(y, x), b, a, terms)
    elif is_point(a) or _of_one_sign(a) or terms > FEW_TERMS:
        result = _in_parts(product, a, b, terms)
    else:
        result = _written_out(rule, a, b, terms)
    if (a.low >= 0).all() and (b.low >= 0).all():
        # Sums of non-negative products are not negative, rounded or not.
        result.low = np.maximum(result.low, 0.0)
    return result


def _of_one_sign(a: Ends) -> bool:
    return bool((a.low >= 0).all() or (a.high <= 0).all())


def _written_out(rule: Subscripts, a: Ends, b: Ends, terms: int) -> Ends:
    """Every product of two intervals has its extremes at corners; add those up."""
    first = [rule.spread(0, end) for end in (a.low, a.high)]
    second = [rule.spread(1, end) for end in (b.low, b.high)]
    corners = [x * y for x in first for y in second]
    low, high = reduce(np.minimum, corners), reduce(np.maximum, corners)
    axes = tuple(range(len(rule.result), low.ndim))

    def added(x: Plain) -> Plain:
        return np.asarray(x.sum(axis=axes))

    return _moved(added(low), added(np.abs(low)), added(high), added(np.abs(high)), terms)


def _in_parts(product: Product, a: Ends, b: Ends, terms: int) -> Ends:
    """Split a = a⁺ + a⁻ by sign; each part keeps its sign, and then the sign of an end of b picks the end of a.

    a⁺·b is least at the low end of b, with the low end of a⁺ where that is ≥ 0 and the high end where it is < 0, and
    so on. Exact unless an entry of a may have both signs; then the parts are taken as if they were independent, and
    the products of a low end have a sum of sizes up to twice that of |a|·|b|.
    """
    if is_point(a):
        above, below = _parts(a.low)
        lowest, highest = [(above, b.low), (below, b.high)], [(above, b.high), (below, b.low)]
    else:
        lowest, highest = _signed_pairs(a.low, a.high, b), _signed_pairs(a.high, a.low, Ends(b.high, b.low))
    size = np.asarray(product(magnitudes(a)[1], magnitudes(b)[1]))
    low, high = _added(product, lowest, size.shape), _added(product, highest, size.shape)
    if ((a.low < 0) & (a.high > 0)).any():
        size = 2 * size
    return _moved(low, size, high, size, terms)


def _signed_pairs(near: Plain, far: Plain, b: Ends) -> list[tuple[Plain, Plain]]:
    """The factors of the least products of [near, far] and b; of the greatest ones if all ends are exchanged."""
    (near_above, near_below), (far_above, far_below) = _parts(near), _parts(far)
    (low_above, low_below), (high_above, high_below) = _parts(b.low), _parts(b.high)
    return [(near_above, low_above), (far_above, low_below), (near_below, high_above), (far_below, high_below)]


def _parts(x: Plain) -> tuple[Plain, Plain]:
    return np.maximum(x, 0.0), np.minimum(x, 0.0)


def _added(product: Product, pairs: Sequence[tuple[Plain, Plain]], shape: tuple[int, ...]) -> Plain:
    # Parts that are all 0 cost nothing, which is the rule for weights of one sign.
    return sum((product(x, y) for x, y in pairs if x.any() and y.any()), start=np.zeros(shape))


def _moved(low: Plain, low_size: Plain, high: Plain, high_size: Plain, terms: int) -> Ends:
    def error(size: Plain) -> Plain:
        return (terms + 4) * (ULP * size + 4 * SMALLEST)

    result = known_between(low - error(low_size), high + error(high_size))
    if (low_size < HUGE).all() and (high_size < HUGE).all():
        return result
    return unknown(result, ~((low_size < HUGE) & (high_size < HUGE)), INFINITIES)
