"""Instances by a seed: boxes from a point to the whole domain, thresholds from far away to as near as can be known.

*unsat*: the threshold of a comparison lies beyond the target's range on the box, by the certified error and some slack.
The network differs from the target by no more than the certified error, so no input of the box reaches the threshold.
*sat*: the thresholds are set a margin below what the network returns for one input of the box, the witness. It is run
three ways before the instance counts.

All numbers are float32 numbers, and boxes lie inside the domain.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from anyformer.arrays import Array
from anyformer.errors import ExportError
from anyformer.exports.vnnlib.boxes import largest_box, random_box, random_points
from anyformer.exports.vnnlib.extremes import extreme
from anyformer.exports.vnnlib.instances import Impossible, Instance, Refutation, Witness
from anyformer.exports.vnnlib.properties import Comparison, Property, Sense
from anyformer.exports.vnnlib.subject import Subject
from anyformer.networks.dtypes import FLOAT32

REACHES: Final = {"point": 0.0, "tiny": 2.0**-8, "small": 2.0**-5, "large": 2.0**-2, "whole": 1.0}
"""Sides of the box, as a share of the domain's."""
CLOSENESS: Final = {"wide": 1.0, "moderate": 2.0**-3, "narrow": 2.0**-6, "narrowest": 0.0}
"""What is added to the least distance of a threshold, as a share of the range of all outputs."""
SHAPES: Final = ("single", "disjunction", "conjunction", "disjunction of conjunctions")
# Tools round: an unsat threshold is at least so far beyond all outputs, relative to 1 + |threshold|; and a witness
# exceeds its thresholds by at least as much as the competition's own check of witnesses tolerates.
UNSAT_SLACK, SAT_MARGIN = 2.0**-18, 2.0**-12
# Inputs among which a witness is looked for.
SEARCHED = 2000
# A bound may stay this far above the largest value found, as a share of the certified error.
NEARNESS = 0.25
Asked: TypeAlias = tuple[tuple[int, int], Sense]
"""An output entry, and in which sense it is compared; the threshold is still open."""
TIMEOUTS: Final = {"point": 60, "tiny": 60, "small": 100, "large": 200, "whole": 300}


@dataclass(frozen=True, eq=False)
class Drawing:
    """One instance that is being drawn."""

    subject: Subject
    rng: np.random.Generator
    spread: float
    """The range of all outputs, about."""
    low: Array
    high: Array
    share: float
    """What is added to the least distance of a threshold, as a share of the spread."""


def drawn(subject: Subject, seed: int, count: int) -> Iterator[Instance]:
    """So many instances about a model, sat and unsat in turn."""
    rng = np.random.default_rng([seed, int(subject.model.certificate.weights_digest[:15], 16)])
    spread = _spread(subject, rng)
    for number in range(count):
        yield _instance(subject, rng, spread, sat=number % 2 == 1)


def round_out(value: float, sense: Sense) -> float:
    """The nearest float32 number that is at least (AT_LEAST) or at most (AT_MOST) this value."""
    near = np.float32(value)
    if sense.sign * float(near) < sense.sign * value:
        near = np.nextafter(near, np.float32(sense.sign * np.inf))
    return float(near)


def _spread(subject: Subject, rng: np.random.Generator) -> float:
    low, high = largest_box(subject.target)
    outputs = subject.sampled(random_points(rng, low, high, SEARCHED))
    return float(outputs.max() - outputs.min())


def _instance(subject: Subject, rng: np.random.Generator, spread: float, sat: bool) -> Instance:
    reach, closeness, shape = (str(rng.choice(list(kinds))) for kinds in (REACHES, CLOSENESS, SHAPES))
    low, high = random_box(subject.target, rng, REACHES[reach])
    drawing = Drawing(subject, rng, spread, low, high, CLOSENESS[closeness])
    entries = _entries(drawing, shape)
    asked, reason = _satisfiable(drawing, entries) if sat else _unsatisfiable(drawing, entries)
    return Instance(asked, reason, reach, closeness, shape, TIMEOUTS[reach])


def _entries(drawing: Drawing, shape: str) -> list[list[Asked]]:
    """Which output entries are compared, in which sense: alternatives of comparisons."""
    rng, size = drawing.rng, drawing.low.size
    alternatives = int(rng.integers(2, 4)) if shape.startswith("disjunction") else 1
    comparisons = 2 if shape.endswith(("conjunction", "conjunctions")) else 1
    chosen = []
    for _ in range(alternatives):
        places = rng.choice(size, size=comparisons, replace=False)
        entries = [np.unravel_index(int(place), drawing.low.shape) for place in places]
        senses = [Sense.AT_LEAST if rng.random() < 0.5 else Sense.AT_MOST for _ in entries]
        chosen.append([((int(t), int(c)), sense) for (t, c), sense in zip(entries, senses, strict=True)])
    return chosen


def _unsatisfiable(drawing: Drawing, entries: list[list[Asked]]) -> tuple[Property, Refutation]:
    """In every alternative one comparison is impossible; the others hold for half of the inputs."""
    alternatives, reasons = [], []
    for alternative in entries:
        reason = _impossible(drawing, *alternative[0])
        others = [_usual(drawing, *one) for one in alternative[1:]]
        alternatives.append(_shuffled(drawing, [reason.comparison, *others]))
        reasons.append(reason)
    return Property(drawing.low, drawing.high, tuple(alternatives)), Refutation(tuple(reasons))


def _impossible(drawing: Drawing, entry: tuple[int, int], sense: Sense) -> Impossible:
    subject = drawing.subject
    found = extreme(subject.target, drawing.low, drawing.high, entry, sense, NEARNESS * subject.error)
    distance = subject.error * (1 + 2.0**-40) + drawing.share * drawing.spread
    nearest = found.bound + distance
    threshold = round_out(sense.sign * (nearest + UNSAT_SLACK * (1 + abs(nearest))), sense)
    certified = subject.model.certificate.certified_error
    reason = Impossible(Comparison(entry, sense, threshold), found.bound, certified, subject.folding)
    assert reason.slack > 0
    return reason


def _usual(drawing: Drawing, entry: tuple[int, int], sense: Sense) -> Comparison:
    outputs = drawing.subject.sampled(random_points(drawing.rng, drawing.low, drawing.high, SEARCHED))
    return Comparison(entry, sense, float(np.float32(np.median(outputs[:, *entry]))))


def _satisfiable(drawing: Drawing, entries: list[list[Asked]]) -> tuple[Property, Witness]:
    """One alternative is what the witness satisfies; the others are impossible."""
    x = _best(drawing, entries[0])
    outputs = drawing.subject.outputs(x)
    wanted = [_satisfied(drawing, outputs, entry, sense) for entry, sense in entries[0]]
    others = [[_impossible(drawing, *one).comparison for one in alternative[:1]] for alternative in entries[1:]]
    alternatives = [_shuffled(drawing, alternative) for alternative in (wanted, *others)]
    order = drawing.rng.permutation(len(alternatives))
    asked = Property(drawing.low, drawing.high, tuple(alternatives[k] for k in order))
    return asked, _checked(drawing, asked, x, outputs)


def _best(drawing: Drawing, wanted: list[Asked]) -> Array:
    """The input, among many, that is furthest in all the senses asked for together."""
    points = random_points(drawing.rng, drawing.low, drawing.high, SEARCHED)
    outputs = drawing.subject.sampled(points)
    together = np.sum([sense.sign * outputs[:, *entry] for entry, sense in wanted], axis=0)
    return np.asarray(points[together.argmax()])


def _satisfied(drawing: Drawing, outputs: dict[str, Array], entry: tuple[int, int], sense: Sense) -> Comparison:
    least = min(float(sense.sign * y[entry]) for y in outputs.values())
    below = least - drawing.share * drawing.spread / 2
    threshold = sense.sign * (below - 2 * SAT_MARGIN * (1 + abs(below)))
    return Comparison(entry, sense, float(np.float32(threshold)))


def _checked(drawing: Drawing, asked: Property, x: Array, outputs: dict[str, Array]) -> Witness:
    """The witness, seen to satisfy the property by all who ran the network."""
    margin = min(float(asked.margin(y)) for y in outputs.values())
    assert asked.contains(x)
    assert FLOAT32.holds(x)
    if not margin >= SAT_MARGIN or not math.isfinite(margin):
        raise ExportError(f"a witness must satisfy its property by {SAT_MARGIN}; this one by {margin}.")
    return Witness(x, outputs, margin)


def _shuffled(drawing: Drawing, comparisons: list[Comparison]) -> tuple[Comparison, ...]:
    return tuple(comparisons[k] for k in drawing.rng.permutation(len(comparisons)))
