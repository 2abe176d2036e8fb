"""Nodes that several feed-forward layers compute: helper channels, polylines of the node's roots or of other helpers.

u² needs 1/√ε units in one layer. With a triangle wave s of K teeth as a helper it is a chord of K pieces, minus
h²·(s − s²), and s² is the same problem again: L layers of K units are off by K^(−2L)/8. Nothing here knows of waves: a
helper is any polyline, composed explicitly, and its rounding is followed through whatever it is fed into.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from anyformer.arrays import Booleans
from anyformer.certificates.programs.along import Along, Units, alike, distance, outward
from anyformer.certificates.programs.composition import Polyline, composed
from anyformer.certificates.programs.errors import UP, Error
from anyformer.certificates.programs.hints import Hint
from anyformer.certificates.programs.polylines import ReluSum, deviation
from anyformer.certificates.programs.stream import UNIT, Reading, Stream, must
from anyformer.certificates.programs.units import Computed, square, widened_sum
from anyformer.programs.curves import Curve
from anyformer.programs.forms import Form, Node
from anyformer.programs.numbers import Number
from anyformer.programs.ranges import Range, size
from anyformer.programs.steps import Product

Lines = dict[int, Polyline]


@dataclass(frozen=True, eq=False)
class Helper:
    """A channel that holds Σ lines[r](u_r), with u_r the r-th root of the node as the stream holds it, up to doubts."""

    node: Node
    stretch: float
    lines: Lines

    @property
    def magnitude(self) -> float:
        """A bound of what the channel holds."""
        return sum(line.top + line.doubt for line in self.lines.values()) * UP


@dataclass(frozen=True, eq=False)
class Root:
    """What a node is a function of, where it lies, and the curve along it."""

    form: Form
    range: Range
    curve: Curve
    doubt: float = 0.0
    """How much the rounded coefficients of the form change the node."""


def helper_of(stream: Stream, units: Units, node: Node, hint: Hint, known: Mapping[int, Helper]) -> Helper:
    """What the units make of a helper channel."""
    must(not hint.slopes and not hint.helpers and hint.constant == 0, "a helper is its channel and nothing else")
    return Helper(node, hint.stretch, _held(stream, units, node, hint, known))


def helped_error(stream: Stream, units: Units, node: Node, hint: Hint, known: Mapping[int, Helper]) -> Computed:
    """The own error of a node that is channel + Σ slope·root + Σ slope·helper + constant."""
    roots = _roots(stream, node, hint)
    must(len(hint.slopes) == len(roots) + len(hint.helpers), "every root and every helper has a slope")
    must(len(set(hint.helpers)) == len(hint.helpers), "a helper is named once")
    lines = _held(stream, units, node, hint, known)
    magnitude = Helper(node, hint.stretch, lines).magnitude
    reading = stream.channel(hint.channel) + Reading(Number(np.zeros(stream.width)), Number(hint.constant))
    nothing = np.zeros(0)
    for r, (root, slope) in enumerate(zip(roots, hint.slopes[: len(roots)], strict=True)):
        straight = ReluSum(slope, 0.0 if r else hint.constant, nothing, nothing, nothing)
        _add(lines, r, Polyline.of(straight, *_span(stream, root)))
        reading = reading + stream.of(root.form).scaled(slope)
    for channel, slope in zip(hint.helpers, hint.slopes[len(roots) :], strict=True):
        for r, line in _helper(known, channel, node, hint).lines.items():
            _add(lines, r, line.scaled(slope))
        reading = reading + stream.channel(channel).scaled(slope)
    return Computed(reading, _error(stream, roots, lines), magnitude)


def _error(stream: Stream, roots: list[Root], lines: Lines) -> Error:
    """How far the polylines are from the curves. Constants may be on either side: only sums of distances count."""
    found = [
        deviation(lines[r], root.curve, Along.room_of(stream, root.form, root.range)) for r, root in enumerate(roots)
    ]
    least, most = sum(one.least for one in found), sum(one.most for one in found)
    own = float(np.maximum(-least, most)) + sum(root.doubt for root in roots)
    # Roundings are among the doubts of the polylines, so that the relative distance has them too.
    return Error(own * UP, found[0].relative * UP) if len(roots) == 1 else Error(own * UP)


def _roots(stream: Stream, node: Node, hint: Hint) -> list[Root]:
    ranges = stream.ranges
    root = ranges.roots.of(node)
    if root is not None:
        return [Root(root, ranges.form(root), ranges.curve(node))]
    must(isinstance(node.step, Product), f"{node} is a curve or a product")
    must(hint.stretch > 0 and np.frexp(hint.stretch)[0] == 0.5, "λ is a power of two")
    return [_square(stream, node, hint.stretch, sign) for sign in (1.0, -1.0)]


def _square(stream: Stream, node: Node, stretch: float, sign: float) -> Root:
    """±¼v² with v = λa ± b/λ; its coefficients are rounded: with v off by g it is off by ½|v|·g + ¼g²."""
    a, b = node.args
    form, where = a.scaled(stretch) + b.scaled(sign / stretch), widened_sum(stream, node, stretch, sign)
    exact = stream.of(a).scaled(stretch) + stream.of(b).scaled(sign / stretch)
    gap = stream.apart(stream.of(form), exact)
    room = max(Along.room_of(stream, form, where))
    return Root(form, where, Curve(partial(square, Number(sign / 4)), *where), gap * (size(where) + room + gap))


def _span(stream: Stream, root: Root) -> Range:
    """All that a root can be, and one number more at each end."""
    low, high = outward(root.range, Along.room_of(stream, root.form, root.range))
    return outward((low, high), (0.0, 0.0))


def _helper(known: Mapping[int, Helper], channel: int, node: Node, hint: Hint) -> Helper:
    must(channel in known, "a helper is known when it is read")
    helper = known[channel]
    must(helper.node is node and helper.stretch == hint.stretch, "a helper helps one node")
    return helper


def _held(stream: Stream, units: Units, node: Node, hint: Hint, known: Mapping[int, Helper]) -> Lines:
    """What a channel holds: units look along a root, or along one helper."""
    must(units.shift == 0, "a channel with helpers has no constant of its own")
    lines: Lines = {}
    left = np.ones(len(units.weights), dtype=np.bool_)
    for channel in (c for c, helper in known.items() if helper.node is node):
        mine = left & (units.rows[:, channel] != 0)
        if mine.any():
            helper = _helper(known, channel, node, hint)
            must(len(helper.lines) == 1, "units look along helpers of one root")
            ((r, inner),) = helper.lines.items()
            _add(lines, r, _along_helper(stream, units, mine, channel, inner))
            left = left & ~mine
    roots = _roots(stream, node, hint)
    for r, (root, mine) in enumerate(zip(roots, _by_root(stream, units, left, roots), strict=True)):
        if not mine.any():
            continue
        along = Along(stream, units.some(mine), root.form, root.range, summed=len(units.weights))
        line = Polyline.of(along.line(0.0, 0.0), *_span(stream, root))
        _add(lines, r, Polyline(line.at, line.heights, line.doubt + along.extra))
    return lines


def _by_root(stream: Stream, units: Units, left: Booleans, roots: list[Root]) -> Iterator[Booleans]:
    """Which units look along which root: the nearest one; what is not quite along it counts as error."""
    nearest = np.zeros(len(units.weights), dtype=np.int64)
    readings = [stream.of(root.form) for root in roots]
    for row, these in alike(np.where(stream.written, units.rows, 0.0)):
        nearest[these] = int(np.argmin([distance(row, reading) for reading in readings]))
    return (left & (nearest == r) for r in range(len(roots)))


def _along_helper(stream: Stream, units: Units, mine: Booleans, channel: int, inner: Polyline) -> Polyline:
    """Units max(±s + bias, 0) of a helper s, with the roundings of ±s + bias and of the sum over all units."""
    rows, biases, weights = units.rows[mine], units.biases[mine], units.weights[mine]
    signs = rows[:, channel]
    must(bool((np.abs(signs) == 1).all()) and np.count_nonzero(rows) == len(rows), "a helper is read as it is")
    line = composed(ReluSum(0.0, 0.0, signs, biases, weights), inner)
    largest = float(np.abs(weights) @ (inner.top + inner.doubt + np.abs(biases))) * (1 + len(weights) * 2 * UNIT)
    count = len(units.weights) + units.parts + 8
    slips = [stream.slip(row, bias) for row, bias in zip(rows, biases.tolist(), strict=True)]
    rounding = stream.roundings(2 * count) * largest + count * stream.underflow + float(np.abs(weights) @ slips)
    return Polyline(line.at, line.heights, line.doubt + rounding * UP)


def _add(lines: Lines, r: int, line: Polyline) -> None:
    lines[r] = lines[r] + line if r in lines else line
