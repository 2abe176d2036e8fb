"""Instances in the dialect of VNN-LIB 1.0, for scripts that run where anyformer is not installed."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NUMBER = r"(-?[0-9.]+)"


@dataclass(frozen=True)
class Asked:
    """A box of inputs, and alternatives of comparisons (operator, output, threshold)."""

    onnx: Path
    vnnlib: str
    low: list[float]
    high: list[float]
    alternatives: list[list[tuple[str, int, float]]]


def instances(folder: Path) -> Iterator[Asked]:
    """Every instance of a benchmark, in the order of its list."""
    place = folder / "1.0"
    for onnx, vnnlib, _ in csv.reader((place / "instances.csv").read_text().splitlines()):
        yield _read(place / onnx, vnnlib, (place / vnnlib).read_text())


def _read(onnx: Path, vnnlib: str, text: str) -> Asked:
    lines = text.splitlines()
    ends = {operator: _ends(text, operator) for operator in (">=", "<=")}
    lists = [line for line in lines if line.startswith("  (and ")] or [
        " ".join(line for line in lines if line.startswith("(assert") and " Y_" in line)
    ]
    alternatives = [
        [(operator, int(k), float(c)) for operator, k, c in re.findall(rf"\((>=|<=) Y_(\d+) {NUMBER}\)", one)]
        for one in lists
    ]
    return Asked(onnx, vnnlib, ends[">="], ends["<="], alternatives)


def _ends(text: str, operator: str) -> list[float]:
    found = re.findall(rf"\(assert \({operator} X_(\d+) {NUMBER}\)\)", text)
    assert [int(k) for k, _ in found] == list(range(len(found)))
    return [float(c) for _, c in found]
