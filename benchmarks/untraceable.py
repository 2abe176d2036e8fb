"""Functions that cannot be compiled: what is said about them, and what `auto` does instead."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

import anyformer as af
from anyformer.arrays import Array
from anyformer.errors import PlanError
from anyformer.targets import Symmetry, Target
from benchmarks.results import Size

TOLERANCE = 0.5


def loop_on_values(x: Array) -> Array:
    """Newton's iteration for √(x + 1), until it stands still."""
    root = x + 1
    while np.abs(root**2 - x - 1).max() > 1e-12:
        root = (root + (x + 1) / root) / 2
    return root


def branch_on_values(x: Array) -> Array:
    """Another formula where the mean of a sequence is large; the two agree where they meet."""
    if x.mean() > 0.5:
        return x * 0.5
    return x * x.mean()


def smoothed_by_scipy(x: Array) -> Array:
    """A routine that is not NumPy's."""
    smooth: Array = gaussian_filter1d(x, sigma=1.0, axis=1)
    return smooth


@dataclass(frozen=True)
class Untraceable:
    """A function with a Lipschitz constant, in the max norm."""

    function: Callable[[Array], Array]
    lipschitz: float
    symmetry: Symmetry = Symmetry.EQUIVARIANT
    vectorised: bool = True

    @property
    def target(self) -> Target:
        """On two tokens."""
        return af.target(
            self.function,
            tokens=2,
            lipschitz=self.lipschitz,
            symmetry=self.symmetry,
            vectorised=self.vectorised,
        )


# d√(x + 1)/dx ≤ 1/2. x_j·mean: mean + x_j·(1/n)·n ≤ 1/2 + 1 where the mean is at most 1/2; x/2: 1/2. A mean of
# tokens with weights that add up to 1: 1.
CASES = (
    Untraceable(loop_on_values, 0.5),
    Untraceable(branch_on_values, 1.5, vectorised=False),
    Untraceable(smoothed_by_scipy, 1.0, Symmetry.NONE),
)


def measure(size: Size) -> dict[str, Any]:
    """What compile says, and what auto plans and proves."""
    return {"rows": [_row(case) for case in CASES]}


def _row(case: Untraceable) -> dict[str, Any]:
    try:
        af.construct(case.target, TOLERANCE, p=math.inf, method="compile")
        said = "compiled"
    except PlanError as error:
        said = str(error)
    model = af.construct(case.target, TOLERANCE, p=2.0)
    assert model.construction is not None
    plan = model.construction.plan
    return {
        "function": case.function.__name__,
        "said": said,
        "auto": plan.method.name,
        "instead_of": plan.instead_of,
        "certified": model.certificate.certified_error,
        "verdict": model.verify(case.target).verdict.name.lower(),
    }


def render(numbers: dict[str, Any]) -> str:
    """The section of the page."""
    parts = [
        "Each function with a declared Lipschitz constant on two tokens. `compile` refuses with a sentence; `auto`",
        f"takes a table (ε = {TOLERANCE:g} in L²), and its plan says why (`plan.instead_of`).",
    ]
    for row in numbers["rows"]:
        same = "with the same sentence" if row["instead_of"] == row["said"] else f"because: {row['instead_of']}"
        parts += ["", f"**{row['function'].replace('_', ' ')}**", "", f"    {row['said']}", ""]
        parts.append(f"`auto`: {row['auto']}, {row['certified']:.3g}, {row['verdict']}, {same}.")
    return "\n".join(parts)
