"""A copying task so small that a run takes half a second."""

from dataclasses import replace

from anyformer.training import Schedule
from anyformer.training.copying.budgets import Budget
from anyformer.training.copying.task import Alphabet


def budget(**changes) -> Budget:
    """Two depths of small models that learn nothing in 9 steps."""
    schedule = Schedule(steps=9, batch=5, learning_rate=2e-3, weight_decay=0.0, evaluate_every=3, save_every=2)
    made = Budget(Alphabet(length=5, symbols=4), 3, 8, 2, (1, 2), schedule, evaluated=7, judged=11, seeds=1)
    return replace(made, **changes)


def easy() -> Budget:
    """Two symbols of two kinds: dense attention copies them after about a hundred steps."""
    schedule = Schedule(steps=1000, batch=16, learning_rate=2e-2, weight_decay=0.0, evaluate_every=25, save_every=50)
    return Budget(Alphabet(length=2, symbols=2), 2, 16, 2, (1,), schedule, evaluated=64, judged=128, seeds=1)
