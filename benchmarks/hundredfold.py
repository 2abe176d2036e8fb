"""Training for a hundred times as long as ours took. What is done is kept: started again, it goes on with the rest."""

from typing import Any

from anyformer.certificates.claims.measured import measure_error
from benchmarks.results import Size, load, save
from benchmarks.training import P, wanted

NAME = "training_hundredfold"
TIMES = 100
# The error on the way, at these multiples of the time; the rate only comes down towards the end.
LOOKS = (1, 2, 5, 10, 20, 50)


def measure(size: Size) -> None:
    """Every function of the last run of `training`, with the rate that was best there."""
    first = load("training", size)
    if first is None:
        raise SystemExit("run `python -m benchmarks training` first: it measures how long once is")
    done: dict[str, Any] = (load(NAME, size) or {}).get("targets", {})
    times = TIMES if size is Size.FULL else 3
    for row in first["rows"]:
        if done.get(row["target"], {}).get("once") != row["trained"]["seconds"]:
            print(f"hundredfold: {row['target']}, {times * row['trained']['seconds']:.0f} s", flush=True)
            done[row["target"]] = _train(row, times)
            save(NAME, size, {"times": times, "targets": done})


def _train(row: dict[str, Any], times: int) -> dict[str, Any]:
    from benchmarks import trained

    target, other, on_the_way = wanted()[row["target"]], row["trained"], {}
    once = other["seconds"]

    def look(moment: float, model: trained.Encoder) -> None:
        on_the_way[f"{moment / once:.0f}"] = measure_error(trained.as_function(model), target, P).error

    moments = tuple(once * times for times in LOOKS)
    done = trained.train(target, row["ours"]["parameters"], times * once, other["rate"], moments, look)
    error = measure_error(trained.as_function(done.model), target, P)
    return {
        "once": once,
        "seconds": times * once,
        "rate": other["rate"],
        "steps": done.steps,
        "error": error.error,
        "error_low": error.low,
        "error_high": error.high,
        "on_the_way": on_the_way,
    }
