"""A whole comparison, small: what is chosen, when the test set is looked at, and what remains when runs are deleted."""

import json
import shutil
from dataclasses import replace

import pytest

from anyformer.errors import TrainingError
from anyformer.training.comparison.entrants import entrants_of
from anyformer.training.comparison.learning_entailment import Test as LookedAt
from anyformer.training.comparison.learning_entailment import Tuning, learners_of
from anyformer.training.comparison.learning_words import RateTrial, Words, chosen_rate
from anyformer.training.comparison.results import WordsResult
from anyformer.training.comparison.runs import begin, compare, goals, identity
from anyformer.training.evaluation.words import windows_in
from anyformer.training.tasks.finetune import digest_of
from tests.training.comparison.small import CORPUS, OTHER, budget, entailment, experiment, quietly

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """An experiment, and the names of its jobs in the order in which they were done."""
    made = experiment(tmp_path_factory.mktemp("comparison") / "all", spent=budget(ablations=("attention",)))
    return made, [job.name for job in compare(made, quietly)]


def test_all_results_are_there_and_nothing_is_done_twice(finished):
    made, done = finished
    assert len(done) == len(set(done))
    assert all(goal.is_complete for goal in goals(made))
    assert [job.name for job in compare(made, quietly)] == []
    results = {file.stem for file in (made.place / "results").iterdir()}
    assert results == {goal.name for goal in goals(made)}
    assert {"words-attention-0", "words-attention-bert-start-0", "baseline-overlap"} <= results
    assert {"test-attention-pretrained-0", "test-convolution-untrained-0"} <= results


def test_the_test_set_is_looked_at_when_nothing_is_left_to_choose(finished):
    _, done = finished
    looks = [place for place, name in enumerate(done) if name.startswith(("test-", "baseline-"))]
    choices = [place for place, name in enumerate(done) if name.startswith("tuning-")]
    assert len(choices) == 2 * 2 * 2
    assert max(choices) < min(looks)


def test_rates_are_those_that_did_best_on_what_was_held_out(finished):
    made, _ = finished
    for entrant in made.entrants:
        trials = [RateTrial.of(made, entrant, rate) for rate in made.budget.rates]
        assert chosen_rate(made, entrant) == min(trials, key=lambda trial: trial.loss).rate
    for learner in learners_of(made):
        look = LookedAt.of(made, learner, 0)
        best = max(look.candidates, key=lambda tuning: tuning.accuracy)
        assert look.result.rate == best.rate
        assert set(look.result.rates) == {f"{rate:g}" for rate in made.budget.tuning_rates}
        assert len(look.result.predicted) == len(made.entailment.test)


def test_results_alone_are_enough_for_more_seeds(finished, tmp_path):
    made, _ = finished
    place = tmp_path / "later"
    shutil.copytree(made.place / "results", place / "results")
    shutil.copy(made.place / "run.json", place / "run.json")
    later = experiment(place, spent=replace(made.budget, seeds=2))
    done = [job.name for job in compare(later, quietly)]
    assert not [name for name in done if name.startswith("rate-") or name.endswith("-0") or "-0-" in name]
    assert "tuning-attention-pretrained-1-chosen" in done
    learner = learners_of(later)[0]
    first, second = (LookedAt.of(later, learner, seed) for seed in (0, 1))
    assert Tuning.of(later, learner, 1, None).rate == first.result.rate == second.result.rate


def test_a_run_with_a_rate_that_is_not_the_chosen_one_is_not_measured(finished, tmp_path):
    """As when the grid of rates has grown since, and another one is better now."""
    made, _ = finished
    place = tmp_path / "later"
    shutil.copytree(made.place, place, ignore=shutil.ignore_patterns("results"))
    run = place / "pretraining" / "attention-0" / "run.json"
    told = json.loads(run.read_text())
    told["identity"]["recipe"]["schedule"]["learning_rate"] = 0.123
    run.write_text(json.dumps(told))
    with pytest.raises(TrainingError, match=r"learning_rate = 0.123, and .* is asked for"):
        list(compare(replace(made, place=place), quietly))


def test_a_rate_that_was_not_tried_is_tried_before_anything_is_measured(finished, tmp_path):
    made, _ = finished
    place = tmp_path / "later"
    shutil.copytree(made.place, place, ignore=shutil.ignore_patterns("results"))
    shutil.rmtree(place / "rates" / f"attention-{made.budget.rates[0]:g}")
    done = [job.name for job in compare(replace(made, place=place), quietly)]
    assert done.index(f"rate-attention-{made.budget.rates[0]:g}") < done.index("words-attention-0")


def test_other_pairs_in_the_same_folder_are_refused_and_touch_nothing(finished):
    made, _ = finished
    before = sorted((file, file.stat().st_mtime_ns) for file in made.place.rglob("*"))
    with pytest.raises(TrainingError, match=r"a run must continue as it began.*entailment"):
        experiment(made.place, spent=made.budget, seed=1)
    assert sorted((file, file.stat().st_mtime_ns) for file in made.place.rglob("*")) == before


def test_parts_that_share_a_text_are_refused_and_leave_no_folder(tmp_path):
    whole = entailment()
    leaked = replace(whole, train=whole.test)
    spent = budget()
    with pytest.raises(TrainingError, match="no text of test may occur in train"):
        begin(spent, entrants_of(spent), CORPUS, (None, OTHER), leaked, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_words_of_another_recipe_or_text_are_refused(finished, tmp_path):
    made, _ = finished
    words = Words.of(made, made.entrants[0], 0)
    told = json.loads(words.file.read_text())
    other = replace(words, experiment=replace(made, place=tmp_path))
    other.file.parent.mkdir()
    told["recipe"]["schedule"]["steps"] += 1
    other.file.write_text(json.dumps(told))
    with pytest.raises(TrainingError, match="must be of this comparison's recipe"):
        _ = other.result
    half = replace(words, experiment=replace(made, measured=made.measured[: len(made.measured) // 2]))
    with pytest.raises(TrainingError, match="windows of its text; it is of another"):
        _ = half.result


def test_predictions_for_another_test_set_are_refused(finished, tmp_path):
    made, _ = finished
    other = replace(made, place=tmp_path)
    look = LookedAt.of(other, learners_of(made)[0], 0)
    told = json.loads(LookedAt.of(made, look.learner, 0).experiment.result(look.name).read_text())
    file = other.result(look.name)
    file.parent.mkdir()
    file.write_text(json.dumps({**told, "test_set": "0" * 64}))
    with pytest.raises(TrainingError, match="must be about the test set"):
        _ = look.result
    for wrong in (told["predicted"][1:], ["magic", *told["predicted"][1:]]):
        file.write_text(json.dumps({**told, "predicted": wrong}))
        with pytest.raises(TrainingError, match="must name one of contradiction, entailment, neutral for each of"):
            _ = look.result
    said = told["predicted"]
    other_name = next(name for name in made.entailment.test.pairs.names if name != said[0])
    file.write_text(json.dumps({**told, "predicted": [other_name, *said[1:]]}))
    with pytest.raises(TrainingError, match=r"the predictions whose digest it names, .*they were changed"):
        _ = look.result
    file.write_text("{}")
    with pytest.raises(TrainingError, match=r"must hold a result as it was written.*Delete it"):
        _ = look.result


def test_rates_of_fine_tuning_are_chosen_on_the_pairs_for_validation(finished):
    made, _ = finished
    for learner in learners_of(made):
        for rate in made.budget.tuning_rates:
            run = Tuning.of(made, learner, 0, rate).folder.identity_file
            told = json.loads(run.read_text())["identity"]
            assert told["held_out"] == digest_of(made.entailment.validation.pairs)


def test_words_are_measured_on_the_text_that_is_for_it(finished):
    made, _ = finished
    windows = windows_in(made.measured, made.budget.recipe.text)
    assert windows != windows_in(made.text.valid, made.budget.recipe.text)
    for entrant in made.entrants:
        assert len(WordsResult.load(Words.of(made, entrant, 0).file).scores.losses) == windows


def test_results_that_a_report_leaves_out_are_named(finished):
    made, _ = finished
    assert made.not_asked_for == ()
    convolution, attention = made.entrants
    assert replace(made, entrants=(attention,)).not_asked_for == (convolution.name,)
    assert replace(made, entrants=(convolution,)).not_asked_for == ("attention", "attention-bert-start")


@pytest.mark.parametrize("changed", [{"tuning_rates": (0.5,)}, {"rates": (0.5,)}, {"trial_steps": 9}, {"epochs": 9.0}])
def test_another_budget_is_another_comparison(changed):
    first, other = (
        identity(spent, CORPUS, (None, OTHER), entailment()) for spent in (budget(), replace(budget(), **changed))
    )
    assert first != other
