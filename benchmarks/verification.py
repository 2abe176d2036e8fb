"""Following every cell through a network of more than 100,000 layers, with and without skipping.

Without skipping it would take hours, so every stage is measured on evenly spaced layers of its own, all of them where
they are few, and the time of a layer is multiplied by their number. A smaller network is measured in full, as a check.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from anyformer import targets
from anyformer.arrays import Array
from anyformer.certificates.bounds.bound import derive_bound
from anyformer.certificates.propagation.enclosures import Enclosure
from anyformer.certificates.propagation.propagate import propagate
from anyformer.construction.plans.plan import Construction
from anyformer.networks import FeedForwardStage, Network, evaluate
from anyformer.networks.layers import Stage, weights
from anyformer.runtime import Engine, Layers, run
from benchmarks.interleave import Program, interleave, ratio, timed
from benchmarks.machine import THREADS
from benchmarks.plans import build, plan_at, plan_with_counts
from benchmarks.results import Size

TOKENS = 3
# 64 cells per axis with a tolerance at which neighbouring ids are hardly merged: more than 100,000 layers.
LARGE = {Size.FULL: (64, 0.01), Size.QUICK: (20, 0.03)}
SMALL = {Size.FULL: 24, Size.QUICK: 8}
SAMPLED = {Size.FULL: 64, Size.QUICK: 16}
CELLS_AT_ONCE = 1 << 13


def measure(size: Size) -> dict[str, Any]:
    """The large network, partly extrapolated, and a small one in full."""
    return {"large": _large(size), "small": _small(size)}


def _large(size: Size) -> dict[str, Any]:
    count, tolerance = LARGE[size]
    made: list[Construction] = []
    target = targets.softmax(tokens=TOKENS)
    building = timed(lambda: made.append(build(plan_at(target, tolerance, count))))
    network, grid, plan = made[0].network, made[0].grid, made[0].plan
    boxes = _cells(made[0])
    centres = (boxes.low + boxes.high) / 2
    run(network, centres[:1], Layers.ALL, Engine.COMPILED, THREADS)  # compiles
    with_skipping = min(timed(lambda: _followed(network, boxes, Layers.AWAKE)) for _ in range(2))
    print(f"verification: {with_skipping:.1f} s with skipping", flush=True)
    bounds = []
    return {
        "layers": network.layer_count,
        "ids": plan.ids,
        "cells": len(centres),
        "tolerance": tolerance,
        "build_seconds": building,
        "propagate_awake": with_skipping,
        "propagate_all": _over_stages(network, boxes, _enclosing, SAMPLED[size] // 4),
        "evaluate_all": _over_stages(network, boxes, _evaluating, SAMPLED[size]),
        "engine_all": timed(lambda: run(network, centres, Layers.ALL, Engine.COMPILED, THREADS)),
        "engine_awake": timed(lambda: run(network, centres, Layers.AWAKE, Engine.COMPILED, THREADS)),
        "derive_bound": timed(lambda: bounds.append(derive_bound(network, target, grid, plan.request.p, tolerance))),
        "bound": bounds[0].upper,
    }


def _small(size: Size) -> dict[str, Any]:
    construction = build(plan_with_counts(targets.softmax(tokens=TOKENS), SMALL[size]))
    network, boxes = construction.network, _cells(construction)
    kinds = (Layers.ALL, Layers.AWAKE)
    programs = [Program(kind.name, lambda kind=kind: _followed(network, boxes, kind)) for kind in kinds]
    everything, awake = (program.call() for program in programs)
    for end in ("low", "high", "slack"):
        assert np.array_equal(getattr(everything, end), getattr(awake, end)), "skipping must not change an enclosure"
    slow, fast = interleave(programs, rounds=2)
    sizes = {"layers": network.layer_count, "cells": len(boxes.low)}
    return {**sizes, "all": slow.as_json(), "awake": fast.as_json(), "times_faster": ratio(slow, fast)}


def _cells(construction: Construction) -> Enclosure:
    """All cells, one for all its rearrangements."""
    columns = construction.grid.columns
    choice = np.array(list(itertools.combinations_with_replacement(range(len(columns)), TOKENS)))
    return construction.grid.boxes(columns[choice])


def _followed(network: Network, boxes: Enclosure, layers: Layers) -> Enclosure:
    parts = [propagate(network, part, layers=layers) for part in _parts(boxes)]
    return Enclosure(*(np.concatenate([getattr(part, end) for part in parts]) for end in ("low", "high", "slack")))


def _parts(boxes: Enclosure) -> list[Enclosure]:
    return [boxes[start : start + CELLS_AT_ONCE] for start in range(0, len(boxes.low), CELLS_AT_ONCE)]


Way = Callable[[Network, Enclosure], Any]


def _enclosing(network: Network, boxes: Enclosure) -> Enclosure:
    return _followed(network, boxes, Layers.ALL)


def _evaluating(network: Network, boxes: Enclosure) -> Array:
    return evaluate(network, (boxes.low + boxes.high) / 2)


def _over_stages(network: Network, boxes: Enclosure, way: Way, most: int) -> dict[str, float]:
    """The seconds of a whole network from at most so many layers of every stage, met in the state they meet there."""
    total, measured, sampled = 0.0, 0.0, 0
    for stage in network.stages:
        part = _thinned(stage, most)
        seconds = timed(lambda part=part, boxes=boxes: way(_alone(network, part), boxes))
        total += seconds * len(stage) / len(part)
        measured, sampled = measured + seconds, sampled + len(part)
        boxes = _followed(_alone(network, stage), boxes, Layers.AWAKE)
    print(f"verification: {way.__name__} {sampled} layers took {measured:.1f} s", flush=True)
    return {"seconds": total, "measured_seconds": measured, "layers_measured": sampled}


def _thinned(stage: Stage, most: int) -> Stage:
    if not isinstance(stage, FeedForwardStage) or len(stage) <= most:
        return stage
    kept = np.linspace(0, len(stage) - 1, most).round().astype(int)
    return FeedForwardStage(stage.name, *(array[kept] for array in weights(stage).values()), stage.activation)


def _alone(network: Network, stage: Stage) -> Network:
    return Network(network.tokens, network.width, network.shape, (stage,))


def render(numbers: dict[str, Any]) -> str:
    """The section of the report."""
    large, small = numbers["large"], numbers["small"]
    return "\n\n".join(
        [
            _claim(large),
            f"Softmax over 3 tokens: {large['layers']:,} layers, {large['ids']:,} ids, {large['cells']:,} cells "
            f"(up to the order of the tokens), built in {large['build_seconds']:.1f} s. Seconds:",
            _table(large),
            f"Rows marked * are extrapolated from {large['propagate_all']['layers_measured']} and "
            f"{large['evaluate_all']['layers_measured']} evenly spaced layers. In full on a smaller network "
            f"({small['layers']:,} layers, {small['cells']:,} cells): {small['all']['best']:.1f} s without skipping, "
            f"{small['awake']['best']:.2f} s with it, {small['times_faster']:.0f} times faster, the same enclosures.",
        ]
    )


def _claim(large: dict[str, Any]) -> str:
    every, bound, followed = large["propagate_all"]["seconds"], large["derive_bound"], large["propagate_awake"]
    reference, engine = large["evaluate_all"]["seconds"], large["engine_all"]
    return (
        f"- Times faster than enclosing every layer: **{every / followed:,.0f}** for following the cells, "
        f"**{(every + bound - followed) / bound:,.0f}** for the whole bound (wanted: 100).\n"
        f"- Times faster than merely *evaluating* every layer at the cells' centres, which proves nothing: "
        f"**{reference / followed:,.0f}** for following the cells and {reference / bound:,.0f} for the whole bound "
        f"against the NumPy reference, {engine / followed:.1f} and {engine / bound:.1f} against our compiled engine."
    )


def _table(large: dict[str, Any]) -> str:
    rows = {
        "enclosures of all cells, skipping (`propagate`)": large["propagate_awake"],
        "enclosures of all cells, every layer *": large["propagate_all"]["seconds"],
        "float64 at the centres, every layer, NumPy reference (`evaluate`) *": large["evaluate_all"]["seconds"],
        "float64 at the centres, every layer, compiled engine": large["engine_all"],
        "float64 at the centres, skipping, compiled engine": large["engine_awake"],
        f"the whole bound (`derive_bound`, {large['bound']:.4g} ≤ {large['tolerance']:g})": large["derive_bound"],
    }
    fast = large["propagate_awake"]
    lines = ["| what | seconds | × enclosures with skipping |", "|---|---|---|"]
    digits = {name: max(1, 2 - math.floor(math.log10(seconds))) for name, seconds in rows.items()}
    lines += [f"| {name} | {value:,.{digits[name]}f} | {value / fast:,.2g} |" for name, value in rows.items()]
    return "\n".join(lines)
