"""What was copied, gathered by pattern and depth beside what each could carry."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anyformer.training.copying.budgets import Budget
from anyformer.training.copying.carrying import carried, share_of_links, within_reach
from anyformer.training.copying.runs import Outcome, Trial, trials_of
from anyformer.training.copying.task import Alphabet


@dataclass(frozen=True)
class Copied:
    """A pattern at a depth: what it could carry, and what the models of all seeds copy."""

    name: str
    kind: str
    arrangement: str | None
    layers: int
    links: float
    """The share of all pairs of tokens that a head sees, a mean over layers and heads."""
    within_reach: float
    """The share of symbols that can get to their copy at all; the others can only be guessed."""
    capacity: int
    """How many symbols of the first half can get to the second on routes of their own, wherever they arrive."""
    symbols: tuple[float, ...]
    sequences: tuple[float, ...]
    steps: tuple[int, ...]
    seconds: tuple[float, ...]

    @property
    def accuracy(self) -> float:
        """Of symbols, the mean over seeds."""
        return statistics.fmean(self.symbols)


def copied(budget: Budget, place: Path) -> list[Copied]:
    """All complete runs of a folder, gathered by pattern and depth."""
    done = [(trial, outcome) for trial in trials_of(budget, place) if (outcome := trial.outcome) is not None]
    gathered: dict[tuple[str, int], list[tuple[Trial, Outcome]]] = {}
    for trial, outcome in done:
        gathered.setdefault((trial.entrant.name, trial.layers), []).append((trial, outcome))
    return [_copied(budget.alphabet, mine[0][0], [outcome for _, outcome in mine]) for mine in gathered.values()]


def _copied(alphabet: Alphabet, trial: Trial, outcomes: Sequence[Outcome]) -> Copied:
    pattern = trial.entrant.family.at(alphabet.tokens)
    return Copied(
        trial.entrant.name,
        trial.entrant.kind,
        how.value if (how := trial.entrant.arrangement) is not None else None,
        trial.layers,
        share_of_links(pattern, trial.layers),
        within_reach(pattern, trial.layers, alphabet),
        carried(pattern, trial.layers, alphabet),
        tuple(outcome.symbols for outcome in outcomes),
        tuple(outcome.sequences for outcome in outcomes),
        tuple(outcome.steps for outcome in outcomes),
        tuple(outcome.seconds for outcome in outcomes),
    )


def ceiling(one: Copied, symbols: int) -> float:
    """The largest share of symbols that any model can copy on average: the rest is out of reach, and guessed."""
    return one.within_reach + (1 - one.within_reach) / symbols


def by_name(made: Sequence[Copied]) -> dict[str, dict[int, Copied]]:
    """For each pattern, its depths."""
    names: dict[str, dict[int, Copied]] = {}
    for one in made:
        names.setdefault(one.name, {})[one.layers] = one
    return names
