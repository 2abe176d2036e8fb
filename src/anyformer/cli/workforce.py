"""Which processes do the work: `--workers` and `--dask`, the same for every verb that plans, builds or proves."""

import contextlib
from collections.abc import Iterator
from typing import Annotated

import typer

from anyformer.errors import UsageError

Workers = Annotated[
    int | None,
    typer.Option(metavar="N", help="Processes to spread the work over; as many as there are cores if not given."),
]
Dask = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Spread the work over a running Dask cluster, as tcp://host:8786.")
]


@contextlib.contextmanager
def workforce(workers: int | None, dask: str | None) -> Iterator[None]:
    """Spread the work done inside this block. The results do not depend on it."""
    from anyformer.runtime.run import threads_available
    from anyformer.workers import Processes, dask_cluster, spread

    if dask is not None and workers is not None:
        raise UsageError("--workers and --dask must not come together: a cluster has its own workers. Leave one out.")
    if workers is not None and workers < 1:
        raise UsageError(f"--workers must be at least 1; got {workers}.")
    cluster = Processes(workers or threads_available()) if dask is None else dask_cluster(dask)
    with cluster as executor, spread(executor):
        yield
