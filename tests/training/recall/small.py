"""Associative recall so small that a run takes less than a second."""

from dataclasses import replace

from anyformer.training import Schedule
from anyformer.training.recall.budgets import Budget, Entrant, Sizes, entrants
from anyformer.training.recall.task import Layout

LAYOUT, SIZES = Layout(half=7, keys=5, values=4), Sizes(layers=2, width=8, heads=2)


def budget(*names: str, **changes) -> Budget:
    """Two mixers (or those named) that learn nothing in 9 steps."""
    schedule = Schedule(steps=9, batch=5, weight_decay=0.0, evaluate_every=3, save_every=2)
    made = Budget(LAYOUT, (2, 3), SIZES, "bert", (1e-3, 1e-2), schedule, evaluated=7, judged=11, seeds=1)
    return replace(made, **{"asked": some(*names or ("hybrid", "average")), **changes})


def some(*names: str) -> tuple[Entrant, ...]:
    """Entrants by name, in this order."""
    return tuple(one for name in names for one in entrants(LAYOUT, SIZES) if one.name == name)
