"""How compiled networks grow: hidden units against ε, and every size against the number of tokens."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import anyformer as af
from anyformer import targets
from anyformer.arrays import Array
from anyformer.targets import Target
from benchmarks.compiling import sizes
from benchmarks.results import Size

TOLERANCES = {Size.FULL: (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7), Size.QUICK: (1e-2, 1e-4, 1e-5)}
TOKENS = {Size.FULL: (3, 8, 32, 128, 512), Size.QUICK: (3, 8)}
MIDDLE = 16
# Slopes are taken from here on: coarser polylines have too few pieces to follow the law.
KNEE = 1e-4


def exponential(x: Array) -> Array:
    """A single curve."""
    return np.exp(x)


def squashed(x: Array) -> Array:
    """A single curve that bends both ways."""
    return np.tanh(3 * x - 1.5)


FUNCTIONS: dict[str, Callable[[int], Target]] = {
    "exp(x)": lambda tokens: af.target(exponential, tokens=tokens),
    "tanh(3x − 1.5)": lambda tokens: af.target(squashed, tokens=tokens),
    "x·mean(x)": lambda tokens: targets.mean_scale(tokens=tokens),
    "softmax(3x)": lambda tokens: targets.softmax(tokens=tokens),
    "cumulative mean": lambda tokens: targets.cumulative_mean(tokens=tokens),
    "running maximum": lambda tokens: targets.running_maximum(tokens=tokens),
}
SMOOTH = tuple(FUNCTIONS)[:4]


def measure(size: Size) -> dict[str, Any]:
    """Every network is proved."""
    finer = {
        name: {str(one): _built(FUNCTIONS[name](MIDDLE), one)["hidden_units"] for one in TOLERANCES[size]}
        for name in SMOOTH
    }
    longer = {name: {str(n): _built(make(n), 1e-4) for n in TOKENS[size]} for name, make in FUNCTIONS.items()}
    slopes = {name: _slope(units) for name, units in finer.items()}
    return {"finer": finer, "slopes": slopes, "longer": longer}


def _built(target: Target, tolerance: float) -> dict[str, int]:
    model = af.construct(target, tolerance, p=math.inf, method="compile")
    encoding = model.network.positional_encoding
    used = 0 if encoding is None else int(encoding.any(axis=0).sum())
    return {**sizes(model), "position_channels": used}


def _slope(units: dict[str, int]) -> float:
    """The slope of log(units + 1) against log ε, by least squares: K − 1 units make K pieces."""
    small = {float(one): count for one, count in units.items() if float(one) <= KNEE}
    return float(np.polyfit(np.log(list(small)), np.log([count + 1 for count in small.values()]), 1)[0])


def render(numbers: dict[str, Any]) -> str:
    """The section of the page."""
    finer, longer = numbers["finer"], numbers["longer"]
    tolerances, tokens = list(next(iter(finer.values()))), list(next(iter(longer.values())))
    units = [f"| function | {' | '.join(f'{float(one):g}' for one in tolerances)} | slope |"]
    units.append("|" + "---|" * (len(tolerances) + 2))
    for name, row in finer.items():
        units.append(
            f"| {name} | {' | '.join(f'{count:,}' for count in row.values())} | {numbers['slopes'][name]:.3f} |"
        )
    growth = [f"| function | {' | '.join(f'{one} tokens' for one in tokens)} |", "|" + "---|" * (len(tokens) + 1)]
    for name, row in longer.items():
        cells = [
            f"{one['layers']} / {one['hidden_units']} / {one['stream_width']}" + _places(one) for one in row.values()
        ]
        growth.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(
        [
            f"Hidden units at {MIDDLE} tokens, every network proved, and the slope of log(units + 1) against log ε",
            f"from {KNEE:g} on, by least squares (theory says −1/2: a piece of length h is off by about h²).",
            "Products and squares are spread over more layers as ε falls, where that takes fewer parameters: with L",
            "layers of K units the error falls like K^(−2L), so that their units hardly grow.",
            "",
            *units,
            "",
            "Layers / hidden units / stream width at ε = 1e-4, with the channels that hold positions in brackets. Only",
            "those grow with the number of tokens, with two exceptions: a running maximum takes log₂ n rounds, and the",
            "units of x·mean(x) rise to a limit (x_j and the mean move together when tokens are few). Softmax shrinks:",
            "its values are smaller when there are more of them.",
            "",
            *growth,
        ]
    )


def _places(one: dict[str, int]) -> str:
    return f" [{one['position_channels']}]" if one["position_channels"] else ""
