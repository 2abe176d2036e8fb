"""Spreading work over processes or machines: cut a job into parts, do each somewhere, take the results in order.

    with ProcessPoolExecutor(8) as pool, spread(pool):
        model = construct(target, tolerance=0.01)

Any `concurrent.futures` executor will do. How a job is cut does not depend on the workers, and results are combined in
the order of the parts, so a certificate always has the same bytes.
"""

import contextlib
import hashlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from contextvars import ContextVar
from multiprocessing import get_context
from types import ModuleType
from typing import Any, TypeVar

from anyformer.errors import WorkerError, raised, words_of
from anyformer.extras import require

Shared = TypeVar("Shared")
Part = TypeVar("Part")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]
"""Called with (done, total) while a job is under way."""

# How often workers may die in a row without a single part getting done.
PATIENCE = 3
# From this many seconds of work on it pays to start processes.
STARTING = 3.0

_EXECUTOR: ContextVar[Executor | None] = ContextVar("executor", default=None)


@contextlib.contextmanager
def spread(executor: Executor | None) -> Iterator[None]:
    """Inside this block planning, value tables and proofs use the executor; None means this process."""
    token = _EXECUTOR.set(executor)
    try:
        yield
    finally:
        _EXECUTOR.reset(token)


class Processes(Executor):
    """A pool of processes that starts when there is enough to do, and is replaced when one of them is killed."""

    def __init__(self, count: int) -> None:
        if count < 1:
            raise WorkerError(f"at least one worker is needed; got {count}")
        self.count = count
        self._pool: ProcessPoolExecutor | None = None

    @property
    def is_running(self) -> bool:
        """Whether the processes have been started."""
        return self._pool is not None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Hand a call to the pool."""
        if self._pool is None:
            # Not forked: threads of the numeric libraries do not survive that.
            self._pool = ProcessPoolExecutor(self.count, mp_context=get_context("spawn"))
        return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; another call starts new ones."""
        if self._pool is not None:
            self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)
            self._pool = None


@contextlib.contextmanager
def dask_cluster(address: str) -> Iterator[Executor]:
    """The workers of a Dask cluster that is already running, as an executor."""
    distributed = require("distributed", extra="cluster", what="a Dask cluster")
    try:
        client = distributed.Client(address, timeout=10, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise WorkerError(
            f"there must be a Dask scheduler at the address given; got {address!r}, which does not answer "
            f"({words_of(error)}). Start one with `dask scheduler` and give its address, such as tcp://host:8786."
        ) from error
    with client, client.get_executor() as executor:
        if not client.scheduler_info(n_workers=-1)["workers"]:
            raise WorkerError(f"the Dask cluster at {address!r} must have workers; it has none. Start `dask worker`s.")
        yield executor


def each(function: Callable[[Shared, Part], Result], shared: Shared, parts: Sequence[Part]) -> Iterator[Result]:
    """function(shared, part) for every part, in their order, on the executor in use."""
    executor = _EXECUTOR.get()
    begun, done = time.perf_counter(), 0
    while done < len(parts) and _is_better_here(executor, time.perf_counter() - begun, done, len(parts)):
        yield function(shared, parts[done])
        done += 1
    if executor is not None and done < len(parts):
        yield from _spread_out(executor, _packed(function, shared), parts[done:])


def _is_better_here(executor: Executor | None, seconds: float, done: int, total: int) -> bool:
    """Whether to do the next part in this process: there are no workers, or starting them would take longer."""
    if executor is None or total < 2:
        return True
    if not isinstance(executor, Processes) or executor.is_running:
        return False
    return executor.count == 1 or done == 0 or seconds / done * (total - done) < STARTING


def _spread_out(executor: Executor, job: bytes, parts: Sequence[Any]) -> Iterator[Any]:
    """Results in order; parts that were lost with a worker are done again by another."""
    name = hashlib.sha256(job).hexdigest()
    futures: list[Future[Any]] = []
    done, deaths = 0, 0
    while done < len(parts):
        try:
            futures = futures or _submit(executor, name, job, parts[done:])
            result = futures[0].result()
        except _death() as lost:
            deaths += 1
            if deaths > PATIENCE:
                raise WorkerError(
                    f"workers must live long enough to finish a part; {deaths} died in a row while part {done + 1} of "
                    f"{len(parts)} was waited for ({type(lost).__name__}: {lost}). Give them more memory, or use fewer."
                ) from lost
            if isinstance(executor, Processes):
                executor.shutdown(wait=False, cancel_futures=True)
            futures = []
            continue
        futures.pop(0)
        done, deaths = done + 1, 0
        yield result


def _submit(executor: Executor, name: str, job: bytes, parts: Sequence[Any]) -> "list[Future[Any]]":
    placed = _placed(executor, name, job)
    return [executor.submit(_do, name, placed, part) for part in parts]


def _placed(executor: Executor, name: str, job: bytes) -> Any:
    """On a cluster the job is sent once, not along with every part.

    It is the result of a task: workers pass it on among themselves, and one that is lost with a worker is made again.
    Scattered data is not, and scattering to all waits forever for a worker that has just died.
    """
    client = getattr(executor, "_client", None)
    if client is None:
        return job
    import dask

    # Dask warns of large graphs because they may be sent again and again; this one is sent once.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        return client.submit(bytes, job, key=f"anyformer-{name}")


def _death() -> tuple[type[BaseException], ...]:
    """The exceptions which mean that a worker died. Errors of the job itself are not among them."""
    distributed = sys.modules.get("distributed")
    killed = (
        () if distributed is None else (distributed.scheduler.KilledWorker, distributed.client.FutureCancelledError)
    )
    return (BrokenExecutor, CancelledError, *killed)


def _packed(function: Callable[..., Any], shared: Any) -> bytes:
    """The job as bytes. A user's function is sent with its code, so workers do not need its file."""
    import cloudpickle

    own = _own_module(shared)
    if own is not None:
        cloudpickle.register_pickle_by_value(own)
    try:
        return bytes(cloudpickle.dumps((function, shared)))
    except Exception as error:
        raise WorkerError(
            f"the target's function must be one that can be sent to workers; sending it raised "
            f"{raised(error)}. Write it without open files, locks and the like, or use no workers."
        ) from error
    finally:
        if own is not None:
            cloudpickle.unregister_pickle_by_value(own)


def _own_module(shared: Any) -> ModuleType | None:
    target = shared[0] if isinstance(shared, tuple) else getattr(shared, "target", None)
    name = getattr(getattr(target, "function", None), "__module__", None) or ""
    installed = name.partition(".")[0] in ("anyformer", "numpy", "__main__", "builtins")
    return None if installed else sys.modules.get(name)


# A worker keeps the last job: its parts come one after the other.
_LAST: dict[str, tuple[Callable[..., Any], Any]] = {}


def _do(name: str, job: bytes, part: Any) -> Any:
    if name not in _LAST:
        import pickle

        _LAST.clear()
        _LAST[name] = pickle.loads(job)
    function, shared = _LAST[name]
    return function(shared, part)


def enter(progress: Progress | None, phase: str) -> None:
    """Tell what the work that follows is for, if `progress` has a method `enter` to be told by."""
    told = getattr(progress, "enter", None)
    if told is not None:
        told(phase)


def counted(results: Iterator[Result], total: int, progress: Progress | None) -> Iterator[Result]:
    """The same results; `progress` is called with (done, total) after each."""
    for done, result in enumerate(results, start=1):
        if progress is not None:
            progress(done, total)
        yield result
