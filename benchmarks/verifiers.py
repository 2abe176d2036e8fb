"""Outside verifiers on our instances: `python -m benchmarks.verifiers` makes docs/results/verifiers.md.

Float32-proved models become benchmarks, by three seeds, with plain and with folded uniform attention. Every instance is
read by the official parser, and its verdict is compared with dense samples. Then verifiers answer, each in a Python of
its own, as they may need other versions of things:

    python -m benchmarks.verifiers --auto-lirpa PYTHON [--auto-lirpa-source FOLDER] [--marabou PYTHON] [MODEL …]

A verifier that is not there is left out. MODELs are folders or names of the zoo; without any, a set of ready-made
targets is built.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import anyformer as af
from anyformer.exports.onnx.running import run_session, session
from anyformer.exports.vnnlib import check_benchmark, write
from anyformer.exports.vnnlib.checking import read_query
from benchmarks import machine
from benchmarks.verifiers_page import render

HERE = Path(__file__).parent
SEEDS = (0, 1, 2)
# Of every model and seed. Folded uniform attention for odd seeds.
INSTANCES = 7
SAMPLES = 20_000
WANTED: tuple[tuple[str, int, int, float], ...] = (
    ("mean-scale", 3, 1, 1e-2),
    ("mean-scale", 16, 1, 1e-3),
    ("softmax", 3, 1, 1e-2),
    ("softmax", 5, 1, 1e-3),
    ("attention", 3, 2, 1e-3),
    ("running-maximum", 4, 1, 1e-3),
    ("power-sums", 3, 2, 1e-2),
    ("centroid-distance", 3, 2, 1e-1),
    ("sort", 4, 1, 1e-3),
    ("moving-average", 6, 1, 1e-3),
)
LIRPA_METHODS = {
    "IBP": ("IBP",),
    "CROWN": ("CROWN",),
    "CROWN in float64": ("CROWN", "float64"),
    "alpha-CROWN": ("CROWN-Optimized",),
    "CROWN, boxes split": ("splitting",),
}
VERSIONS = {
    "maraboupy": "from importlib.metadata import version; import maraboupy; print(version('maraboupy'))",
    "auto_LiRPA": "import auto_LiRPA; print(auto_LiRPA.__version__)",
}


@dataclass(frozen=True)
class Peer:
    """A verifier: a script, the Python that runs it, and what it is told."""

    name: str
    script: str
    python: str
    arguments: tuple[str, ...] = ()
    source: str = ""

    def answers(self, folder: Path, seconds: float) -> list[dict[str, Any]]:
        """What it says of every instance of a benchmark."""
        command = [self.python, str(HERE / self.script), str(folder), str(seconds), *self.arguments]
        environment = {**os.environ, "PYTHONPATH": self.source, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            raise RuntimeError(f"{self.name} failed: {done.stderr[-2000:]}")
        return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> None:
    """Build, check, ask, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verifiers", description=__doc__)
    parser.add_argument("models", nargs="*", help="folders of float32-proved models, or names of the zoo")
    parser.add_argument("--work", type=Path, default=HERE.parent / "build" / "verifiers")
    parser.add_argument("--marabou", default=sys.executable, help="a Python with maraboupy")
    parser.add_argument(
        "--auto-lirpa", default=sys.executable, help="a Python with torch, and auto_LiRPA or its source"
    )
    parser.add_argument("--auto-lirpa-source", default="")
    parser.add_argument("--seconds", type=float, default=10.0, help="for one query")
    parser.add_argument("--instances", type=int, default=INSTANCES, help="of every model and seed")
    parser.add_argument("--page", type=Path, default=HERE.parent / "docs" / "results" / "verifiers.md")
    asked = parser.parse_args()
    folders = list(_benchmarks(asked.models, asked.work, asked.instances))
    checked = [_checked(folder) for folder in folders]
    peers, versions = _present(asked.marabou, asked.auto_lirpa, asked.auto_lirpa_source)
    rows = [row for folder in folders for peer in peers for row in _asked(peer, folder, asked.seconds)]
    numbers = {
        "machine": machine.describe(),
        "peers": versions,
        "seconds": asked.seconds,
        "checked": checked,
        "rows": rows,
    }
    (asked.work / "verifiers.json").write_text(json.dumps(numbers, indent=1) + "\n")
    asked.page.write_text(render(numbers))
    print(asked.page)


def _benchmarks(models: list[str], work: Path, instances: int) -> Iterator[Path]:
    for model in map(_named, models) if models else _built():
        target = model.certificate.target
        for seed in SEEDS:
            place = work / f"{target.name}-{target.tokens}x{target.width}-{model.certificate.tolerance:g}-{seed}"
            write(model, place, seed=seed, instances=instances, fold_uniform=seed % 2 == 1, overwrite=True)
            yield place


def _named(model: str) -> af.Model:
    return af.load(model) if Path(model).is_dir() else af.zoo.load(model, dtype="float32")


def _built() -> Iterator[af.Model]:
    for name, tokens, width, tolerance in WANTED:
        target = af.targets.ready_made(name, tokens, width)
        yield af.construct(target, tolerance, p=math.inf, method="compile", dtype="float32")


def _checked(folder: Path) -> dict[str, Any]:
    """Every verdict against dense samples; a contradiction ends everything."""
    start = time.perf_counter()
    found = check_benchmark(folder, SAMPLES)
    for one in found:
        assert one.agrees, (folder, one)
    return {
        "benchmark": folder.name,
        "instances": len(found),
        "verdicts": Counter(one.verdict.value for one in found),
        "samples": sum(one.samples for one in found),
        "seconds": time.perf_counter() - start,
        "certified_error": float.fromhex(_verdicts(folder)["model"]["anyformer.certified_error"]),
        "nearest": max((one.nearest for one in found if one.verdict.value == "unsat"), default=None),
    }


def _verdicts(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "verdicts.json").read_text())


def _present(marabou: str, lirpa: str, source: str) -> tuple[list[Peer], dict[str, str]]:
    """The verifiers that are there, and their versions."""
    peers = {
        "maraboupy": [Peer("Marabou", "verifiers_marabou.py", marabou)],
        "auto_LiRPA": [
            Peer(f"auto_LiRPA, {name}", "verifiers_auto_lirpa.py", lirpa, method, source)
            for name, method in LIRPA_METHODS.items()
        ],
    }
    versions = {package: _version(package, own[0]) for package, own in peers.items()}
    for package, version in versions.items():
        if not version:
            print(f"{package} cannot be imported, and is left out", flush=True)
    found = [peer for package, own in peers.items() for peer in own if versions[package]]
    return found, {package: version for package, version in versions.items() if version}


def _version(package: str, peer: Peer) -> str:
    environment = {**os.environ, "PYTHONPATH": peer.source}
    command = [peer.python, "-c", VERSIONS[package]]
    tried = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return "" if tried.returncode else tried.stdout.split()[-1]


def _asked(peer: Peer, folder: Path, seconds: float) -> Iterator[dict[str, Any]]:
    """Every answer, judged by the known verdict."""
    start = time.perf_counter()
    known = {one["vnnlib"]: one for one in _verdicts(folder)["instances"]}
    for answer in peer.answers(folder, seconds):
        truth = known[answer["vnnlib"]]
        yield {
            "peer": peer.name,
            "benchmark": folder.name,
            "verdict": truth["verdict"],
            **{name: truth[name] for name in ("box", "margin", "shape")},
            **{name: value for name, value in answer.items() if name not in ("lower", "upper", "x")},
            **_judged(folder, truth, answer),
            **_excess(folder, truth, answer),
        }
    print(f"{peer.name} on {folder.name}: {time.perf_counter() - start:.0f} s", flush=True)


def _judged(folder: Path, truth: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Right, wrong or neither; and by how much the input that was named satisfies the property."""
    said = answer["answer"]
    if said not in ("sat", "unsat"):
        return {"outcome": {"unknown": "undecided"}.get(said, said)}
    if said == "unsat":
        return {"outcome": "right" if truth["verdict"] == said else "wrong"}
    margin = _margin(folder, truth, answer["x"])
    if truth["verdict"] != said:
        return {"outcome": "wrong", "satisfied_by": margin}
    return {"outcome": "right" if margin >= 0 else "right, but its witness is none", "satisfied_by": margin}


def _margin(folder: Path, truth: dict[str, Any], x: list[float]) -> float:
    """By how much an input that a verifier names satisfies the property."""
    query = read_query(folder / truth["vnnlib"])
    given = np.clip(np.array(x).reshape(query.low.shape), query.low, query.high)
    opened = session((folder / _verdicts(folder)["onnx"]).read_bytes())
    return float(query.margin(run_session(opened, given[None]))[0])


def _excess(folder: Path, truth: dict[str, Any], answer: dict[str, Any]) -> dict[str, float]:
    """By how much bounds exclude an output that the graph really has: above float64's rounding they are wrong."""
    if "lower" not in answer or "input" not in truth["reason"]:
        return {}
    x = np.array([[float(one) for one in row] for row in truth["reason"]["input"]])
    real = _in_float64(folder / _verdicts(folder)["onnx"], x).ravel()
    away = np.maximum(np.array(answer["lower"]) - real, real - np.array(answer["upper"]))
    return {"excluded_by": float(away.max())}


def _in_float64(place: Path, x: np.ndarray) -> np.ndarray:
    """The graph itself, folded or not, as near to real arithmetic as NumPy comes."""
    graph = onnx.load(place).graph
    values = {one.name: onnx.numpy_helper.to_array(one).astype(np.float64) for one in graph.initializer}
    values[graph.input[0].name] = x[None]
    for node in graph.node:
        values[node.output[0]] = OPERATORS[node.op_type](*(values[name] for name in node.input))
    return values[graph.output[0].name][0]


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


OPERATORS: dict[str, Callable[..., np.ndarray]] = {
    "Add": np.add,
    "MatMul": np.matmul,
    "Relu": lambda x: np.maximum(x, 0.0),
    "Softmax": _softmax,
    "Transpose": lambda x: x.swapaxes(1, 2),
}


if __name__ == "__main__":
    main()
