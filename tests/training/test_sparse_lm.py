"""Sparse language models: alike but for their patterns, the same after a kill, and nothing touched by mistake."""

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest

from anyformer.errors import TrainingError
from anyformer.mixers import Attention, PatternAttention
from anyformer.training import Architecture, Recipe, Schedule, SyntheticLanguage, Text
from anyformer.training.run import loop
from anyformer.training.sparse_lm import BUDGETS, ENTRANTS, Budget, begin, learn_all, recipe_of, trials_of

SENTENCES = SyntheticLanguage(sentences=300)
SMALL = Budget(
    Recipe(
        Architecture(layers=2, width=16, heads=2, vocabulary=400, longest=24, dropout=0.1),
        Text(tokens=20),
        Schedule(steps=4, batch=3, evaluate_every=2, save_every=1),
    ),
    seeds=1,
)


@contextlib.contextmanager
def unwatched(*_):
    yield None


def files(place: Path) -> dict[str, bytes]:
    return {str(file.relative_to(place)): file.read_bytes() for file in place.rglob("*") if file.is_file()}


def measured(place: Path) -> list:
    rows = [trial.folder.rows() for trial in trials_of(SMALL, place)]
    return [[{key: row[key] for key in row if key != "seconds"} for row in run] for run in rows]


@pytest.mark.slow
def test_killed_runs_end_with_the_same_numbers_and_none_is_repeated(tmp_path, monkeypatch):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    text = begin(SMALL, SENTENCES, None, whole)
    assert len(list(learn_all(SMALL, text, whole, unwatched))) == len(ENTRANTS)
    left, save = [6], loop.save_checkpoint

    def saving(*given):
        save(*given)
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    text = begin(SMALL, SENTENCES, None, broken)
    with monkeypatch.context() as context:
        context.setattr(loop, "save_checkpoint", saving)
        with pytest.raises(KeyboardInterrupt):
            list(learn_all(SMALL, text, broken, unwatched))
    done = list(learn_all(SMALL, begin(SMALL, SENTENCES, None, broken), broken, unwatched))
    assert [trial.entrant for trial in done] == list(ENTRANTS[1:])
    assert measured(broken) == measured(whole)
    before = files(broken)
    assert list(learn_all(SMALL, begin(SMALL, SENTENCES, None, broken), broken, unwatched)) == []
    assert files(broken) == before


def test_wrong_commands_touch_nothing(tmp_path):
    begin(SMALL, SENTENCES, None, tmp_path)
    before = files(tmp_path)
    other = replace(SMALL, recipe=SMALL.recipe.changed(schedule={"steps": 5}))
    for asked in ((other, SENTENCES, None), (SMALL, SyntheticLanguage(301), None), (SMALL, SENTENCES, SENTENCES)):
        with pytest.raises(TrainingError, match="a run must continue as it began"):
            begin(*asked, tmp_path)
    assert files(tmp_path) == before
    begin(replace(SMALL, seeds=3), SENTENCES, None, tmp_path)
    assert files(tmp_path) == before, "more seeds may follow"


def test_somebody_elses_folder_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(TrainingError, match=r"has thesis\.tex in it"):
        begin(SMALL, SENTENCES, None, tmp_path)
    assert files(tmp_path) == {"thesis.tex": b"dear"}


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
def test_recipes_differ_in_their_patterns_alone(budget):
    recipes = [recipe_of(budget, entrant) for entrant in ENTRANTS]
    assert len({recipe.architecture.stack for recipe in recipes}) == len(ENTRANTS)
    assert {replace(recipe, architecture=budget.recipe.architecture) for recipe in recipes} == {budget.recipe}
    kinds = {type(mixer) for recipe in recipes for mixer in recipe.architecture.stack}
    assert kinds == {Attention, PatternAttention}
    heads = {mixer.heads for recipe in recipes for mixer in recipe.architecture.stack}
    assert heads == {budget.recipe.architecture.heads}
