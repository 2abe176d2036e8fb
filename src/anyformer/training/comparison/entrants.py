"""The architectures that are compared: each mixer in all layers, and attention with convolutions below it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from anyformer.errors import TrainingError
from anyformer.mixers import Attention, Average, Bilinear, Convolution, Mixer, hybrid
from anyformer.training.comparison.budgets import Budget
from anyformer.training.run.recipe import Recipe

BERT_START = "bert-start"
"""What the name of an entrant ends in if its weights start as BERT's do."""


@dataclass(frozen=True)
class Entrant:
    """One architecture of the comparison, and how its weights start."""

    name: str
    mixers: tuple[Mixer, ...]
    start: str

    def recipe(self, budget: Budget, seed: int, rate: float) -> Recipe:
        """The budget's recipe with these mixers and this start."""
        architecture = {"mixers": self.mixers, "start": self.start}
        return budget.recipe.changed(architecture=architecture, schedule={"seed": seed, "learning_rate": rate})


def entrants_of(budget: Budget) -> tuple[Entrant, ...]:
    """What the budget compares."""
    return tuple(entrant_named(name, budget) for name in budget.entrants)


def ablations_of(budget: Budget, entrants: Sequence[Entrant]) -> tuple[Entrant, ...]:
    """The entrants that are pre-trained from BERT's start as well."""
    return tuple(
        Entrant(f"{one.name}-{BERT_START}", one.mixers, "bert") for one in entrants if one.name in budget.ablations
    )


def own_entrants(budget: Budget, mixers: Sequence[tuple[str, Mixer]]) -> tuple[Entrant, ...]:
    """The user's mixers, each in all layers, by the names they were given.

    >>> from anyformer.training.comparison.budgets import BUDGETS
    >>> [one.name for one in own_entrants(BUDGETS["smoke"], [("average", Average())])]
    ['average']
    """
    names = [re.sub(r"[^\w.-]+", "-", name).strip("-") for name, _ in mixers]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TrainingError(f"each mixer must be named once; {twice[0]} is there twice. Leave one out.")
    architecture = budget.recipe.architecture
    return tuple(
        Entrant(name, (mixer,) * architecture.layers, architecture.start)
        for name, (_, mixer) in zip(names, mixers, strict=True)
    )


def entrant_named(name: str, budget: Budget) -> Entrant:
    """An entrant by its name: average, bilinear, convolution, attention, or hybrid-N with N convolutions below."""
    architecture = budget.recipe.architecture
    layers, attention = architecture.layers, Attention(architecture.heads)
    convolution = Convolution(kernel=budget.kernel, filters=min(16, architecture.width))
    pure: dict[str, Mixer] = {
        "average": Average(),
        "bilinear": Bilinear(architecture.longest),
        "convolution": convolution,
        "attention": attention,
    }
    if name in pure:
        return Entrant(name, (pure[name],) * layers, architecture.start)
    match = re.fullmatch(r"hybrid-(\d+)", name)
    if match is None or not 0 < int(match[1]) < layers:
        raise TrainingError(
            f"an entrant must be one of {', '.join(pure)}, or hybrid-1 to hybrid-{layers - 1}; got {name!r}."
        )
    mixers = hybrid(layers, int(match[1]), below=convolution, above=attention)
    return Entrant(name, mixers, architecture.start)
