"""Time to a proved sup error of 1e-4 against training the same architecture on the same function."""

import math
from dataclasses import asdict, replace
from typing import Any

import torch

from anyformer import construct, targets
from anyformer.model import Model
from anyformer.targets import Target
from benchmarks.compiling import clocked, sizes
from benchmarks.functions import CASES, standardise
from benchmarks.results import Size
from benchmarks.sampling import largest_error
from benchmarks.twin import Recipe, train

TOLERANCE = {Size.FULL: 1e-4, Size.QUICK: 1e-2}
SAMPLES = {Size.FULL: 20_000, Size.QUICK: 500}
TIMES = {Size.FULL: (1, 10, 100), Size.QUICK: (1,)}
# Training gets at least so many seconds for "as long as our build".
FLOOR = {Size.FULL: 0.25, Size.QUICK: 0.1}
RATES, POWERS, BATCHES = (3e-3, 1e-2, 3e-2), (2, 6), (32, 256)
BUILDS = 3


def wanted() -> dict[str, Target]:
    """The functions, by name."""
    (case,) = (case for case in CASES if case.function is standardise)
    return {
        "mean-scale, 16 tokens": targets.mean_scale(tokens=16),
        "softmax, 16 tokens": targets.softmax(tokens=16),
        "attention, 16 tokens of width 4": targets.attention(tokens=16, width=4),
        "standardise, 16 tokens": case.target,
    }


def measure(size: Size) -> dict[str, Any]:
    """Every function: built and proved, then its twin trained 1, 10 and 100 times as long."""
    torch.set_num_threads(1)
    return {"tolerance": TOLERANCE[size], "rows": [_compare(name, one, size) for name, one in wanted().items()]}


def _compare(name: str, target: Target, size: Size) -> dict[str, Any]:
    model, seconds = _built(target, TOLERANCE[size])
    row: dict[str, Any] = {"target": name, **sizes(model), "build": seconds, "trained": {}}
    row["certified"] = model.certificate.certified_error
    row["measured"] = largest_error(model, target, SAMPLES[size])
    recipes = [Recipe(rate, power, batch) for rate in RATES for power in POWERS for batch in BATCHES]
    for times in TIMES[size]:
        long = times * max(FLOOR[size], seconds["wall"])
        tried = [_trained(model, target, long, recipe, size) for recipe in recipes]
        tried.sort(key=lambda one: one["error"])
        row["trained"][str(times)] = {"seconds": long, **tried[0], "tried": tried}
        print(f"compile_against_training: {name}, {times} ×: {tried[0]}", flush=True)
        recipes = _longer(tried, times)
    return row


def _longer(tried: list[dict[str, Any]], times: int) -> list[Recipe]:
    """What is worth trying for longer: the best two and the best with another seed; then the best of these."""
    best = [Recipe(**one["recipe"]) for one in tried[:2]]
    return [*best, replace(best[0], seed=1)] if times == 1 else best[:1]


def _built(target: Target, tolerance: float) -> tuple[Model, dict[str, float]]:
    """After one that is not timed, the fastest of a few builds, proof included."""
    found = [clocked(lambda: construct(target, tolerance, p=math.inf, method="compile")) for _ in range(BUILDS + 1)]
    return found[0][0], min((seconds for _, seconds in found[1:]), key=lambda one: one["wall"])


def _trained(model: Model, target: Target, seconds: float, recipe: Recipe, size: Size) -> dict[str, Any]:
    twin, steps = train(model.network, target, seconds, recipe)
    error = largest_error(twin.on_arrays, target, SAMPLES[size])
    return {"recipe": asdict(recipe), "steps": steps, "error": error if math.isfinite(error) else 1e300}


def render(numbers: dict[str, Any]) -> str:
    """The section of the page."""
    rows = numbers["rows"]
    times = list(rows[0]["trained"])
    lines = [
        "| function | layers | parameters | build and proof, s (CPU) | proved | measured | "
        + " | ".join(f"trained {one} ×: error, seconds, steps" for one in times)
        + " |",
        "|" + "---|" * (6 + len(times)),
    ]
    for row in rows:
        cells = [
            f"{one['error']:.2g}, {one['seconds']:.0f} s, {one['steps']:,}"
            for one in (row["trained"][t] for t in times)
        ]
        lines.append(
            f"| {row['target']} | {row['layers']} | {row['parameters']:,} | {row['build']['wall']:.2f} "
            f"({row['build']['cpu']:.2f}) | {row['certified']:.2g} | {row['measured']:.2g} | {' | '.join(cells)} |"
        )
    reached = [
        row["target"] for row in rows if any(o["error"] <= numbers["tolerance"] for o in row["trained"].values())
    ]
    return "\n".join(
        [
            "The same architecture in PyTorch (blocks, widths, heads, hidden units, embedding, read-out), trained from",
            "random weights in float32 for 1, 10 and 100 times as long as our build, with a floor of "
            f"{FLOOR[Size.FULL]:g} s for 1 ×:",
            "every build here takes less than that. The seconds of training are those of the processor, one thread.",
            f"Errors are the largest on {SAMPLES[Size.FULL]:,} held-out inputs that reach the corners and of a local",
            "search from the worst; ours are also proved. Adam with warm-up and cosine on fresh inputs of that kind.",
            f"For 1 × the best of {len(RATES) * len(POWERS) * len(BATCHES)} recipes counts: rates "
            f"{', '.join(f'{one:g}' for one in RATES)}, loss in L² or L⁶ (closer to the sup norm),",
            f"batches of {BATCHES[0]} or {BATCHES[1]}; for 10 × the best two of these and a second seed;",
            "for 100 × the best of those. The time of the recipes that lost is not counted.",
            f"Below {numbers['tolerance']:g} after any of them: {', '.join(reached) if reached else 'none'}.",
            "",
            *lines,
        ]
    )
