"""Enclosing the output of feed-forward layers.

A token only meets the layers that can be awake for it (`networks.runs`); each round takes every token to its own next
layer. There:

- *along one coordinate*: all units read one coordinate t, known as an interval. The output is a piecewise linear
  function of t,
  so its range is attained at the ends and the kinks. Plain interval arithmetic would forget that the t in
  X + W_2 ReLU(W_1 X) is the same t twice, and a cell would never be seen to collapse to a point;
- *generic*: interval arithmetic, exact on points.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyformer.arrays import Array, Integers
from anyformer.certificates.propagation.enclosures import Arithmetic, Enclosure, affine, stack, sum_of_products, up
from anyformer.certificates.propagation.gate import check_feed_forward, largest
from anyformer.networks.dtypes import FLOAT64
from anyformer.networks.layers import FeedForwardStage
from anyformer.networks.runs import LayerRun, Layers, runs


def enclose_feed_forward(
    stage: FeedForwardStage, x: Enclosure, arithmetic: Arithmetic, layers: Layers = Layers.AWAKE
) -> Enclosure:
    """Enclose the stage's output for every token; x has shape (tokens, width)."""
    # Until tokens have been mixed, a token of a cell is one of a few columns: each is followed once.
    x, places = _distinct(x)
    size = largest(x)
    for run in runs(stage):
        size = max(size, _walk(stage, run, x, arithmetic, layers))
    if arithmetic.covers_program:
        check_feed_forward(stage, size, arithmetic)
    return x[places]


def _distinct(x: Enclosure) -> tuple[Enclosure, Integers]:
    """The different tokens among x, as new arrays, and for each token of x its place among them."""
    ends = np.ascontiguousarray(np.concatenate([x.low, x.high, x.slack], axis=1))
    rows = ends.view(np.dtype((np.void, ends.itemsize * ends.shape[1]))).ravel()
    _, first, places = np.unique(rows, return_index=True, return_inverse=True)
    return x[first], places


def _walk(stage: FeedForwardStage, run: LayerRun, x: Enclosure, arithmetic: Arithmetic, layers: Layers) -> float:
    """Take every token through the layers of a run, or those that may be awake for it; changes x in place.

    Returns the largest size that a token may have had on the way.
    """
    size = 0.0
    coordinate = only_coordinate_read(stage, run)
    tokens = np.arange(len(x.low))
    layer = np.full(len(tokens), run.start)
    while True:
        # Which layers sleep is known with float64's roundings in mind; other types take them all.
        if layers is Layers.AWAKE and arithmetic.dtype == FLOAT64:
            here = x[tokens].folded()
            layer = run.next_awake(layer, *run.reading(here.low, here.high))
        tokens, layer = tokens[layer < run.stop], layer[layer < run.stop]
        if not len(tokens):
            return size
        units = _Layers(stage.W_1[layer], stage.b_1[layer], stage.W_2[layer], stage.b_2[layer])
        part = _enclose(units, x[tokens], coordinate, arithmetic)
        x.low[tokens], x.high[tokens], x.slack[tokens] = part.low, part.high, part.slack
        size = max(size, largest(part))
        layer = layer + 1


@dataclass(frozen=True, eq=False)
class _Layers:
    """One layer per token: W_1 (tokens, units, width) and so on."""

    W_1: Array
    b_1: Array
    W_2: Array
    b_2: Array

    def __getitem__(self, rows: NDArray[Any]) -> "_Layers":
        return _Layers(self.W_1[rows], self.b_1[rows], self.W_2[rows], self.b_2[rows])


def _enclose(units: _Layers, x: Enclosure, coordinate: int | None, arithmetic: Arithmetic) -> Enclosure:
    if coordinate is None:
        return _generic(units, x, arithmetic)
    wide = x.low[:, coordinate] < x.high[:, coordinate]
    if not wide.any():
        return _generic(units, x, arithmetic)
    result = Enclosure(np.empty_like(x.low), np.empty_like(x.low), np.empty_like(x.low))
    for rows, part in (
        (wide, _along(units[wide], coordinate, x[wide], arithmetic)),
        (~wide, _generic(units[~wide], x[~wide], arithmetic)),
    ):
        result.low[rows], result.high[rows], result.slack[rows] = part.low, part.high, part.slack
    return result


def _generic(units: _Layers, x: Enclosure, arithmetic: Arithmetic) -> Enclosure:
    """Interval arithmetic, exact on points wherever the program is."""
    hidden = affine(units.W_1, x[:, None, :], units.b_1, arithmetic)
    silent = hidden.high + hidden.slack <= 0
    hidden = Enclosure(np.maximum(hidden.low, 0.0), np.maximum(hidden.high, 0.0), np.where(silent, 0.0, hidden.slack))
    outputs = []
    for coordinate in range(x.low.shape[1]):
        weights = units.W_2[:, coordinate]
        terms = stack([x[:, coordinate], *(hidden[:, unit] for unit in range(weights.shape[1]))])
        weights = np.concatenate([np.ones((len(weights), 1)), weights], axis=1)
        outputs.append(affine(weights, terms, units.b_2[:, coordinate], arithmetic))
    return stack(outputs)


def only_coordinate_read(stage: FeedForwardStage, run: LayerRun) -> int | None:
    """The coordinate a run reads, if it is one and every kink can be computed without rounding."""
    read = np.flatnonzero(run.direction)
    if len(read) != 1:
        return None
    weights = stage.W_1[run.start : run.stop]
    others = np.delete(weights, read[0], axis=2)
    exact = (weights == 0) | (np.abs(np.frexp(weights)[0]) == 0.5)
    return int(read[0]) if exact.all() and not others.any() else None


def _along(units: _Layers, coordinate: int, x: Enclosure, arithmetic: Arithmetic) -> Enclosure:
    """The range of layers all of whose units read one coordinate, known as an interval."""
    x = x.folded()
    t_low, t_high = x.low[:, coordinate], x.high[:, coordinate]
    ranges = [_range(units, coordinate, output, t_low, t_high, arithmetic) for output in range(x.low.shape[1])]
    low, high = (np.stack(ends, axis=1) for ends in zip(*ranges, strict=True))
    if arithmetic.covers_program:
        margin = _rounding_between(units, coordinate, t_low[:, None], t_high[:, None], arithmetic)
        # Where nothing but the last addition is rounded, it stays between numbers of the type.
        low, high = arithmetic.dtype.rounded_outward(low - margin, high + margin)
    others = Enclosure.box(x.low.copy(), x.high.copy())
    others.low[:, coordinate] = others.high[:, coordinate] = 0.0
    return affine(np.ones(2), stack([Enclosure.box(low, high), others]), arithmetic=arithmetic)


def _range(
    units: _Layers, coordinate: int, output: int, t_low: Array, t_high: Array, arithmetic: Arithmetic
) -> tuple[Array, Array]:
    """Bounds of one output coordinate for t in [t_low, t_high], the other coordinates being 0.

    Where the line beyond the outermost kink is flat, the interval is cut off at the kink: this avoids the rounding of
    far ends and makes an unbounded interval bounded. Otherwise an infinite end means an infinite range. Kinks are
    exact: slopes are powers of two, and quotients of tame numbers neither overflow nor underflow.
    """
    slopes = units.W_1[:, :, coordinate]
    # A unit that does not read t has no kink; 0 is as good a place as any.
    kinks = -units.b_1 / np.where(slopes == 0, 1.0, slopes) * (slopes != 0)
    for side, outermost in ((1.0, kinks.max(axis=1)), (-1.0, kinks.min(axis=1))):
        growth, error = _growth(units, coordinate, output, side, arithmetic)
        flat = (growth == 0) & (error == 0)
        stop = np.minimum if side > 0 else np.maximum
        t_low, t_high = (np.where(flat, stop(t, outermost), t) for t in (t_low, t_high))
    spots = np.concatenate([t_low[:, None], t_high[:, None], np.clip(kinks, t_low[:, None], t_high[:, None])], axis=1)
    some = np.clip(0.0, t_low, t_high)[:, None]
    low, high = _values_at(units, coordinate, output, np.where(np.isfinite(spots), spots, some), arithmetic)
    for side, endless in ((1.0, t_high == np.inf), (-1.0, t_low == -np.inf)):
        growth, error = _growth(units, coordinate, output, side, arithmetic)
        high = np.where(endless & ~(side * growth + error <= 0), np.inf, high)
        low = np.where(endless & ~(side * growth - error >= 0), -np.inf, low)
    return low, high


def images(
    stage: FeedForwardStage,
    layers: range,
    coordinate: int,
    t_low: float,
    t_high: float,
    arithmetic: Arithmetic = Arithmetic.FLOAT64_AND_REAL,
) -> tuple[Array, Array]:
    """The image of an interval of t under each of some layers that read only the coordinate t, in float64 and exactly.

    Shape (layers, width): for that coordinate where t goes, for the others what is added to them. Below the kinks of
    units that all look upwards a layer changes nothing, also in float64; rounding happens only beyond them.
    """
    units = _Layers(*(array[layers.start : layers.stop] for array in (stage.W_1, stage.b_1, stage.W_2, stage.b_2)))
    slopes = units.W_1[:, :, coordinate]
    first = np.where(slopes == 0, np.inf, -units.b_1 / np.where(slopes == 0, 1.0, slopes)).min(axis=1)
    rests = (slopes >= 0).all(axis=1) & ((slopes > 0) | (units.b_1 <= 0)).all(axis=1) & (units.b_2 == 0).all(axis=1)
    low = np.where(rests, np.clip(first, t_low, t_high), t_low)
    high = np.full(len(layers), t_high)
    ranges = [_range(units, coordinate, output, low, high, arithmetic) for output in range(stage.width)]
    least, most = (np.stack(ends, axis=1) for ends in zip(*ranges, strict=True))
    margin = _rounding_between(units, coordinate, low[:, None], high[:, None], arithmetic)
    least, most = least - margin, most + margin
    at_rest = (rests & (low > t_low))[:, None]
    moved = np.arange(stage.width) == coordinate
    least = np.where(at_rest, np.minimum(least, np.where(moved, t_low, 0.0)), least)
    most = np.where(at_rest, np.maximum(most, np.where(moved, low[:, None], 0.0)), most)
    return least, most


def _growth(units: _Layers, coordinate: int, output: int, side: float, arithmetic: Arithmetic) -> tuple[Array, Array]:
    """The slope of an output coordinate beyond the outermost kink on one side, and what rounding may have added."""
    slopes = units.W_1[:, :, coordinate]
    alive = np.where(side * slopes > 0, units.W_2[:, output], 0.0)
    residual = np.full((len(slopes), 1), float(output == coordinate))
    return sum_of_products(
        np.concatenate([residual, alive], axis=1), np.concatenate([np.ones_like(residual), slopes], axis=1), arithmetic
    )


def _values_at(
    units: _Layers, coordinate: int, output: int, spots: Array, arithmetic: Arithmetic
) -> tuple[Array, Array]:
    """The least and greatest value of an output coordinate over some values of one coordinate, the others being 0."""
    tokens, count = spots.shape
    points = np.zeros((tokens * count, units.b_2.shape[1]))
    points[:, coordinate] = spots.ravel()
    values = _generic(units[np.repeat(np.arange(tokens), count)], Enclosure.box(points, points), arithmetic)[:, output]
    values = values.reshape(tokens, count)
    return values.low.min(axis=1), values.high.max(axis=1)


def _rounding_between(units: _Layers, coordinate: int, t_low: Array, t_high: Array, arithmetic: Arithmetic) -> Array:
    """By how much the program may leave the range at inputs between the ends and the kinks.

    By nothing if one unit alone is awake, its input w·t + b is exact and so is its product with W_2, a power of two:
    then only the last addition rounds, and rounding is monotone, so it cannot leave a range whose ends are floats.

    w·t + b is exact by Sterbenz' lemma, |b|/2 <= |w·t| <= 2|b| with opposite signs, for |b| >= `normal`: then w·t is a
    normal number, a multiple of u·|b|, and its product with W_2 is exact if |W_2·b| >= `normal` as well. Or b = 0: t is
    a multiple of the smallest number, and stays one times |w| >= 1 and times |w·W_2| >= 1.
    """
    slopes, biases, W_2, b_2 = units.W_1[:, :, coordinate], units.b_1, units.W_2, units.b_2
    reach = np.maximum(np.abs(t_low), np.abs(t_high))
    operations = slopes.shape[1] + 4
    parts = np.abs(slopes) * reach + np.abs(biases)
    size = reach + (np.abs(W_2) * parts[:, None, :]).sum(axis=2) + np.abs(b_2)
    # What underflows in a unit is multiplied by its W_2.
    normal = arithmetic.normal
    margin = up(operations * (arithmetic.ulp * size + arithmetic.smallest * (1 + np.abs(W_2).sum(axis=2))))
    ends = np.stack([slopes * t_low, slopes * t_high])
    # A unit may be asleep in float64 only because w·t underflows, while it is awake in real arithmetic.
    lost = (np.abs(ends) < normal) & (np.stack([t_low, t_high]) != 0) & (slopes != 0) & (biases == 0)
    awake = ~(((ends + biases <= 0) & ~lost).all(axis=0) | (W_2 == 0).all(axis=1))
    opposite = (np.sign(ends) == -np.sign(biases)).all(axis=0)
    near = (np.abs(ends) >= np.abs(biases) / 2).all(axis=0) & (np.abs(ends) <= np.abs(biases) * 2).all(axis=0)
    sterbenz = opposite & near & (np.abs(biases) >= normal)
    homogeneous = (biases == 0) & (np.abs(slopes) >= 1)
    alone = (awake.sum(axis=1) <= 1) & (~awake | sterbenz | homogeneous).all(axis=1)
    is_power = np.abs(np.frexp(W_2)[0]) == 0.5
    with np.errstate(over="ignore"):  # infinity is a true bound
        gain = np.abs(W_2) * np.where(biases == 0, np.abs(slopes), np.abs(biases))[:, None, :]
    is_kept = is_power & (gain >= np.where(biases == 0, 1.0, normal)[:, None, :])
    exact_products = (~awake[:, None, :] | (W_2 == 0) | is_kept).all(axis=2)
    moved = np.arange(b_2.shape[1]) == coordinate
    untouched = (W_2 == 0).all(axis=2) & (b_2 == 0)
    exact = alone[:, None] & exact_products & moved & (b_2 == 0)
    return np.where(exact | (untouched & ~moved), 0.0, margin)
