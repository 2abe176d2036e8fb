"""A benchmark's verdicts against brute force: from the files alone, read by the official parser, run by onnxruntime."""

import csv
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from anyformer import strict_json
from anyformer.arrays import Array
from anyformer.errors import ExportError
from anyformer.exports.onnx.running import run_session, session
from anyformer.exports.vnnlib.instances import Verdict
from anyformer.exports.vnnlib.writing import LIST, VERDICTS
from anyformer.extras import require

SAMPLES = 4000
# All corners of a box, if there are at most so many.
MOST_CORNERS = 1024


@dataclass(frozen=True)
class Checked:
    """What brute force saw of one instance."""

    vnnlib: str
    verdict: Verdict
    samples: int
    nearest: float
    """By how much the best sample satisfies the property; negative if none does."""
    witness: float | None
    """By how much the stated witness does."""

    @property
    def agrees(self) -> bool:
        """Whether the verdict may be true: no sample satisfies an unsat property, and a sat one's witness does."""
        if self.verdict is Verdict.UNSAT:
            return self.nearest < 0
        return self.witness is not None and self.witness >= 0


@dataclass(frozen=True, eq=False)
class Query:
    """A property as the official parser understands it: a box, and alternatives A y ≤ b."""

    low: Array
    high: Array
    alternatives: tuple[tuple[Array, Array], ...]

    def margin(self, y: Array) -> Array:
        """By how much outputs (batch, …) satisfy it: the best alternative's worst row."""
        flat = y.reshape(len(y), -1).astype(np.float64)
        return np.asarray(np.max([(b - flat @ A.T).min(axis=1) for A, b in self.alternatives], axis=0))


def check_benchmark(folder: Path, samples: int = SAMPLES, seed: int = 0) -> list[Checked]:
    """Check every instance of a benchmark folder.

    Args:
        folder: what `write` wrote.
        samples: inputs that are drawn from every box, besides its corners.
        seed: of these inputs.
    """
    stated = {one["vnnlib"]: one for one in strict_json.read(folder / VERDICTS)["instances"]}
    rows = list(csv.reader((folder / LIST).read_text().splitlines()))
    if sorted(row[1] for row in rows) != sorted(stated):
        raise ExportError(f"{folder / LIST} and {VERDICTS} must list the same instances; they do not.")
    sessions = {name: _batched(folder / name) for name in {row[0] for row in rows}}
    rng = np.random.default_rng(seed)
    return [_checked(folder, vnnlib, stated[vnnlib], sessions[graph], rng, samples) for graph, vnnlib, _ in rows]


def read_query(place: Path) -> Query:
    """Parse a VNN-LIB 2.0 file by PyPI's `vnnlib`, which also checks its types."""
    parser = require("vnnlib", extra="vnnlib", what="reading VNN-LIB")
    compat = require("vnnlib.compat", extra="vnnlib", what="reading VNN-LIB")
    parsed = parser.parse_query_string(place.read_text())
    (case,) = compat.transform(parsed)
    (given,) = parsed.networks[0].inputs
    low, high = np.array(case.input_box).T.reshape(2, *given.shape[1:])
    alternatives = ((np.array(one.coeff_matrix), np.array(one.rhs)) for one in case.output_constraints)
    return Query(low, high, tuple(alternatives))


def _batched(place: Path) -> Any:
    """The graph with any number of sequences: none of its operators minds."""
    made = onnx.load(place)
    for value in (*made.graph.input, *made.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    return session(made)


def _checked(folder: Path, vnnlib: str, stated: Any, opened: Any, rng: np.random.Generator, samples: int) -> Checked:
    query = read_query(folder / vnnlib)
    points = _dense(query, rng, samples)
    witness = None
    if "input" in stated["reason"]:
        x = np.array([[float(one) for one in row] for row in stated["reason"]["input"]])
        inside = ((query.low <= x) & (x <= query.high)).all()
        witness = float(query.margin(run_session(opened, x[None]))[0]) if inside else -np.inf
    nearest = float(query.margin(run_session(opened, points)).max())
    return Checked(vnnlib, Verdict(stated["verdict"]), len(points), nearest, witness)


def _dense(query: Query, rng: np.random.Generator, samples: int) -> Array:
    """Random inputs of the box, inputs with random entries at the ends, all corners or many, and the centre."""
    shape, sides = query.low.shape, query.high - query.low
    shares = rng.random((samples, *shape))
    pinned = rng.random((samples, *shape))
    mixed = np.where(pinned < 0.3, 0.0, np.where(pinned > 0.7, 1.0, shares))
    if 2**query.low.size <= MOST_CORNERS:
        corners = np.array(list(itertools.product([0.0, 1.0], repeat=query.low.size))).reshape(-1, *shape)
    else:
        corners = rng.integers(0, 2, (MOST_CORNERS, *shape)).astype(np.float64)
    middle = np.full((1, *shape), 0.5)
    points = query.low + np.concatenate([shares, mixed, corners, middle]) * sides
    return np.clip(points.astype(np.float32).astype(np.float64), query.low, query.high)
