"""A comparison so small that all of it takes seconds, and pairs that can be told apart by their words."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from anyformer.training import Pairs, SyntheticLanguage
from anyformer.training.comparison.budgets import BUDGETS, Budget
from anyformer.training.comparison.entailment import Entailment, split_entailment
from anyformer.training.comparison.entrants import Entrant, entrants_of
from anyformer.training.comparison.experiment import Experiment
from anyformer.training.comparison.runs import begin

NAMES = ("contradiction", "entailment", "neutral")
CORPUS, OTHER = SyntheticLanguage(sentences=300), SyntheticLanguage(sentences=120, seed=1)


def pairs(count: int = 90) -> Pairs:
    """Pairs that share no text; the label follows from a word of the hypothesis."""
    words = ("never", "surely", "perhaps")
    return Pairs(
        tuple(f"thing {number} walks over hill {number * 7}" for number in range(count)),
        tuple(f"it {words[number % 3]} walks {number}" for number in range(count)),
        tuple(number % 3 for number in range(count)),
        NAMES,
    )


def entailment(seed: int = 0) -> Entailment:
    labelled = pairs()
    sources = tuple("far" if number % 2 else "near" for number in range(len(labelled)))
    return split_entailment(labelled, sources, seed)


def budget(**changed) -> Budget:
    smoke = BUDGETS["smoke"]
    recipe = smoke.recipe.changed(
        architecture={"layers": 2, "width": 16, "vocabulary": 300},
        schedule={"steps": 3, "batch": 4, "evaluate_every": 2, "save_every": 2},
    )
    settings = {"rates": (1e-3, 3e-3), "trial_steps": 2, "tuning_rates": (1e-4, 1e-3), "epochs": 0.2}
    return replace(smoke, recipe=recipe, **{**settings, **changed})


def experiment(place: Path, *, spent: Budget | None = None, entrants: tuple[Entrant, ...] = (), seed: int = 0):
    asked = spent or budget()
    return begin(asked, entrants or entrants_of(asked), CORPUS, (None, OTHER), entailment(seed), place)


def quietly(title, schedule):
    return nullcontext()


__all__ = ["CORPUS", "OTHER", "Experiment", "budget", "entailment", "experiment", "pairs", "quietly"]
