"""Masked words with sparse attention: how much the loss suffers, and how much time is saved, as links are left out.

Each run has its own folder and resumes where it stopped. You can start it several times on one folder, on one machine
or on many that share a disk: each process takes the runs that no other process is working on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyformer.mixers import Attention, Mixer, PatternAttention
from anyformer.patterns import BigBird, Full, Longformer, PatternFamily, Random, Star, Strided
from anyformer.training.comparison.jobs import Watching
from anyformer.training.data.corpus import Corpus
from anyformer.training.run.folder import RunFolder, removed_after_a_mistake, require_only
from anyformer.training.run.recipe import Architecture, Recipe, Schedule, Text
from anyformer.training.run.trials import do_each
from anyformer.training.tasks.pretrain import Prepared, prepare, pretrain, require_windows

EXPERIMENT = "sparse-lm"


@dataclass(frozen=True)
class Budget:
    """How much is spent on each pattern: the same windows and steps for all."""

    recipe: Recipe
    seeds: int


def _budget(architecture: Architecture, tokens: int, schedule: Schedule, seeds: int) -> Budget:
    return Budget(Recipe(architecture, Text(tokens=tokens), schedule), seeds)


BUDGETS = {
    "smoke": _budget(
        Architecture(layers=2, width=32, heads=2, vocabulary=600, longest=64, dropout=0.0),
        64,
        Schedule(steps=6, batch=4, learning_rate=2e-3, evaluate_every=3, save_every=3),
        seeds=1,
    ),
    "half-hour": _budget(
        Architecture(layers=2, width=128, heads=4, vocabulary=4096, longest=1024, dropout=0.0),
        1024,
        Schedule(steps=600, batch=4, learning_rate=2e-3, evaluate_every=100, save_every=100),
        seeds=1,
    ),
    "days": _budget(
        Architecture(layers=4, width=256, heads=4, vocabulary=8192, longest=2048, dropout=0.1),
        2048,
        Schedule(steps=50_000, batch=16, learning_rate=1e-3, evaluate_every=1000, save_every=500),
        seeds=3,
    ),
}
"""A smoke test, and what two cores can do in half an hour and in days."""


@dataclass(frozen=True)
class Entrant:
    """One pattern of the comparison."""

    name: str
    family: PatternFamily

    def mixer(self, heads: int) -> Mixer:
        """Attention over the pattern; the control is attention itself, as any other library has it."""
        return Attention(heads) if isinstance(self.family, Full) else PatternAttention(heads, self.family)


ENTRANTS = (
    Entrant("star", Star()),
    Entrant("window-8", Longformer(half_width=8, global_tokens=1)),
    Entrant("random", Random()),
    Entrant("strided", Strided()),
    Entrant("bigbird", BigBird(half_width=16, global_tokens=2, random_keys=8)),
    Entrant("window-64", Longformer(half_width=64, global_tokens=1)),
    Entrant("dense", Full()),
)
"""From few links to all; windows have one global token."""


@dataclass(frozen=True)
class Trial:
    """A pattern with a seed, and where its run is."""

    entrant: Entrant
    seed: int
    place: Path

    @property
    def folder(self) -> RunFolder:
        """The run."""
        return RunFolder(self.place)


def trials_of(budget: Budget, place: Path) -> tuple[Trial, ...]:
    """All trials, seed by seed: after an interruption the patterns' numbers of trials differ by at most one."""
    return tuple(
        Trial(entrant, seed, place / "runs" / f"{entrant.name}-{seed}")
        for seed in range(budget.seeds)
        for entrant in ENTRANTS
    )


def recipe_of(budget: Budget, entrant: Entrant, seed: int = 0) -> Recipe:
    """The budget's recipe with a pattern in all layers."""
    mixer = entrant.mixer(budget.recipe.architecture.heads)
    return budget.recipe.changed(architecture={"mixers": (mixer,)}, schedule={"seed": seed})


def begin(budget: Budget, corpus: Corpus, held_out: Corpus | None, place: Path) -> Prepared:
    """Make this the folder of the experiment, or check that it is; then tokenize the text once for all runs.

    Raises:
        TrainingError: if it belongs to something else, or to other texts or another budget; then nothing is touched.
    """
    folder = RunFolder(place)
    if folder.identity_file.is_file():
        require_only(place, {folder.identity_file.name, "text", "runs", "report"})
    identity = _identity(budget, corpus, held_out)
    with removed_after_a_mistake(place, folder.identity_file.name, "text"):
        folder.begin(identity)
        text = prepare(corpus, place / "text", budget.recipe.architecture.vocabulary, held_out=held_out)
        require_windows(budget.recipe, text)
    return text


def _identity(budget: Budget, corpus: Corpus, held_out: Corpus | None) -> dict[str, Any]:
    """Everything that decides the outcomes; seeds are left out, because more of them may follow."""
    patterns = {entrant.name: recipe_of(budget, entrant).to_json() for entrant in ENTRANTS}
    text = {"corpus": corpus.digest(), "held_out": None if held_out is None else held_out.digest()}
    return {"experiment": EXPERIMENT, "recipes": patterns, "text": text}


def learn_all(budget: Budget, text: Prepared, place: Path, watching: Watching) -> Iterator[Trial]:
    """Do all trials that are not complete and that no other process is working on; each is yielded when it is done.

    Args:
        budget: one of BUDGETS, or another.
        text: what `begin` prepared.
        place: the folder of the experiment.
        watching: makes the callback that gets a trial's measurements, from its title and schedule.
    """

    def learn(trial: Trial) -> None:
        recipe = recipe_of(budget, trial.entrant, trial.seed)
        with watching(f"{trial.entrant.name}, seed {trial.seed}", recipe.schedule) as watch:
            pretrain(recipe, text, trial.place, watch)

    yield from do_each(trials_of(budget, place), learn)
