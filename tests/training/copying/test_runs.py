"""Copying runs: the same numbers whether interrupted or not, none repeated, and nothing touched by a wrong command."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from anyformer.errors import TrainingError
from anyformer.training.copying import runs
from anyformer.training.copying.runs import Trial, begin, copy_all, learn, trials_of
from anyformer.training.copying.task import Alphabet
from anyformer.training.run import loop
from tests.training.copying.small import budget, easy


def files(place: Path) -> dict[str, bytes]:
    return {str(file.relative_to(place)): file.read_bytes() for file in place.rglob("*") if file.is_file()}


def weights(trial: Trial) -> dict[str, bytes]:
    loaded = load_file(trial.folder.model / "model.safetensors")
    return {name: tensor.numpy().tobytes() for name, tensor in loaded.items()}


def result(trial: Trial):
    outcome = trial.outcome
    return replace(outcome, seconds=0.0), weights(trial), [row.get("loss") for row in trial.folder.rows()]


def one(asked, place: Path, name: str = "dense") -> Trial:
    return next(trial for trial in trials_of(asked, place) if trial.entrant.name == name)


def interrupted_after(monkeypatch, count: int) -> None:
    """Stop as a kill would, right after the checkpoint of this number."""
    left, save = [count], loop.save_checkpoint

    def saving(*given):
        save(*given)
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(loop, "save_checkpoint", saving)


def stopped(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("checkpoints", [1, 3, 5])
def test_an_interrupted_run_ends_with_the_same_numbers(tmp_path, monkeypatch, checkpoints):
    whole, broken = one(budget(), tmp_path / "whole", "fixed-multihead"), one(budget(), tmp_path, "fixed-multihead")
    learn(budget(), whole)
    with monkeypatch.context() as context:
        interrupted_after(context, checkpoints)
        with pytest.raises(KeyboardInterrupt):
            learn(budget(), broken)
    assert broken.outcome is None
    learn(budget(), broken)
    assert result(broken) == result(whole)
    assert whole.outcome.steps == 9


def test_a_run_ends_when_all_is_copied_also_after_a_kill_at_that_moment(tmp_path, monkeypatch):
    whole, broken = one(easy(), tmp_path / "whole"), one(easy(), tmp_path)
    learn(easy(), whole)
    assert whole.outcome.symbols == whole.outcome.sequences == 1.0
    assert whole.outcome.steps < 1000
    with monkeypatch.context() as context:
        context.setattr(runs, "finish_trial", stopped)
        with pytest.raises(KeyboardInterrupt):
            learn(easy(), broken)
    learn(easy(), broken)
    assert result(broken) == result(whole)


@pytest.mark.slow
def test_all_runs_are_done_once_and_more_seeds_may_follow(tmp_path):
    done = list(copy_all(budget(), tmp_path))
    assert len(done) == len(trials_of(budget(), tmp_path)) == 28
    before = files(tmp_path)
    assert list(copy_all(budget(), tmp_path)) == []
    assert files(tmp_path) == before
    more = list(copy_all(budget(seeds=2), tmp_path))
    assert {trial.seed for trial in more} == {1}
    assert {name: bytes_ for name, bytes_ in files(tmp_path).items() if name in before} == before


def test_runs_that_others_work_on_are_left_to_them(tmp_path):
    trials = trials_of(budget(), tmp_path)
    begin(budget(), tmp_path)
    with trials[0].folder.held():
        assert next(copy_all(budget(), tmp_path)) == trials[1]
    assert trials[0].outcome is None


def test_another_budget_is_refused_and_nothing_touched(tmp_path):
    next(copy_all(budget(), tmp_path))
    before = files(tmp_path)
    for other in (budget(alphabet=Alphabet(5, 3)), budget(depths=(1,)), budget(window=2), budget(width=16)):
        with pytest.raises(TrainingError, match="a run must continue as it began"):
            next(copy_all(other, tmp_path))
    assert files(tmp_path) == before


def test_folders_of_something_else_are_refused_and_nothing_touched(tmp_path):
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(TrainingError, match=r"has thesis\.tex in it"):
        next(copy_all(budget(), tmp_path))
    assert files(tmp_path) == {"thesis.tex": b"dear"}


def test_a_damaged_outcome_says_what_to_do(tmp_path):
    trial = one(budget(), tmp_path)
    learn(budget(), trial)
    (trial.folder.model / "outcome.json").write_text('{"symbols": 1.0}')
    with pytest.raises(TrainingError, match=r"outcome\.json must hold the outcome of a run; it is damaged"):
        _ = trial.outcome


def test_runs_use_one_thread_and_give_the_others_back():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with runs.one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
