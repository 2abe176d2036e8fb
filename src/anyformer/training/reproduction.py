"""Paper A's comparison of token mixers, at any size: every mixer and every hybrid, pre-trained and fine-tuned alike.

Each run has its own folder and resumes where it stopped. You can start it several times on one folder, on one machine
or on many that share a disk: each process takes the runs that no other process is working on.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from anyformer.errors import RunInUse
from anyformer.mixers import Attention, Average, Bilinear, Convolution, Mixer, hybrid
from anyformer.training.data.corpus import Corpus
from anyformer.training.data.hold_out import TENTH
from anyformer.training.data.pairs import Pairs, split_pairs
from anyformer.training.run.folder import RunFolder, removed_after_a_mistake, require_only
from anyformer.training.run.metrics import Watch
from anyformer.training.run.recipe import Architecture, Recipe, Schedule, Text
from anyformer.training.tasks.finetune import TUNING, digest_of, finetune, require_classes
from anyformer.training.tasks.pretrain import Prepared, prepare, pretrain, require_windows

EXPERIMENT = "mixers"
Watching = Callable[[str, Schedule], contextlib.AbstractContextManager[Watch | None]]


@dataclass(frozen=True)
class Budget:
    """How much is spent on each mixer: the same text, windows, steps and examples for all."""

    recipe: Recipe
    tuning: Schedule
    epochs: float
    kernel: int
    """Taps of a convolution: so many that all layers together reach from one end of the longest input to the other, as
    the paper's do. With fewer taps the first token, which classifies pairs, does not see the whole pair."""
    seeds: int


SMALL, TUNING_RATE = 128, TUNING.learning_rate
"""Wider models take a rate that falls with the width: 8e-5 at BERT_BASE."""


def _budget(
    architecture: Architecture, text: Text, schedule: Schedule, epochs: float, kernel: int, seeds: int
) -> Budget:
    often = max(schedule.steps // 20, 1)
    spaced = replace(schedule, evaluate_every=often, save_every=often)
    tuning = replace(TUNING, learning_rate=TUNING_RATE * SMALL / max(architecture.width, SMALL))
    return Budget(Recipe(architecture, text, spaced), tuning, epochs, kernel, seeds)


BUDGETS = {
    "smoke": _budget(
        Architecture(layers=2, width=64, heads=2, vocabulary=1024, longest=64, dropout=0.0),
        Text(tokens=32),
        Schedule(steps=40, batch=16, learning_rate=2e-3),
        *(0.2, 65, 1),
    ),
    "hours": _budget(
        Architecture(layers=3, width=128, heads=4, vocabulary=4096, longest=64, dropout=0.0),
        Text(tokens=64),
        Schedule(steps=2000, batch=32, learning_rate=2e-3),
        *(2.0, 63, 3),
    ),
    "days": _budget(
        Architecture(layers=4, width=256, heads=4, vocabulary=8192, longest=128, dropout=0.1),
        Text(tokens=128),
        Schedule(steps=50_000, batch=64, learning_rate=1e-3),
        *(4.0, 127, 3),
    ),
    "paper": _budget(
        Architecture(layers=12, width=768, heads=12, vocabulary=30522, longest=384, dropout=0.1),
        Text(tokens=384, following=True),
        Schedule(steps=1_000_000, batch=256, at_once=16, learning_rate=1e-4, warmup=0.01),
        *(3.0, 128, 1),
    ),
}
"""A smoke test, what two cores can do in hours and in days, and the paper's own budget."""


@dataclass(frozen=True)
class Entrant:
    """One architecture of the comparison."""

    name: str
    mixers: tuple[Mixer, ...]


def entrants(architecture: Architecture, kernel: int) -> tuple[Entrant, ...]:
    """The paper's four mixers, and attention with one and more convolutions below it."""
    layers, attention = architecture.layers, Attention(architecture.heads)
    convolution = Convolution(kernel=kernel, filters=min(16, architecture.width))
    pure = {
        "average": Average(),
        "bilinear": Bilinear(architecture.longest),
        "convolution": convolution,
        "attention": attention,
    }
    return (
        *(Entrant(name, (mixer,) * layers) for name, mixer in pure.items()),
        *(
            Entrant(f"hybrid-{below}", hybrid(layers, below, below=convolution, above=attention))
            for below in range(1, layers)
        ),
    )


@dataclass(frozen=True)
class Materials:
    """What all entrants learn: words of a text, then the classes of pairs."""

    text: Prepared
    training: Pairs
    held_out: Pairs


def prepare_all(budget: Budget, corpus: Corpus, held_out: Corpus | None, pairs: Pairs, place: Path) -> Materials:
    """Tokenize the text once for all runs, and hold out pairs by their first texts.

    Raises:
        TrainingError: if the folder belongs to something else, or to other texts, pairs or another budget; then nothing
            is touched.
    """
    folder = RunFolder(place)
    if folder.identity_file.is_file():
        require_only(place, {folder.identity_file.name, "text", "runs", "report"})
    require_classes(pairs)
    training, unseen = split_pairs(pairs, TENTH, seed=0)
    identity = _identity(budget, corpus, held_out, pairs)
    with removed_after_a_mistake(place, folder.identity_file.name, "text"):
        folder.begin(identity)
        text = prepare(corpus, place / "text", budget.recipe.architecture.vocabulary, held_out=held_out)
        require_windows(budget.recipe, text)
    return Materials(text, training, unseen)


def _identity(budget: Budget, corpus: Corpus, held_out: Corpus | None, pairs: Pairs) -> dict[str, Any]:
    """Everything that decides the outcomes; seeds are left out, because more of them may follow."""
    return {
        "experiment": EXPERIMENT,
        "recipe": budget.recipe.to_json(),
        "tuning": {**asdict(budget.tuning), "epochs": budget.epochs},
        "kernel": budget.kernel,
        "text": {"corpus": corpus.digest(), "held_out": None if held_out is None else held_out.digest()},
        "pairs": digest_of(pairs),
    }


@dataclass(frozen=True)
class Trial:
    """An entrant with a seed, and where its two trainings are."""

    entrant: Entrant
    seed: int
    place: Path

    @property
    def pretraining(self) -> RunFolder:
        """Masked words."""
        return RunFolder(self.place / "pretraining")

    @property
    def tuning(self) -> RunFolder:
        """Entailment."""
        return RunFolder(self.place / "tuning")

    @property
    def is_complete(self) -> bool:
        """Whether both are done."""
        return self.pretraining.is_complete and self.tuning.is_complete


def trials_of(budget: Budget, place: Path) -> tuple[Trial, ...]:
    """All trials, seed by seed: after an interruption the entrants' numbers of trials differ by at most one."""
    return tuple(
        Trial(entrant, seed, place / "runs" / f"{entrant.name}-{seed}")
        for seed in range(budget.seeds)
        for entrant in entrants(budget.recipe.architecture, budget.kernel)
    )


def reproduce(budget: Budget, materials: Materials, place: Path, watching: Watching) -> Iterator[Trial]:
    """Do all trials that no other process is working on; each is yielded when it is complete.

    Args:
        budget: one of BUDGETS, or another.
        materials: what `prepare_all` made.
        place: the folder of the reproduction.
        watching: makes the callback that gets a trial's measurements, from its title and schedule.
    """
    for trial in trials_of(budget, place):
        recipe = recipe_of(budget, trial.entrant, trial.seed)
        title = f"{trial.entrant.name}, seed {trial.seed}"
        try:
            with watching(f"{title}: words", recipe.schedule) as watch:
                pretrain(recipe, materials.text, trial.pretraining.place, watch)
            seeded = replace(budget.tuning, seed=trial.seed)
            steps = seeded.for_epochs(len(materials.training), budget.epochs)
            with watching(f"{title}: entailment", steps) as watch:
                learned, place = (trial.pretraining.model, materials.training, materials.held_out), trial.tuning.place
                finetune(*learned, place, budget.epochs, seeded, watch)
        except RunInUse:
            continue
        yield trial


def recipe_of(budget: Budget, entrant: Entrant, seed: int) -> Recipe:
    """The budget's recipe with an entrant's mixers."""
    return budget.recipe.changed(architecture={"mixers": entrant.mixers}, schedule={"seed": seed})
