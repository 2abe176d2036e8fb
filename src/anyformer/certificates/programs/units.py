"""What hidden units compute, from their weights: curves, products, maxima, gates, norms.

A node is read as channel + Σ slope·argument + constant, as its hint says. A rule bounds how far that is from the step
applied to what the units really read, which is the step's own error.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from anyformer.certificates.programs.along import Along, Units, alike, distance, outward
from anyformer.certificates.programs.circle import off_circle
from anyformer.certificates.programs.errors import UP, Error
from anyformer.certificates.programs.hints import Hint
from anyformer.certificates.programs.polylines import ReluSum, deviation
from anyformer.certificates.programs.stream import UNIT, Reading, Stream, must
from anyformer.programs.curves import Curve
from anyformer.programs.forms import Form, Node
from anyformer.programs.jets import Jet
from anyformer.programs.numbers import Number
from anyformer.programs.ranges import Range, meet, size
from anyformer.programs.steps import Absolute, Gate, Maximum, Norm, Product, Relu


@dataclass(frozen=True, eq=False)
class Computed:
    """What a rule found: how the node is read, its own error, and a bound of what the channel holds."""

    reading: Reading
    own: Error
    magnitude: float


def units_error(stream: Stream, units: Units, node: Node, hint: Hint) -> Computed:
    """Apply the rule for the node's step."""
    if stream.ranges.roots.of(node) is not None:
        return _curve(stream, units, node, hint)
    match node.step:
        case Product():
            return _product(stream, units, node, hint)
        case Maximum():
            return _maximum(stream, units, node, hint)
        case Relu() | Absolute():
            return _kink(stream, units, node, hint)
        case Gate():
            return _gate(stream, units, node, hint)
        case Norm():
            return _norm(stream, units, node, hint)
    must(False, f"{node} is done by hidden units")
    raise AssertionError


def _curve(stream: Stream, units: Units, node: Node, hint: Hint) -> Computed:
    root = stream.ranges.roots.of(node)
    assert root is not None
    must(len(hint.slopes) == 1, f"{node} has one slope")
    along = Along(stream, units, root)
    line = along.line(hint.slopes[0], hint.constant + units.shift)
    found = deviation(line, stream.ranges.curve(node), along.room)
    shift = _shift_rounding(hint, units)
    relative = found.relative + along.relative_rounding(line, stream.ranges.curve(node), shift)
    return _computed(stream, hint, [root], Error((found.absolute + along.extra + shift) * UP, relative * UP), along)


def _kink(stream: Stream, units: Units, node: Node, hint: Hint) -> Computed:
    """max(u, 0) and |u| are polylines themselves."""
    must(len(hint.slopes) == 1, f"{node} has one slope")
    form = node.args[0]
    along = Along(stream, units, form)
    relu = isinstance(node.step, Relu)
    curve = Curve(Jet.relu if relu else Jet.absolute, *stream.ranges.form(form))
    found = deviation(_with_knot(along.line(hint.slopes[0], hint.constant + units.shift)), curve, along.room)
    own = found.absolute + along.extra + _shift_rounding(hint, units)
    return _computed(stream, hint, [form], Error(own * UP), along)


def _maximum(stream: Stream, units: Units, node: Node, hint: Hint) -> Computed:
    """max(a, b) = b + (a − b)₊, and channel + s·a + t·b = b + (channel + s·(a − b)) if s + t = 1.

    The units look along the form a − b, whose coefficients are rounded: both (·)₊ and s· see the difference.
    """
    a, b = node.args
    must(len(hint.slopes) == 2, "a maximum has two slopes")
    total = Number(hint.slopes[0]) + Number(hint.slopes[1])
    must(total.value == 1 and total.doubt == 0, "the slopes of a maximum add up to 1")
    along = Along(stream, units, a - b)
    curve = Curve(Jet.relu, *stream.ranges.form(a - b))
    line = _with_knot(along.line(hint.slopes[0], hint.constant + units.shift))
    found = deviation(line, curve, along.room)
    rounded = stream.apart(stream.of(a - b), stream.of(a) + stream.of(b).scaled(-1.0)) * (1 + abs(hint.slopes[0]))
    own = found.absolute + along.extra + rounded + _shift_rounding(hint, units)
    return _computed(stream, hint, [a, b], Error(own * UP), along)


def _product(stream: Stream, units: Units, node: Node, hint: Hint) -> Computed:
    """a·b = ¼v² − ¼w² with v = λa + b/λ and w = λa − b/λ, exactly, if λ is a power of two."""
    a, b = node.args
    must(len(hint.slopes) == 2 and hint.stretch > 0 and math.frexp(hint.stretch)[0] == 0.5, "λ is a power of two")
    sums = [a.scaled(hint.stretch) + b.scaled(sign / hint.stretch) for sign in (1.0, -1.0)]
    readings = [stream.of(form) for form in sums]
    parts = stream.of(a).scaled(hint.stretch), stream.of(b).scaled(1 / hint.stretch)
    first = np.zeros(len(units.rows), dtype=np.bool_)
    for row, these in alike(np.where(stream.written, units.rows, 0.0)):
        first[these] = distance(row, readings[0]) <= distance(row, readings[1])
    least = most = extra = 0.0
    magnitude = abs(units.shift)
    for sign, form, mine, slope in zip((0.25, -0.25), sums, (first, ~first), hint.slopes, strict=True):
        where = widened_sum(stream, node, hint.stretch, np.sign(sign))
        along = Along(stream, units.some(mine), form, where, summed=len(units.weights))
        curve = Curve(partial(square, Number(sign)), *along.range)
        constant = hint.constant + units.shift if sign > 0 else 0.0
        found = deviation(along.line(slope, constant), curve, along.room)
        # Constants may be on either side: only the sums of both distances count.
        least, most = least + found.least, most + found.most
        magnitude, extra = magnitude + along.largest, extra + along.extra
        # The coefficients of the sum are rounded: ¼v² with v off by g is off by ½|v|·g + ¼g².
        g = stream.apart(stream.of(form), parts[0] + parts[1].scaled(float(np.sign(sign))))
        extra += g * (size(along.range) + max(along.room) + g)
    reading = stream.channel(hint.channel) + Reading(Number(np.zeros(stream.width)), Number(hint.constant))
    for known, slope in zip(readings, hint.slopes, strict=True):
        reading = reading + known.scaled(slope)
    # Both groups and the shift are one sum in the network.
    extra += stream.sum_rounding(len(units.weights) + units.parts, magnitude)
    own = float(np.maximum(-least, most)) + extra + _shift_rounding(hint, units)
    return Computed(reading, Error(own * UP), magnitude + extra)


def square(factor: Number, u: Jet) -> Jet:
    """factor·u²."""
    return u.apply("square").times(factor)


def widened_sum(stream: Stream, node: Node, stretch: float, sign: float) -> Range:
    """Where λa ± b/λ lies for exact a and b; the two are bounded apart and together."""
    a, b = node.args
    (al, ah), (bl, bh) = stream.ranges.form(a), stream.ranges.form(b)
    low, high = (bl, bh) if sign > 0 else (-bh, -bl)
    apart = stretch * al + low / stretch, stretch * ah + high / stretch
    slack = 4 * UNIT * (size(apart) + stretch * size((al, ah)) + size((bl, bh)) / stretch)
    together = stream.ranges.form(a.scaled(stretch) + b.scaled(sign / stretch))
    return meet((apart[0] - slack, apart[1] + slack), together)


def _gate(stream: Stream, units: Units, node: Node, hint: Hint) -> Computed:
    """At token j every unit is max(±v + a constant, 0): a polyline in v, which should be factor_j·v."""
    assert isinstance(node.step, Gate)
    must(len(hint.slopes) == 1, "a gate has one slope")
    form, factors = node.args[0], node.step.factors
    value = stream.of(form)
    must(value.constant.is_steady, "what is gated holds no position")
    signs, offsets, extra = [], [], 0.0
    for row, bias, weight in zip(units.rows, units.biases, units.weights, strict=True):
        reading = stream.read(row, float(bias))
        sign = 1.0 if float(np.dot(reading.row.value, value.row.value)) >= 0 else -1.0
        gap = stream.apart(Reading(reading.row), Reading(value.row * Number(sign)))
        offset = reading.constant + value.constant * Number(-sign)
        signs.append(sign)
        offsets.append(np.broadcast_to(np.asarray(offset.value), (stream.tokens,)))
        extra += abs(weight) * (gap + offset.most_doubt + stream.rounding(row, float(bias)))
    error = stream.errors.form(form).absolute
    low, high = outward(stream.ranges.form(form), (error * UP, error * UP))
    s, o = np.array(signs), np.array(offsets).reshape(len(signs), stream.tokens).T
    kinks = np.clip(-o * s, low, high)
    points = np.concatenate([np.full((stream.tokens, 1), low), np.full((stream.tokens, 1), high), kinks], axis=1)
    activations = np.maximum(s * points[:, :, None] + o[:, None, :], 0.0)
    outputs = activations @ units.weights + hint.slopes[0] * points + (hint.constant + units.shift)
    off = float(np.abs(outputs - factors.values[:, None] * points).max()) + float(factors.doubts.max()) * size(
        (low, high)
    )
    # sign·v + offset is rounded before the two cancel; then every term of the sums.
    sizes, far = activations @ np.abs(units.weights), size((low, high))
    terms = float((np.abs(o) + far).max(axis=0, initial=0.0) @ np.abs(units.weights))
    terms += (abs(hint.slopes[0]) + float(np.abs(factors.values).max())) * far + abs(hint.constant) + abs(units.shift)
    slip = stream.roundings(2 * (len(s) + units.parts + 16)) * terms + (len(s) + 1) * stream.underflow
    own = off + extra + slip + _shift_rounding(hint, units)
    reading = stream.channel(hint.channel) + value.scaled(hint.slopes[0])
    reading = reading + Reading(Number(np.zeros(stream.width)), Number(hint.constant))
    return Computed(reading, Error(own * UP), float(sizes.max()) + extra + slip + abs(units.shift))


def _norm(stream: Stream, units: Units, node: Node, hint: Hint) -> Computed:
    """Σ w·max(x·a + y·b, 0) + s·a + t·b is linear between the directions where a unit vanishes; its distance from
    √(a² + b²) = 1 on the unit circle is largest at such a direction, or where its gradient points or points away."""
    must(len(hint.slopes) == 2 and units.shift == 0 and hint.constant == 0, "a norm has no constant")
    a, b = (stream.of(form) for form in node.args)
    vectors, extra, sizes = [], 0.0, 0.0
    basis = np.stack([a.row.value, b.row.value], axis=1)
    must(bool(np.isfinite(basis).all()), "all numbers are finite")
    for row, bias, weight in zip(units.rows, units.biases, units.weights, strict=True):
        x, y = np.linalg.lstsq(basis, np.where(stream.written, row, 0.0), rcond=None)[0]
        reading = stream.read(row, float(bias))
        extra += abs(weight) * stream.apart(reading, a.times(Number(float(x))) + b.times(Number(float(y))))
        extra += abs(weight) * stream.rounding(row, float(bias))
        sizes += abs(weight) * stream.size(reading)
        vectors.append((float(x), float(y)))
    off = off_circle(np.array(vectors).reshape(-1, 2), units.weights, np.array(hint.slopes))
    longest = size(stream.ranges.node(node)) + math.hypot(*(stream.errors.form(form).absolute for form in node.args))
    rounding = stream.sum_rounding(len(units.weights) + units.parts + 4, sizes + extra)
    reading = stream.channel(hint.channel) + a.scaled(hint.slopes[0]) + b.scaled(hint.slopes[1])
    return Computed(reading, Error((off * longest + extra + rounding) * UP), sizes + extra + rounding)


def _with_knot(line: ReluSum) -> ReluSum:
    """The same function with a knot at 0, where the kink should be."""
    return ReluSum(
        line.slope,
        line.constant,
        np.append(line.signs, 1.0),
        np.append(line.offsets, 0.0),
        np.append(line.weights, 0.0),
        line.doubt,
    )


def _shift_rounding(hint: Hint, units: Units) -> float:
    return 4 * UNIT * (abs(hint.constant) + abs(units.shift))


def _computed(stream: Stream, hint: Hint, forms: list[Form], own: Error, along: Along) -> Computed:
    reading = stream.channel(hint.channel) + Reading(Number(np.zeros(stream.width)), Number(hint.constant))
    for form, slope in zip(forms, hint.slopes, strict=True):
        reading = reading + stream.of(form).scaled(slope)
    return Computed(reading, own, along.largest)
