"""Time to certified ε against training an encoder of at least the same size on the same function for as long."""

from typing import Any

from anyformer import construct, targets
from anyformer.certificates.checker import Verdict
from anyformer.certificates.claims.measured import measure_error
from anyformer.model import Model
from anyformer.targets import Target
from anyformer.workers import Processes, spread
from benchmarks.interleave import timed
from benchmarks.machine import THREADS
from benchmarks.results import Size, load

TOLERANCE = {Size.FULL: 0.05, Size.QUICK: 0.1}
P = 2.0
RATES = {Size.FULL: (1e-3, 3e-3, 1e-2), Size.QUICK: (3e-3,)}


def wanted() -> dict[str, Target]:
    """The functions, by name."""
    return {
        "softmax": targets.softmax(tokens=3),
        "mean-scale": targets.mean_scale(tokens=3),
        "sort, positions": targets.sort(tokens=3),
    }


def measure(size: Size) -> dict[str, Any]:
    """Every function: built and verified, then trained with each rate for as long as both took together."""
    return {"tolerance": TOLERANCE[size], "rows": [_compare(name, target, size) for name, target in wanted().items()]}


def _compare(name: str, target: Target, size: Size) -> dict[str, Any]:
    ours = _built(target, TOLERANCE[size])
    seconds = ours["construct_seconds"] + ours["verify_seconds"]
    print(f"training: {name}, {seconds:.1f} s for each of {len(RATES[size])} rates", flush=True)
    tried = {str(rate): trained_error(target, ours["parameters"], seconds, rate) for rate in RATES[size]}
    rate = min(tried, key=lambda rate: tried[rate]["error"])
    return {"target": name, "ours": ours, "trained": {"rate": float(rate), **tried[rate]}, "tried": tried}


def _built(target: Target, tolerance: float) -> dict[str, Any]:
    made: list[Any] = []
    pool = Processes(THREADS)
    try:
        with spread(pool):
            constructing = timed(lambda: made.append(construct(target, tolerance, p=P, method="averaging")))
            model: Model = made[0]
            verifying = timed(lambda: made.append(model.verify()))
    finally:
        pool.shutdown()
    assert made[1].verdict is Verdict.PROVED
    error = measure_error(model, target, P)
    return {
        "construct_seconds": constructing,
        "verify_seconds": verifying,
        "layers": model.network.layer_count,
        "parameters": model.network.parameter_count,
        "certified": model.certificate.certified_error,
        "error": error.error,
        "error_low": error.low,
        "error_high": error.high,
    }


def trained_error(target: Target, parameters: int, seconds: float, rate: float) -> dict[str, Any]:
    """Train with one rate; the error is measured as ours is."""
    from benchmarks import trained

    done = trained.train(target, parameters, seconds, rate)
    error = measure_error(trained.as_function(done.model), target, P)
    return {
        "error": error.error,
        "error_low": error.low,
        "error_high": error.high,
        "seconds": seconds,
        "steps": done.steps,
        "threads": done.threads,
        "parameters": done.model.parameter_count,
    }


def render(numbers: dict[str, Any]) -> str:
    """The section of the report."""
    rows = numbers["rows"]
    long = load("training_hundredfold", Size(numbers["size"])) or {}
    better = [row["target"] for row in rows if row["trained"]["error"] < row["ours"]["error"]]
    verdict = f"training has the smaller error on {', '.join(better)}" if better else "ours is smaller on all of them"
    return "\n\n".join(
        [
            f"- After the same time, measured the same way: **{verdict}**. A trained network has no certificate: its "
            f"error is an estimate from samples, ours is proved to be at most {numbers['tolerance']:g}, twice.",
            _table(rows, long),
            "Errors are L² over the domain (`measure_error`). The encoder has at least as many parameters, and the "
            f"best of the rates {', '.join(rows[0]['tried'])} counts, each given the whole time (building, "
            "proving and verifying together); the time to try the others is not held against it. 100 × as long: "
            "`python -m benchmarks training --hundredfold`, with the best rate.",
        ]
    )


def _table(rows: list[dict[str, Any]], long: dict[str, Any]) -> str:
    lines = [
        "| function | layers | parameters | build + verify, s | certified | measured | trained: parameters | steps "
        f"| error after the same time | after {long.get('times', 100)} × |",
        "|" + "---|" * 10,
    ]
    for row in rows:
        ours, other = row["ours"], row["trained"]
        later = long.get("targets", {}).get(row["target"])
        lines.append(
            f"| {row['target']} | {ours['layers']:,} | {ours['parameters']:,} "
            f"| {ours['construct_seconds']:.1f} + {ours['verify_seconds']:.1f} | {ours['certified']:.4f} "
            f"| {ours['error']:.4f} | {other['parameters']:,} | {other['steps']:,} | {other['error']:.4f} "
            f"| {'not run' if later is None else format(later['error'], '.5f')} |"
        )
    return "\n".join(lines)
