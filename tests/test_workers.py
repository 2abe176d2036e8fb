"""Work that is spread out gives the same bytes as work that is not, whoever dies on the way."""

import json
import operator
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anyformer as af
from anyformer import workers
from anyformer.certificates.bounds import job
from anyformer.errors import WorkerError
from anyformer.workers import Processes, counted, dask_cluster, each, spread

OWN = """
import numpy as np
STRETCH = 0.9
def stretched(x):
    return inner(x) * STRETCH
def inner(x):
    return x * x.mean(axis=1, keepdims=True)
"""


def square(shared: int, part: int) -> int:
    return shared * part * part


def die_once(marker: str, part: int) -> int:
    """Kills its own process the first time anybody gets to part 5."""
    if part == 5 and not os.path.exists(marker):
        Path(marker).write_text("died here")
        os.kill(os.getpid(), signal.SIGKILL)
    return part * 10


def always_die(shared: None, part: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return part


def refuse(shared: None, part: int) -> int:
    raise ValueError(f"part {part} is impossible")


def certificate_of(model: af.Model) -> str:
    return json.dumps(model.certificate.to_json())


@pytest.fixture
def eager(monkeypatch):
    """Start processes even for little work."""
    monkeypatch.setattr(workers, "STARTING", -1.0)


def test_results_come_in_the_order_of_the_parts(eager):
    wanted = [3 * k * k for k in range(20)]
    assert list(each(square, 3, range(20))) == wanted
    with ThreadPoolExecutor(3) as threads, spread(threads):
        assert list(each(square, 3, range(20))) == wanted
    with Processes(2) as processes, spread(processes):
        assert list(each(square, 3, range(20))) == wanted
        assert processes.is_running


def test_little_work_stays_here():
    with Processes(2) as processes, spread(processes):
        assert list(each(square, 3, range(5))) == [3 * k * k for k in range(5)]
        assert not processes.is_running


def test_a_killed_process_is_replaced_and_nothing_is_lost(eager, tmp_path):
    with Processes(2) as processes, spread(processes):
        assert list(each(die_once, str(tmp_path / "marker"), range(1, 12))) == [k * 10 for k in range(1, 12)]
    assert (tmp_path / "marker").exists()


@pytest.mark.slow
def test_work_that_kills_everybody_is_given_up_with_a_reason(eager):
    with Processes(2) as processes, spread(processes), pytest.raises(WorkerError, match="died in a row"):
        list(workers._spread_out(processes, workers._packed(always_die, None), range(4)))


def test_a_worker_that_dies_while_parts_are_handed_out_is_one_that_died():
    class Breaking(ThreadPoolExecutor):
        left = 3

        def submit(self, *call):
            self.left -= 1
            if self.left == 0:
                raise BrokenExecutor("gone")
            return super().submit(*call)

    with Breaking(1) as executor, spread(executor):
        assert list(each(square, 3, range(5))) == [3 * k * k for k in range(5)]
    assert executor.left == 3 - (3 + 5)


def test_an_error_of_the_work_itself_is_passed_on(eager):
    with ThreadPoolExecutor(2) as threads, spread(threads), pytest.raises(ValueError, match="part 0 is impossible"):
        list(each(refuse, None, range(4)))


def test_spreading_ends_with_its_block():
    with pytest.raises(ZeroDivisionError), ThreadPoolExecutor(1) as threads, spread(threads):
        raise ZeroDivisionError
    assert workers._EXECUTOR.get() is None


def test_what_cannot_be_sent_is_said():
    lock = threading.Lock()
    with ThreadPoolExecutor(1) as threads, spread(threads), pytest.raises(WorkerError, match="can be sent to workers"):
        list(each(square, lock, range(3)))


def test_progress_is_told_after_every_part():
    told = []
    assert list(counted(iter("abc"), 3, lambda done, of: told.append((done, of)))) == list("abc")
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("count", [0, -3])
def test_no_workers_are_refused(count):
    with pytest.raises(WorkerError, match="at least one worker"):
        Processes(count)


def test_an_own_function_travels_with_its_code(eager, tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    target = af.target(af.targets.load_function(f"{tmp_path}/mine.py:stretched"), tokens=2, width=1, lipschitz=2.0)
    alone = af.construct(target, 0.1, method="averaging")
    with Processes(2) as processes, spread(processes):
        spread_out = af.construct(target, 0.1, method="averaging")
    assert certificate_of(alone) == certificate_of(spread_out)


@pytest.mark.slow
def test_certificates_are_the_same_bytes_with_any_workers(eager, monkeypatch):
    monkeypatch.setattr(job, "LEAST", 24)  # several chunks, of a few cells each
    target = af.targets.softmax(tokens=3)
    certificates, verdicts = [], []
    for executor in (None, ThreadPoolExecutor(1), ThreadPoolExecutor(3)):
        with spread(executor):
            model = af.construct(target, 0.1, method="averaging")
            certificates.append(certificate_of(model))
            verdicts.append(model.verify().verdict)
    assert len(set(certificates)) == 1
    assert set(verdicts) == {af.Verdict.PROVED}


SCHEDULER = [
    sys.executable,
    "-m",
    "distributed.cli.dask_scheduler",
    "--host",
    "127.0.0.1",
    "--port",
    "0",
    "--no-dashboard",
]
WORKER = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", "--no-dashboard"]


@pytest.fixture
def cluster(tmp_path):
    """A real cluster: a scheduler and two workers, each a process of its own. Gives its address and the workers."""
    place = tmp_path / "scheduler.json"
    everybody = [
        subprocess.Popen([*SCHEDULER, "--scheduler-file", str(place)], cwd=tmp_path, stderr=subprocess.DEVNULL)
    ]
    try:
        # The scheduler opens the file before it writes: it is whole when its object is closed.
        while not place.exists() or not place.read_text().endswith("}"):
            assert everybody[0].poll() is None, "the scheduler did not start"
            time.sleep(0.05)
        address = json.loads(place.read_text())["address"]
        everybody += [subprocess.Popen([*WORKER, address], cwd=tmp_path, stderr=subprocess.DEVNULL) for _ in range(2)]
        yield address, everybody[1:]
    finally:
        for process in everybody:
            process.kill()
            process.wait()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning")
def test_a_dask_cluster_that_loses_a_worker_gives_the_same_certificate(cluster, monkeypatch):
    address, its_workers = cluster
    monkeypatch.setattr(job, "LEAST", 24)  # several chunks, of a few cells each
    target = af.targets.softmax(tokens=3)
    alone = af.construct(target, 0.05, method="averaging")
    killed = []

    def progress(done: int, of: int) -> None:
        if not killed and done == 2 and of > 4:  # half-way through a proof
            its_workers[0].kill()
            killed.append((done, of))

    _wait_for(address, 2)
    with dask_cluster(address) as executor, spread(executor):
        model = af.construct(target, 0.05, method="averaging", progress=progress)
    assert killed
    assert its_workers[0].wait() == -signal.SIGKILL
    assert certificate_of(model) == certificate_of(alone)
    assert np.array_equal(model.network.stages[-1].W_1, alone.network.stages[-1].W_1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning")
def test_a_dask_worker_that_dies_before_the_work_is_handed_out_is_done_without(cluster):
    address, its_workers = cluster
    _wait_for(address, 2)
    with dask_cluster(address) as executor, spread(executor):
        assert list(each(operator.mul, 3, range(5))) == [0, 3, 6, 9, 12]
        its_workers[0].kill()  # nobody has noticed yet
        assert list(each(operator.mul, 7, range(5))) == [0, 7, 14, 21, 28]


def _wait_for(address: str, count: int) -> None:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(count)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_cluster_that_is_not_there_is_said(monkeypatch):
    import distributed

    def impatient(address: str, timeout: float, **options: Any) -> distributed.Client:
        assert timeout > 1
        return client(address, timeout=1, **options)

    client = distributed.Client
    monkeypatch.setattr(distributed, "Client", impatient)
    with pytest.raises(WorkerError, match="must be a Dask scheduler"), dask_cluster("tcp://127.0.0.1:1"):
        pass
