"""What takes time is said: phases with their seconds, a bar on a terminal."""

from itertools import count
from types import SimpleNamespace

from anyformer.cli import output
from anyformer.cli.output import Work, at_work


def test_phases_and_their_seconds_are_kept():
    shown = []
    work = Work(lambda *what: shown.append(what))
    work.enter("planning")
    work.enter("proving")
    work(1, 4)
    work.enter("planning")
    work.leave()
    assert shown == [("planning", None, None), ("proving", None, None), ("proving", 1, 4), ("planning", None, None)]
    assert list(work.seconds) == ["planning", "proving"]
    assert all(seconds >= 0 for seconds in work.seconds.values())


def test_a_build_says_what_its_time_was_spent_on(call, monkeypatch):
    table = ("build", "centre", "--epsilon", 0.3, "--method", "averaging")
    data = call(*table, "--json").data
    assert list(data["seconds_by_phase"]) == ["planning", "building", "proving", "measuring"]
    assert sum(data["seconds_by_phase"].values()) <= data["seconds"]
    program = call("build", "centre", "--epsilon", 0.3, "--method", "compile", "--json").data
    assert list(program["seconds_by_phase"]) == list(data["seconds_by_phase"])
    # On a clock where each phase takes longer than all before it, the last two are the longest on every machine.
    readings = (2.0**reading for reading in count())
    monkeypatch.setattr(output, "time", SimpleNamespace(perf_counter=lambda: next(readings)))
    shown = call(*table).out
    assert [phase for phase in data["seconds_by_phase"] if f" s {phase}" in shown] == ["proving", "measuring"]


def test_what_is_measured_is_what_was_done_inside():
    with at_work("planning") as work:
        work.enter("proving")
    assert list(work.seconds) == ["planning", "proving"]
