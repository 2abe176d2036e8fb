"""How much a comparison of mixers spends: the same text, windows, steps and examples on each of them."""

from dataclasses import dataclass, replace

from anyformer.training.run.recipe import Architecture, Recipe, Schedule, Text
from anyformer.training.tasks.finetune import TUNING


@dataclass(frozen=True)
class Budget:
    """What each mixer is given.

    Learning rates are chosen for each mixer by itself: in pre-training among `rates`, by the loss on held-out words
    after runs of `trial_steps`; in fine-tuning among `tuning_rates`, by the accuracy on pairs for validation. Only the
    first seed chooses, and the others follow it.
    """

    recipe: Recipe
    rates: tuple[float, ...]
    trial_steps: int
    tuning: Schedule
    tuning_rates: tuple[float, ...]
    epochs: float
    kernel: int
    """Taps of a convolution: so many that all layers together reach from one end of the longest input to the other, as
    the paper's do. With fewer taps the first token, which classifies pairs, does not see the whole pair."""
    seeds: int
    entrants: tuple[str, ...]
    """The architectures of `entrants.py` that are compared."""
    ablations: tuple[str, ...] = ()
    """Those of the entrants that are pre-trained from BERT's start as well."""


ALL = ("average", "bilinear", "convolution", "attention")
"""The paper's mixers, from the cheapest."""
SMALL = 128
"""Wider models take rates that fall with the width."""


def _budget(
    architecture: Architecture,
    text: Text,
    schedule: Schedule,
    rates: tuple[float, ...],
    epochs: float,
    kernel: int,
    seeds: int,
    entrants: tuple[str, ...],
    *,
    trial_steps: int = 400,
    tuning_rates: tuple[float, ...] = (5e-4, 1e-3, 2e-3),
    ablations: tuple[str, ...] = (),
) -> Budget:
    often = max(schedule.steps // 15, 10)
    spaced = replace(schedule, evaluate_every=often, save_every=often, learning_rate=rates[0])
    smaller = SMALL / max(architecture.width, SMALL)
    tuning = replace(TUNING, precision=schedule.precision)
    scaled = tuple(rate * smaller for rate in tuning_rates)
    recipe = Recipe(architecture, text, spaced)
    return Budget(recipe, rates, trial_steps, tuning, scaled, epochs, kernel, seeds, entrants, ablations)


BUDGETS = {
    "smoke": _budget(
        Architecture(layers=2, width=64, heads=2, vocabulary=1024, longest=64, dropout=0.0),
        Text(tokens=32),
        Schedule(steps=20, batch=16),
        (2e-3,),
        *(0.2, 65, 1, ("convolution", "attention")),
        trial_steps=10,
        tuning_rates=(5e-4,),
    ),
    "hours": _budget(
        Architecture(layers=3, width=128, heads=4, vocabulary=4096, longest=128, dropout=0.0),
        Text(tokens=128),
        Schedule(steps=7350, batch=32, precision="bf16"),
        (5e-4, 1e-3, 2e-3, 4e-3),
        *(6.0, 87, 2, ("bilinear", "convolution", "attention", "hybrid-1")),
        trial_steps=1000,
        ablations=("attention",),
    ),
    "days": _budget(
        Architecture(layers=4, width=256, heads=4, vocabulary=8192, longest=128, dropout=0.1),
        Text(tokens=128),
        Schedule(steps=50_000, batch=64, precision="bf16"),
        (5e-4, 1e-3, 2e-3),
        *(4.0, 127, 3, (*ALL, "hybrid-1", "hybrid-2", "hybrid-3")),
        trial_steps=2000,
        ablations=("attention", "bilinear"),
    ),
    "paper": _budget(
        Architecture(
            layers=12,
            width=768,
            heads=12,
            vocabulary=30522,
            longest=384,
            dropout=0.1,
            norm="after",
            start="bert",
        ),
        Text(tokens=384, following=True),
        Schedule(steps=1_000_000, batch=256, at_once=16, warmup=0.01, adam_beta2=0.999),
        (1e-4,),
        *(3.0, 128, 1, (*ALL, *(f"hybrid-{below}" for below in range(1, 12)))),
        tuning_rates=(1.2e-4, 1.8e-4, 3e-4),
    ),
}
"""A smoke test, what two cores can do in hours and in days, and the paper's: BERT's recipe with other mixers in it.

Of "paper", norms, start, betas, rate, warm-up, decay and dropout are those of BERT_BASE; fine-tuning tries BERT's rates
(2e-5 to 5e-5). The windows have 384 tokens, which is what the paper's count of BProj's parameters amounts to.
"""
