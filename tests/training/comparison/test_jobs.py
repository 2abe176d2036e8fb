"""Jobs: in order, once, and only what is missing; shared with other processes, and taken over from those that died."""

from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from filelock import FileLock

from anyformer.training.comparison.jobs import Job, wanted, work


@dataclass(frozen=True)
class Write(Job):
    place: Path
    after: tuple["Write", ...] = ()
    done: list[str] = field(default_factory=list, compare=False)

    @property
    def file(self) -> Path:
        return self.place / self.name

    @property
    def is_complete(self) -> bool:
        return self.file.exists()

    @property
    def needs(self):
        return self.after

    def do(self, watching) -> None:
        assert all(need.is_complete for need in self.after)
        self.done.append(self.name)
        self.file.write_text("done")


def watching(title, schedule):
    return nullcontext()


def names(jobs) -> list[str]:
    return [job.name for job in jobs]


def test_what_a_goal_needs_comes_first_and_once(tmp_path):
    low = Write("low", tmp_path)
    middle = Write("middle", tmp_path, (low,))
    goals = [Write("high", tmp_path, (middle, low)), Write("other", tmp_path, (low,)), middle]
    assert names(wanted(goals)) == ["low", "middle", "high", "other"]
    assert names(work(goals, tmp_path / "locks", watching)) == ["low", "middle", "high", "other"]
    assert wanted(goals) == []


def test_what_only_a_finished_goal_needed_is_not_done(tmp_path):
    low = Write("low", tmp_path)
    (tmp_path / "high").write_text("done before")
    assert names(work([Write("high", tmp_path, (low,))], tmp_path / "locks", watching)) == []
    assert not low.is_complete


def test_a_job_that_another_process_holds_is_left_to_it(tmp_path):
    """The other one ends its job while this one does the rest, and dies in another, which is then free."""
    goals = [Write(name, tmp_path) for name in ("theirs", "dies", "ours")]
    locks = tmp_path / "locks"
    locks.mkdir()
    theirs, dies = (FileLock(locks / f"{name}.lock") for name in ("theirs", "dies"))
    theirs.acquire()
    dies.acquire()
    found = []
    for job in work(goals, locks, watching, patience=0.01):
        found.append(job.name)
        if job.name == "ours":
            (tmp_path / "theirs").write_text("done by the other")
            theirs.release()
            dies.release()
    assert found == ["ours", "dies"]
    assert (tmp_path / "theirs").read_text() == "done by the other"


def test_a_job_that_fails_is_free_again(tmp_path):
    class Failure(Exception):
        pass

    @dataclass(frozen=True)
    class Fails(Write):
        def do(self, watching) -> None:
            raise Failure

    with pytest.raises(Failure):
        list(work([Fails("one", tmp_path)], tmp_path / "locks", watching))
    assert names(work([Write("one", tmp_path)], tmp_path / "locks", watching)) == ["one"]


def test_a_job_that_another_process_has_done_meanwhile_is_not_done_again(tmp_path):
    """It was missing when this process looked, and is there once the lock is held."""
    looks = iter([False])

    @dataclass(frozen=True)
    class Late(Write):
        @property
        def is_complete(self) -> bool:
            return next(looks, True)

    late = Late("one", tmp_path)
    assert names(work([late], tmp_path / "locks", watching, patience=0.01)) == []
    assert late.done == []
