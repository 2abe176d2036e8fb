"""Networks of width 1 without attention are piecewise linear functions of one number: here exactly, with their errors.

So the truth is known to any precision, whatever the weights: every d_p against another piecewise linear function.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from flint import arb, ctx, fmpq

from anyformer.networks import FeedForwardLayer, Network
from tests.hunt.real import BITS, exact


@dataclass(frozen=True)
class Piecewise:
    """Values at rising knots, linear between them, with a slope of their own before the first and after the last."""

    knots: tuple[fmpq, ...]
    values: tuple[fmpq, ...]
    left: fmpq
    right: fmpq

    def __call__(self, x: fmpq) -> fmpq:
        k = bisect_right(self.knots, x)
        if k == 0:
            return self.values[0] + self.left * (x - self.knots[0])
        if k == len(self.knots):
            return self.values[-1] + self.right * (x - self.knots[-1])
        share = (x - self.knots[k - 1]) / (self.knots[k] - self.knots[k - 1])
        return self.values[k - 1] + share * (self.values[k] - self.values[k - 1])

    def crossings(self, level: fmpq) -> Iterable[fmpq]:
        """Where the value passes a level, besides the knots."""
        for side, knot, value, slope in (
            (-1, self.knots[0], self.values[0], self.left),
            (1, self.knots[-1], self.values[-1], self.right),
        ):
            if slope and (at := knot + (level - value) / slope) != knot and (at > knot) == (side > 0):
                yield at
        for k in range(len(self.knots) - 1):
            before, after = self.values[k] - level, self.values[k + 1] - level
            if before * after < 0:
                yield self.knots[k] + before / (before - after) * (self.knots[k + 1] - self.knots[k])


def line(slope: fmpq, intercept: fmpq) -> Piecewise:
    """slope·x + intercept."""
    return Piecewise((fmpq(0),), (intercept,), slope, slope)


def of_network(network: Network) -> Piecewise:
    """The function that the network applies to every token, in real arithmetic."""
    g = line(fmpq(1), fmpq(0))
    for stage in network.stages:
        for k in range(len(stage)):
            layer = stage[k]
            assert isinstance(layer, FeedForwardLayer)
            g = _after(layer, g)
    return g


def _after(layer: FeedForwardLayer, g: Piecewise) -> Piecewise:
    units = [
        (exact(w), exact(b), exact(v))
        for w, b, v in zip(layer.W_1[:, 0].tolist(), layer.b_1.tolist(), layer.W_2[0].tolist(), strict=True)
        if v
    ]
    knots = sorted({*g.knots, *(at for w, b, _ in units if w for at in g.crossings(-b / w))})
    inputs, bias = [g(at) for at in knots], exact(layer.b_2[0])
    values = [y + bias + sum((v * max(w * y + b, fmpq(0)) for w, b, v in units), fmpq(0)) for y in inputs]
    # Beyond the outermost knots every unit keeps its side: the one on which it grows outwards, or where it stands.
    left = g.left + sum((v * w * g.left for w, b, v in units if w * g.left < 0), fmpq(0))
    right = g.right + sum((v * w * g.right for w, b, v in units if w * g.right > 0), fmpq(0))
    return _thinned(knots, values, left, right)


def _thinned(knots: list[fmpq], values: list[fmpq], left: fmpq, right: fmpq) -> Piecewise:
    """Without knots at which nothing bends."""
    slopes = [left, *((values[k + 1] - values[k]) / (knots[k + 1] - knots[k]) for k in range(len(knots) - 1)), right]
    bends = [k for k in range(len(knots)) if slopes[k] != slopes[k + 1]] or [0]
    return Piecewise(tuple(knots[k] for k in bends), tuple(values[k] for k in bends), left, right)


def distance(f: Piecewise, g: Piecewise, low: fmpq, high: fmpq, p: float, tokens: int) -> arb:
    """d_p over [low, high]^tokens of the two functions applied to every token."""
    ctx.prec = BITS
    spots = sorted({low, high, *(k for k in (*f.knots, *g.knots) if low < k < high)})
    pieces = [(b - a, g(a) - f(a), g(b) - f(b)) for a, b in pairwise(spots)]
    pieces = [part for piece in pieces for part in _by_sign(*piece)]
    most = max(max(a, b) for _, a, b in pieces)
    if most == 0:
        return arb(0)
    power = sum((_integral(length, a / most, b / most, p) for length, a, b in pieces), arb(0))
    others = tokens * (high - low) ** (tokens - 1)
    return arb(most) * ((arb(others) * power).log() / arb(exact(p))).exp()


def _by_sign(length: fmpq, a: fmpq, b: fmpq) -> list[tuple[fmpq, fmpq, fmpq]]:
    """A piece of the error as pieces of its absolute value."""
    if a * b >= 0:
        return [(length, abs(a), abs(b))]
    share = a / (a - b)
    return [(length * share, abs(a), fmpq(0)), (length * (1 - share), fmpq(0), abs(b))]


def _integral(length: fmpq, a: fmpq, b: fmpq, p: float) -> arb:
    """∫ of the p-th power of what goes from a to b, both between 0 and 1."""
    order = arb(exact(p))
    if a == b:
        return arb(length) * _power(a, order)
    return arb(length) * (_power(b, order + 1) - _power(a, order + 1)) / (arb(b - a) * (order + 1))


def _power(a: fmpq, order: arb) -> arb:
    if a in (0, 1):
        return arb(a)
    return (arb(a).log() * order).exp()
