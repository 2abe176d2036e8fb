"""auto_LiRPA on a benchmark: `python verifiers_auto_lirpa.py FOLDER SECONDS METHOD` prints JSON for every instance.

Its bounds are used as its authors do: an alternative is impossible if the bounds of an output exclude one of its
comparisons. METHOD is one of its own (IBP, CROWN, CROWN-Optimized, which is alpha-CROWN), or `splitting`: CROWN on ever
smaller boxes, until all are excluded or a point satisfies the property.
"""

import json
import sys
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import onnx
import torch
from onnx import numpy_helper
from verifiers_reading import Asked, instances

warnings.filterwarnings("ignore")

from auto_LiRPA import BoundedModule, BoundedTensor  # noqa: E402
from auto_LiRPA.perturbations import PerturbationLpNorm  # noqa: E402

AT_ONCE = 256


class Graph(torch.nn.Module):
    """The ONNX graph, node by node."""

    def __init__(self, place: Path, dtype: torch.dtype) -> None:
        super().__init__()
        graph = onnx.load(place).graph
        self.nodes = [(node.op_type, list(node.input), node.output[0]) for node in graph.node]
        self.names = {one.name: f"w{k}" for k, one in enumerate(graph.initializer)}
        for one in graph.initializer:
            values = torch.from_numpy(numpy_helper.to_array(one).copy()).to(dtype)
            self.register_buffer(self.names[one.name], values)
        self.source, self.result = graph.input[0].name, graph.output[0].name

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        values = {self.source: x}

        def value(name: str) -> torch.Tensor:
            return getattr(self, self.names[name]) if name in self.names else values[name]

        for operator, inputs, output in self.nodes:
            values[output] = OPERATORS[operator](*(value(name) for name in inputs))
        return values[self.result]


OPERATORS = {
    "Add": torch.add,
    "MatMul": torch.matmul,
    "Relu": torch.relu,
    "Softmax": lambda x: torch.softmax(x, dim=-1),
    "Transpose": lambda x: x.transpose(1, 2),
}


def main() -> None:
    """Answer every instance, with a graph of its own: alpha-CROWN keeps what it learnt in it."""
    folder, seconds, method = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    dtype = torch.float64 if "float64" in sys.argv[4:] else torch.float32
    torch.set_default_dtype(dtype)
    torch.set_num_threads(1)
    results = sys.stdout
    sys.stdout = sys.stderr  # the library prints what it does
    for asked in instances(folder):
        start = time.perf_counter()
        try:
            answer = (_split if method == "splitting" else _once)(*_bounded(asked.onnx, dtype), asked, method, seconds)
        except Exception as error:
            answer = {"answer": "error", "note": f"{type(error).__name__}: {error}"[:200]}
        print(
            json.dumps({"vnnlib": asked.vnnlib, "seconds": time.perf_counter() - start, **answer}),
            file=results,
            flush=True,
        )


def _bounded(place: Path, dtype: torch.dtype) -> tuple[Graph, Any]:
    graph = Graph(place, dtype)
    # By default, alpha-CROWN ends with errors of shapes on graphs like ours.
    options = {"sparse_intermediate_bounds": False, "optimize_bound_args": {"iteration": 50, "verbosity": 0}}
    return graph, BoundedModule(graph, torch.zeros(_sizes(place)), bound_opts=options, verbose=0)


def _bounds(bounded: Any, low: torch.Tensor, high: torch.Tensor, method: str) -> tuple[torch.Tensor, torch.Tensor]:
    norm = PerturbationLpNorm(x_L=low, x_U=high)
    x = BoundedTensor((low + high) / 2, norm)
    lower, upper = bounded.compute_bounds(x=(x,), method=method)
    return lower.detach().reshape(len(low), -1), upper.detach().reshape(len(low), -1)


def _excluded(asked: Asked, lower: torch.Tensor, upper: torch.Tensor) -> torch.Tensor:
    """For every box whether each alternative has a comparison that the bounds rule out."""
    alternatives = []
    for alternative in asked.alternatives:
        out = [upper[:, k] < c if operator == ">=" else lower[:, k] > c for operator, k, c in alternative]
        alternatives.append(torch.stack(out).any(dim=0))
    return torch.stack(alternatives).all(dim=0)


def _once(graph: Graph, bounded: Any, asked: Asked, method: str, _: float) -> dict[str, Any]:
    low, high = _shaped(asked)
    lower, upper = _bounds(bounded, low, high, method)
    answer = "unsat" if bool(_excluded(asked, lower, upper).all()) else "unknown"
    crossed = float((lower - upper).max())
    return {"answer": answer, "lower": lower[0].tolist(), "upper": upper[0].tolist(), "crossed": crossed}


def _split(graph: Graph, bounded: Any, asked: Asked, _: str, seconds: float) -> dict[str, Any]:
    low, high = _shaped(asked)
    start, crossed = time.perf_counter(), -float("inf")
    while len(low):
        if time.perf_counter() - start > seconds:
            return {"answer": "timeout", "crossed": crossed, "note": f"{len(low)} boxes left"}
        now, later = slice(None, AT_ONCE), slice(AT_ONCE, None)
        lower, upper = _bounds(bounded, low[now], high[now], "CROWN")
        crossed = max(crossed, float((lower - upper).max()))
        left = ~_excluded(asked, lower, upper)
        found = _satisfying(graph, asked, low[now][left], high[now][left]) if bool(left.any()) else None
        if found is not None:
            return {"answer": "sat", "x": found, "crossed": crossed}
        low, high = _with_halves(low[later], high[later], low[now][left], high[now][left])
    return {"answer": "unsat", "crossed": crossed}


def _shaped(asked: Asked) -> tuple[torch.Tensor, torch.Tensor]:
    sizes = _sizes(asked.onnx)
    return torch.tensor(asked.low).reshape(sizes), torch.tensor(asked.high).reshape(sizes)


@cache
def _sizes(place: Path) -> list[int]:
    return [dim.dim_value for dim in onnx.load(place).graph.input[0].type.tensor_type.shape.dim]


def _satisfying(graph: Graph, asked: Asked, low: torch.Tensor, high: torch.Tensor) -> list[float] | None:
    points = torch.cat([(low + high) / 2, low, high])
    with torch.no_grad():
        y = graph(points).reshape(len(points), -1)
    holds = torch.zeros(len(points), dtype=torch.bool)
    for alternative in asked.alternatives:
        each = [y[:, k] >= c if operator == ">=" else y[:, k] <= c for operator, k, c in alternative]
        holds |= torch.stack(each).all(dim=0)
    return points[holds][0].flatten().tolist() if bool(holds.any()) else None


def _with_halves(low: torch.Tensor, high: torch.Tensor, cut_low: torch.Tensor, cut_high: torch.Tensor) -> Any:
    """Some boxes, and both halves of others, each cut along its widest side."""
    shape = (len(cut_low), cut_low[0].numel() if len(cut_low) else 0)
    left, right = cut_high.reshape(shape).clone(), cut_low.reshape(shape).clone()
    if len(cut_low):
        rows, sides = torch.arange(len(cut_low)), (left - right).argmax(dim=1)
        middle = (left[rows, sides] + right[rows, sides]) / 2
        left[rows, sides], right[rows, sides] = middle, middle
    lows = torch.cat([low, cut_low, right.reshape(cut_low.shape)])
    return lows, torch.cat([high, left.reshape(cut_low.shape), cut_high])


if __name__ == "__main__":
    main()
