"""Which mixers are compared, and what each may spend: the same steps and the same learning rates to choose from."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from anyformer.errors import TrainingError
from anyformer.mixers import Attention, Average, Bilinear, Convolution, Mixer, PatternAttention, PlainConvolution
from anyformer.mixers.catalogue import CATALOGUE, to_json
from anyformer.patterns import Longformer
from anyformer.training.recall.task import Layout, Question, require_pairs
from anyformer.training.run.recipe import Schedule

FILTERS = 16


@dataclass(frozen=True)
class Entrant:
    """One architecture of the comparison: its mixers, from the input on."""

    name: str
    mixers: tuple[Mixer, ...]

    @property
    def folder_name(self) -> str:
        """The name without signs that folders cannot have."""
        return "".join(sign if sign.isalnum() or sign in "-_=." else "-" for sign in self.name)


@dataclass(frozen=True)
class Sizes:
    """The encoder, the same for all mixers but for what they mix with.

    Weights start with this standard deviation. BERT's 0.02 is for its width, 768; 1/√width keeps the scale of what a
    layer reads, and narrow models leave the first plateau much earlier with it.
    """

    layers: int
    width: int
    heads: int

    @property
    def deviation(self) -> float:
        """Of the initial weights."""
        return self.width**-0.5


@dataclass(frozen=True)
class Budget:
    """The task, the encoder and the steps: the same for all mixers."""

    layout: Layout
    pairs: tuple[int, ...]
    sizes: Sizes
    start: str
    """How weights begin: one of STARTS (`training/run/recipe.py`)."""
    rates: tuple[float, ...]
    """The learning rates of which each mixer gets its best, chosen on validation sequences with the first seed."""
    schedule: Schedule
    evaluated: int
    """Sequences of each number of pairs that are measured while training, by which rates are chosen."""
    judged: int
    """Other sequences of each number of pairs, measured at the end; nothing is chosen by them."""
    seeds: int
    asked: tuple[Entrant, ...] = ()
    """What is compared, if not all."""

    def __post_init__(self) -> None:
        require_pairs(self.layout, self.pairs)
        if not self.rates:
            raise TrainingError("rates must name at least one learning rate; got none.")

    @property
    def entrants(self) -> tuple[Entrant, ...]:
        """What is compared."""
        return self.asked or entrants(self.layout, self.sizes)

    @property
    def runs(self) -> int:
        """How many runs there are in all: every rate once, and the chosen rate with the other seeds."""
        return len(self.entrants) * len(Question) * (len(self.rates) + self.seeds - 1)

    def to_json(self) -> dict[str, Any]:
        """Everything that decides outcomes; seeds and mixers are left out, because more of them may follow."""
        told = asdict(replace(self, asked=()))
        schedule = {
            name: value for name, value in told.pop("schedule").items() if name not in ("seed", "learning_rate")
        }
        del told["seeds"], told["asked"]
        return {**told, "pairs": list(self.pairs), "rates": list(self.rates), "schedule": schedule}


def entrants(layout: Layout, sizes: Sizes) -> tuple[Entrant, ...]:
    """Every kind of mixer in the catalogue that this task suits, alone in all layers, and convolution below attention.

    Kernels reach from a query to its half of the pairs in one layer. A window of sparse attention reaches half as far,
    with a relay beside it: two layers see everything, one does not.
    """
    attention, convolution = Attention(sizes.heads), Convolution(2 * layout.half + 1, min(FILTERS, sizes.width))
    pure: dict[str, Mixer] = {
        "attention": attention,
        "sparse-attention": PatternAttention(sizes.heads, Longformer(half_width=layout.half // 2, global_tokens=1)),
        "convolution": convolution,
        "plain-convolution": PlainConvolution(convolution.kernel, convolution.filters),
        "bilinear": Bilinear(layout.tokens),
        "average": Average(),
    }
    if "fourier" in CATALOGUE:
        pure["fourier"] = CATALOGUE.make("fourier")
    below = (convolution,) * (sizes.layers - 1)
    return (
        Entrant("hybrid", (*below, attention)),
        *(Entrant(name, (one,) * sizes.layers) for name, one in pure.items()),
    )


def chosen_entrants(budget: Budget, names: Sequence[str]) -> tuple[Entrant, ...]:
    """The entrants of these names; other names are mixers as of `pretrain --mixer`, for all layers.

    Raises:
        MixerError: if a name is neither, or the mixer does not fit the encoder.
    """
    known = {entrant.name: entrant for entrant in entrants(budget.layout, budget.sizes)}
    return tuple(known[name] if name in known else _made(name, budget.sizes) for name in dict.fromkeys(names))


def _made(name: str, sizes: Sizes) -> Entrant:
    mixer = CATALOGUE.parse(name)
    to_json(mixer)
    mixer.build(sizes.width)
    return Entrant(name, (mixer,) * sizes.layers)


def described(entrant: Entrant) -> list[dict[str, Any]]:
    """Its mixers as JSON."""
    return [to_json(mixer) for mixer in entrant.mixers]


def _budget(
    layout: Layout, pairs: tuple[int, ...], sizes: Sizes, rates: tuple[float, ...], schedule: Schedule, seeds: int
) -> Budget:
    return Budget(layout, pairs, sizes, "bert", rates, schedule, 64, 256, seeds)


def _schedule(steps: int, batch: int) -> Schedule:
    often = max(steps // 20, 1)
    return Schedule(steps=steps, batch=batch, weight_decay=0.0, evaluate_every=often, save_every=often)


BUDGETS = {
    "smoke": _budget(Layout(8, 9, 10), (2, 3), Sizes(2, 16, 2), (3e-3, 1e-2), _schedule(20, 8), seeds=1),
    "minutes": _budget(Layout(12, 16, 16), (2, 3, 5), Sizes(2, 64, 2), (2e-3, 5e-3), _schedule(600, 32), seeds=3),
    "hour": _budget(Layout(20, 32, 32), (2, 4, 8), Sizes(2, 64, 2), (1e-3, 3e-3), _schedule(1500, 32), seeds=3),
    "day": _budget(
        Layout(36, 64, 64), (2, 4, 8, 16), Sizes(2, 64, 2), (1e-3, 3e-3, 1e-2), _schedule(20_000, 64), seeds=3
    ),
}
"""A smoke test; what a core does in a quarter of an hour and in an hour; more keys, values and rates in a day."""
