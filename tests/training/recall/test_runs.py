"""Runs of associative recall: the same numbers whether interrupted or not, rates chosen on validation alone."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import load_file

from anyformer.errors import MixerError, TrainingError
from anyformer.mixers import MixerBertForMaskedLM
from anyformer.training.recall import runs
from anyformer.training.recall.budgets import BUDGETS, chosen_entrants, entrants
from anyformer.training.recall.runs import begin, choosing, chosen, learn, left, recall_all, repeated, trial_of
from anyformer.training.recall.task import Layout, Question
from anyformer.training.run import loop
from tests.training.recall.small import LAYOUT, SIZES, budget, some


def files(place: Path) -> dict[str, bytes]:
    return {str(file.relative_to(place)): file.read_bytes() for file in place.rglob("*") if file.is_file()}


def first(asked, place: Path):
    return choosing(asked, place)[0]


def result(trial):
    loaded = load_file(trial.folder.model / "model.safetensors")
    weights = {name: tensor.numpy().tobytes() for name, tensor in loaded.items()}
    return replace(trial.outcome, seconds=0.0), weights, [row.get("loss") for row in trial.folder.rows()]


def interrupted_after(monkeypatch, count: int) -> None:
    """Stop as a kill would, right after the checkpoint of this number."""
    left_, save = [count], loop.save_checkpoint

    def saving(*given):
        save(*given)
        left_[0] -= 1
        if left_[0] == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(loop, "save_checkpoint", saving)


@pytest.mark.parametrize("checkpoints", [1, 5])
def test_an_interrupted_run_ends_with_the_same_numbers(tmp_path, monkeypatch, checkpoints):
    whole, broken = first(budget(), tmp_path / "whole"), first(budget(), tmp_path)
    learn(budget(), whole)
    with monkeypatch.context() as context:
        interrupted_after(context, checkpoints)
        with pytest.raises(KeyboardInterrupt):
            learn(budget(), broken)
    assert broken.outcome is None
    learn(budget(), broken)
    assert result(broken) == result(whole)
    assert whole.outcome.steps == 9
    assert len(whole.outcome.test) == len(whole.outcome.validation) == 2


def pretended(place: Path, asked, name: str, rate: float, validation: tuple[float, ...], seed: int = 0, steps: int = 9):
    """A complete run with made-up shares; its shares on test are those of another rate's validation."""
    trial = trial_of(place, some(name)[0], Question.CONTENT, rate, seed)
    trial.folder.begin({"made": "up"})
    trial.folder.model.mkdir()
    told = {"validation": validation, "test": [1 - share for share in validation], "steps": steps, "seconds": 1.0}
    (trial.folder.model / "outcome.json").write_text(json.dumps({**told, "parameters": 5}))
    return trial


def test_the_rate_is_chosen_on_validation_once_all_are_complete(tmp_path):
    asked = budget(seeds=3)
    slow = pretended(tmp_path, asked, "hybrid", 1e-3, (0.75, 0.5))
    assert chosen(asked, tmp_path, slow.entrant, Question.CONTENT) is None
    assert repeated(asked, tmp_path) == ()
    pretended(tmp_path, asked, "hybrid", 1e-2, (0.25, 0.75))
    assert chosen(asked, tmp_path, slow.entrant, Question.CONTENT) == slow
    more = repeated(asked, tmp_path)
    assert [(trial.entrant.name, trial.question, trial.rate, trial.seed) for trial in more] == [
        ("hybrid", Question.CONTENT, 1e-3, 1),
        ("hybrid", Question.CONTENT, 1e-3, 2),
    ]
    assert asked.runs == 2 * 2 * (2 + 2)
    assert left(asked, tmp_path) == asked.runs - 2


def test_of_equally_good_rates_the_faster_is_chosen(tmp_path):
    asked = budget()
    pretended(tmp_path, asked, "average", 1e-3, (1.0, 1.0), steps=9)
    fast = pretended(tmp_path, asked, "average", 1e-2, (1.0, 1.0), steps=6)
    assert chosen(asked, tmp_path, fast.entrant, Question.CONTENT) == fast


@pytest.mark.slow
def test_all_runs_are_done_once_and_more_seeds_and_mixers_may_follow(tmp_path):
    asked = budget("average")
    assert len(list(recall_all(asked, tmp_path))) == asked.runs == 4
    assert left(asked, tmp_path) == 0
    before = files(tmp_path)
    assert list(recall_all(asked, tmp_path)) == []
    more = list(recall_all(budget("average", "bilinear", seeds=2), tmp_path))
    assert [(trial.entrant.name, trial.seed) for trial in more] == [
        *[("bilinear", 0)] * 4,
        *[("average", 1), ("bilinear", 1)] * 2,
    ]
    assert {name: content for name, content in files(tmp_path).items() if name in before} == before


def test_runs_that_others_work_on_are_left_to_them(tmp_path):
    trials = choosing(budget(), tmp_path)
    begin(budget(), tmp_path)
    with trials[0].folder.held():
        assert next(recall_all(budget(), tmp_path)) == trials[1]
    assert trials[0].outcome is None


def test_another_budget_is_refused_and_nothing_touched(tmp_path):
    begin(budget(), tmp_path)
    before = files(tmp_path)
    others = ({"layout": Layout(7, 5, 3)}, {"pairs": (2,)}, {"start": "neighbours"}, {"rates": (1e-3,)}, {"judged": 12})
    for other in others:
        with pytest.raises(TrainingError, match="a run must continue as it began"):
            next(recall_all(budget(**other), tmp_path))
    assert files(tmp_path) == before


def test_folders_of_something_else_are_refused_and_nothing_touched(tmp_path):
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(TrainingError, match=r"has thesis\.tex in it"):
        next(recall_all(budget(), tmp_path))
    assert files(tmp_path) == {"thesis.tex": b"dear"}


@pytest.mark.parametrize("content", ['{"steps": 9}', "[]", '{"validation": 1, "test": 2}', "{"])
def test_a_damaged_outcome_says_what_to_do(tmp_path, content):
    trial = pretended(tmp_path, budget(), "average", 1e-2, (0.5, 0.5))
    (trial.folder.model / "outcome.json").write_text(content)
    with pytest.raises(TrainingError, match=r"outcome\.json must hold the outcome of a run; it is damaged"):
        _ = trial.outcome


def test_what_is_saved_loads(tmp_path):
    trial = first(budget(), tmp_path)
    learn(budget(), trial)
    loaded = MixerBertForMaskedLM.from_pretrained(trial.folder.model)
    assert loaded.config.layer_mixers == trial.entrant.mixers


def test_the_start_is_a_choice(tmp_path):
    trial = first(budget("attention"), tmp_path)
    name = "bert.encoder.layer.0.attention.self.query.weight"
    bert, near = (runs.fresh(budget("attention", start=start), trial) for start in ("bert", "neighbours"))
    assert not bert.state_dict()[name].equal(near.state_dict()[name])


@pytest.mark.parametrize("size", BUDGETS.values(), ids=BUDGETS)
def test_every_entrant_fits_every_budget_and_reaches_the_pairs(size):
    made = {entrant.name: entrant for entrant in entrants(size.layout, size.sizes)}
    assert {"hybrid", "attention", "sparse-attention", "convolution", "plain-convolution", "bilinear", "average"} <= {
        *made
    }
    assert {len(entrant.mixers) for entrant in made.values()} == {size.sizes.layers}
    assert made["convolution"].mixers[0].kernel // 2 >= size.layout.half
    for entrant in made.values():
        entrant.mixers[0].build(size.sizes.width)


def test_mixers_of_ones_own_are_taken_by_their_notation():
    asked = chosen_entrants(budget(), ["average", "convolution:kernel=3,filters=2", "average"])
    assert [entrant.name for entrant in asked] == ["average", "convolution:kernel=3,filters=2"]
    assert asked[1].mixers[0].kernel == 3
    assert asked[1].folder_name == "convolution-kernel=3-filters=2"
    assert chosen_entrants(budget(), []) == ()
    assert replace(budget(), asked=()).entrants == entrants(LAYOUT, SIZES)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "a mixer must be one of attention"),
        ("convolution:kernel=0", "kernel must be a whole number from 1"),
        ("attention:heads=3", "heads must divide the width; got heads = 3 and width = 8"),
    ],
)
def test_mixers_that_do_not_exist_or_do_not_fit_are_refused(name, message):
    with pytest.raises(MixerError, match=message):
        chosen_entrants(budget(), [name])


def test_budgets_without_pairs_or_rates_are_refused():
    with pytest.raises(TrainingError, match="pairs must name at least one"):
        budget(pairs=())
    with pytest.raises(TrainingError, match="rates must name at least one"):
        budget(rates=())
