"""A comparison from its folder to its results: begin, and do what is missing.

text/          tokens and the tokenizer, for all runs
rates/         short runs that choose a learning rate for each mixer
pretraining/   a run for each mixer and seed
untrained/     the same models before any training
tuning/        fine-tuning of both, with each rate for the first seed and with the best one for the others
results/       what came of all this, a file for each model and seed; the rest may be deleted then
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from anyformer.training.comparison.baselines import BASELINES
from anyformer.training.comparison.budgets import Budget
from anyformer.training.comparison.entailment import Entailment, Part, check_split
from anyformer.training.comparison.entrants import Entrant
from anyformer.training.comparison.experiment import FOLDERS, Experiment
from anyformer.training.comparison.jobs import Job, Watching, work
from anyformer.training.comparison.learning_entailment import FIRST, BaselineTest, Test, learners_of
from anyformer.training.comparison.learning_words import Words
from anyformer.training.data.corpus import Corpus
from anyformer.training.run.folder import RunFolder, removed_after_a_mistake, require_only
from anyformer.training.tasks.finetune import require_classes
from anyformer.training.tasks.pretrain import prepare, require_possible, require_windows, tokens_of


def begin(
    budget: Budget,
    entrants: tuple[Entrant, ...],
    corpus: Corpus,
    texts: tuple[Corpus | None, Corpus | None],
    entailment: Entailment,
    place: Path,
) -> Experiment:
    """Make this the folder of a comparison, or check that it is already; then tokenize the texts once for all runs.

    Args:
        budget: one of BUDGETS, or another.
        entrants: what is compared.
        corpus: the text to train on.
        texts: what rates are chosen by (else the end of the corpus), and what is measured on in the end (else the
            same).
        entailment: pairs in three parts.
        place: the folder.

    Raises:
        TrainingError: if it belongs to something else, or to other texts, pairs or another budget; then nothing is
            touched.
    """
    folder = RunFolder(place)
    if folder.identity_file.is_file():
        require_only(place, {folder.identity_file.name, *FOLDERS})
    valid, test = texts
    require_classes(entailment.train.pairs)
    check_split(entailment)
    for one in entrants:
        require_possible(one.recipe(budget, 0, budget.rates[0]))
    with removed_after_a_mistake(place, folder.identity_file.name, "text"):
        folder.begin(identity(budget, corpus, texts, entailment))
        text = prepare(corpus, place / "text", budget.recipe.architecture.vocabulary, held_out=valid)
        require_windows(budget.recipe, text)
        measured = text.valid if test is None else tokens_of(test, text.tokenizer, place / "text" / "measured.npy").ids
    return Experiment(budget, entrants, text, measured, entailment, place)


def identity(
    budget: Budget, corpus: Corpus, texts: tuple[Corpus | None, Corpus | None], entailment: Entailment
) -> dict[str, Any]:
    """Everything that all runs share; seeds and entrants are left out, because more of them may follow."""
    parts = {"train": entailment.train, "validation": entailment.validation, "test": entailment.test}
    tuning = {name: getattr(budget.tuning, name) for name in ("batch", "warmup", "weight_decay", "precision")}
    return {
        "experiment": "mixers",
        "recipe": budget.recipe.to_json(),
        "rates": list(budget.rates),
        "trial_steps": budget.trial_steps,
        "tuning": tuning,
        "tuning_rates": list(budget.tuning_rates),
        "epochs": budget.epochs,
        "text": [None if one is None else one.digest() for one in (corpus, *texts)],
        "entailment": {name: _part(part) for name, part in parts.items()},
    }


def _part(part: Part) -> dict[str, Any]:
    return {"pairs": len(part), "digest": part.digest}


def goals(experiment: Experiment) -> list[Job]:
    """All results, seed by seed: after an interruption the mixers' numbers of runs differ by at most one.

    What the tables need comes first; ablations have one seed and come last.
    """
    learners, seeds = learners_of(experiment), range(experiment.budget.seeds)
    of_seeds: list[Job] = []
    for seed in seeds:
        of_seeds += [Words.of(experiment, entrant, seed) for entrant in experiment.entrants]
        of_seeds += [Test.of(experiment, learner, seed) for learner in learners]
    baselines = [BaselineTest.of(experiment, baseline) for baseline in BASELINES]
    return [*of_seeds, *baselines, *(Words.of(experiment, entrant, FIRST) for entrant in experiment.ablations)]


def compare(experiment: Experiment, watching: Watching) -> Iterator[Job]:
    """Do all that no other process is doing; each job is yielded when it is done."""
    yield from work(goals(experiment), experiment.place / "locks", watching)
