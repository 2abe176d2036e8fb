"""What a training run says where stderr is no terminal, with a clock that tests set."""

import pytest

pytest.importorskip("accelerate", reason="training needs more: pip install anyformer[train]")

import itertools

from anyformer.cli.training_log import OFTEN, RARELY, SHARE, Seen, logged
from anyformer.cli.watching import training_bar
from anyformer.training import Schedule


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def run(steps, seconds_a_step, *, first=0, title="", every=None):
    """The lines of a run, with the time of each."""
    clock, lines = Clock(), []
    start = clock.now
    with logged(
        title, steps, Seen(batch=4, tokens=25), clock, lambda line: lines.append((clock.now - start, line))
    ) as log:
        if first == 0:
            log({"step": 0, "validation_loss": 7.5})
        for step in range(first + 1, steps + 1):
            clock.now += seconds_a_step
            log({"step": step, "loss": 6.0, "gradient_norm": 1.0, "seconds": step * seconds_a_step})
            if every and step % every == 0:
                log({"step": step, "validation_loss": 5.25})
    return lines


def test_a_short_run_has_a_first_and_a_last_line():
    assert run(steps=1000, seconds_a_step=0.01, every=500) == [
        (0.0, "step 0 of 1000, held out 7.500"),
        (pytest.approx(10.0), "step 1000 of 1000, loss 6.000, held out 5.250, 10,000 tokens/s"),
    ]


def test_lines_of_a_long_run_are_few_and_say_what_is_left():
    lines = run(steps=10_000, seconds_a_step=0.5, title="average, seed 1: words")
    assert len(lines) == 1 / SHARE + 1
    assert all(later[0] - sooner[0] >= OFTEN for sooner, later in itertools.pairwise(lines))
    middle = lines[10][1]
    assert middle == (
        "average, seed 1: words: step 5000 of 10000, loss 6.000, held out 7.500, 200 tokens/s, 41.7 min left"
    )


def test_a_very_long_run_still_says_something():
    lines = run(steps=2000, seconds_a_step=100.0)
    gaps = [later[0] - sooner[0] for sooner, later in itertools.pairwise(lines)]
    assert max(gaps) <= RARELY + 100.0
    assert min(gaps[:-1]) >= RARELY


def test_a_resumed_run_says_where_it_goes_on():
    lines = run(steps=100, seconds_a_step=1.0, first=90)
    assert [line for _, line in lines] == [
        "step 91 of 100, loss 6.000",
        "step 100 of 100, loss 6.000, 100 tokens/s",
    ]


def test_a_run_that_has_nothing_to_do_says_nothing():
    assert run(steps=10, seconds_a_step=1.0, first=10) == []


def test_lines_go_to_stderr_where_it_is_no_terminal_and_only_from_one_process(capsys, monkeypatch):
    def watched():
        with training_bar("a \x1b[31m run", Schedule(steps=3)) as watch:
            if watch is not None:
                watch({"step": 1, "loss": 2.0, "seconds": 1.0})
        return capsys.readouterr()

    told = watched()
    assert told.out == ""
    assert "step 1 of 3, loss 2.000" in told.err
    assert "\x1b" not in told.err
    monkeypatch.setenv("RANK", "1")
    assert watched().err == ""
