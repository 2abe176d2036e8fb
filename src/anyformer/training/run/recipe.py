"""A recipe: everything that decides a training run, as data; sizes by name."""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeVar

from anyformer.errors import MixerError, TrainingError
from anyformer.mixers.attention import Attention
from anyformer.mixers.catalogue import to_json
from anyformer.mixers.fitting import NetworkSizes
from anyformer.mixers.mixer import NORMS, Mixer, causal_form, longest_sequence
from anyformer.training.run.ranges import a_share, at_least_one, one_of

if TYPE_CHECKING:
    from anyformer.mixers.bert import MixerBertConfig


TASKS = ("masked-words", "next-words")
"""What a pre-training may predict: words that were hidden, from both sides, or each next word from those before it."""
Part = TypeVar("Part", "Architecture", "Text", "Schedule")


MAX_LAYERS = 10_000
STARTS = ("neighbours", "bert")
"""Initial weights: heads that look at neighbours (`training/tasks/initialization.py`), or those of BERT."""
FULL = "fp32"
PRECISIONS = (FULL, "bf16", "fp16")
"""What products are computed in. Weights, their updates and what is measured are always in 32 bits."""


@dataclass(frozen=True)
class Architecture:
    """The BERT: `mixers` is one mixer a layer, or one for all of them."""

    layers: int = 4
    width: int = 256
    heads: int = 4
    vocabulary: int = 8192
    longest: int = 128
    dropout: float = 0.1
    norm: str = "before"
    start: str = "neighbours"
    mixers: tuple[Mixer, ...] = ()

    def __post_init__(self) -> None:
        for name in ("width", "heads", "vocabulary", "longest"):
            at_least_one(name, getattr(self, name))
        at_least_one("layers", self.layers, most=MAX_LAYERS)
        a_share("dropout", self.dropout)
        one_of("norm", self.norm, NORMS)
        one_of("start", self.start, STARTS)
        if len(self.mixers) not in (0, 1, self.layers):
            raise TrainingError(
                f"mixers must be one for all layers or one for each of the {self.layers} layers;"
                f" got {len(self.mixers)}. Name as many, or change layers."
            )
        for mixer in self.mixers:
            mixer.require_within(self.longest)

    @property
    def sizes(self) -> NetworkSizes:
        """What follows for mixers that are named without sizes."""
        return NetworkSizes(self.width, self.heads, self.longest)

    @property
    def stack(self) -> tuple[Mixer, ...]:
        """The mixer of each layer; attention by default."""
        mixers = self.mixers or (Attention(self.heads),)
        return mixers if len(mixers) == self.layers else mixers * self.layers

    def config(self, vocabulary: int | None = None, **more: Any) -> "MixerBertConfig":
        """What MixerBert is built from; with a tokenizer at hand, for its vocabulary. `more` are further entries."""
        from anyformer.mixers.bert import MixerBertConfig

        return MixerBertConfig(
            vocab_size=vocabulary or self.vocabulary,
            hidden_size=self.width,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            intermediate_size=4 * self.width,
            max_position_embeddings=self.longest,
            hidden_dropout_prob=self.dropout,
            attention_probs_dropout_prob=self.dropout,
            mixers=self.stack,
            norm=self.norm,
            **more,
        )


SIZES = {
    "tiny": Architecture(layers=2, width=128, heads=2),
    "mini": Architecture(layers=4, width=256, heads=4),
    "small": Architecture(layers=4, width=512, heads=8),
    "base": Architecture(layers=12, width=768, heads=12, vocabulary=30522, longest=512),
}
"""BERT's usual sizes by their usual names."""


@dataclass(frozen=True)
class Text:
    """How text becomes something to predict: windows of `tokens`, of which the share `masked` is hidden.

    `following` adds BERT's second question: does the second half of a window follow the first? The task "next-words"
    hides nothing and asks for the word after each word, as language models do.
    """

    tokens: int = 128
    masked: float = 0.15
    following: bool = False
    task: str = "masked-words"

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise TrainingError(f"task must be one of {', '.join(TASKS)}; got {self.task!r}.")
        if self.task == "next-words" and self.following:
            raise TrainingError("following must be false for next-words: a model that sees no later word cannot judge.")
        at_least_one("tokens", self.tokens)
        if self.tokens < 8:
            raise TrainingError(f"tokens must be at least 8, room for a sentence and its marks; got {self.tokens}.")
        a_share("masked", self.masked)
        if not self.hidden:
            raise TrainingError(f"masked must hide at least one of {self.tokens} tokens; got {self.masked}. Raise it.")

    @property
    def hidden(self) -> int:
        """How many tokens of each window are to be predicted."""
        return round(self.masked * self.tokens)


@dataclass(frozen=True)
class Schedule:
    """The steps: each takes `batch` sequences over all processes, `at_once` of them at a time in each.

    The learning rate rises over the share `warmup` of all steps and then falls to 0 along a line. The optimizer is
    AdamW with betas 0.9 and `adam_beta2`; `precision` is one of PRECISIONS.
    """

    steps: int = 1000
    batch: int = 32
    at_once: int | None = None
    learning_rate: float = 1e-3
    warmup: float = 0.05
    weight_decay: float = 0.01
    adam_beta2: float = 0.98
    clip: float = 1.0
    precision: str = FULL
    seed: int = 0
    evaluate_every: int = 200
    save_every: int = 200

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "evaluate_every", "save_every"):
            at_least_one(name, getattr(self, name))
        if self.at_once is not None:
            at_least_one("at_once", self.at_once)
        a_share("warmup", self.warmup)
        for name in ("learning_rate", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise TrainingError(f"{name} must be positive and finite; got {getattr(self, name)}.")
        a_share("adam_beta2", self.adam_beta2)
        one_of("precision", self.precision, PRECISIONS)
        if not 0 <= self.weight_decay < math.inf:
            raise TrainingError(f"weight_decay must be 0 or positive, and finite; got {self.weight_decay}.")

    def for_epochs(self, examples: int, epochs: float) -> Self:
        """The schedule with enough steps to show every example `epochs` times.

        >>> Schedule(batch=8).for_epochs(examples=20, epochs=2).steps
        5
        """
        if not 0 < epochs < math.inf:
            raise TrainingError(f"epochs must be positive and finite; got {epochs}.")
        return dataclasses.replace(self, steps=math.ceil(examples * epochs / self.batch))

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        rising = self.warmup * self.steps
        up = (step + 1) / rising if rising else 1.0
        return self.learning_rate * min(up, (self.steps - step) / (self.steps - rising + 1))


@dataclass(frozen=True)
class Recipe:
    """Architecture, text and schedule of one pre-training run.

    >>> Recipe.of_size("tiny").architecture.layers
    2
    """

    architecture: Architecture = field(default_factory=Architecture)
    text: Text = field(default_factory=Text)
    schedule: Schedule = field(default_factory=Schedule)

    def __post_init__(self) -> None:
        longest = longest_sequence(self.architecture.longest, self.architecture.stack)
        if self.text.tokens > longest:
            raise TrainingError(
                f"windows must fit the model's longest sequence, {longest} tokens; got {self.text.tokens}."
                " Raise longest, and what limits the mixers, such as max_length, or lower tokens."
            )
        if self.text.task == "next-words":
            _require_causal(self.architecture.mixers)

    @classmethod
    def of_size(cls, size: str) -> Self:
        """The recipe of a named size."""
        if not isinstance(size, str) or size not in SIZES:
            raise TrainingError(f"size must be one of {', '.join(SIZES)}; got {size!r}. Or write a TOML recipe.")
        return cls(architecture=SIZES[size])

    def to_json(self) -> dict[str, Any]:
        """Complete, as three tables."""
        tables = dataclasses.asdict(self)
        tables["architecture"]["mixers"] = [to_json(mixer) for mixer in self.architecture.stack]
        # Runs that began before there was another task must go on.
        if self.text.task == Text.task:
            del tables["text"]["task"]
        return tables

    def changed(self, **parts: Mapping[str, Any]) -> Self:
        """The same recipe with some entries of its parts changed; entries that are None stay as they are.

        >>> Recipe().changed(schedule={"steps": 10, "seed": None}).schedule.steps
        10
        """
        return dataclasses.replace(
            self, **{name: changed(getattr(self, name), **entries) for name, entries in parts.items()}
        )


def _require_causal(mixers: Iterable[Mixer]) -> None:
    try:
        for mixer in mixers:
            causal_form(mixer)
    except MixerError as error:
        raise TrainingError(f"next words must be predicted without seeing later ones: {error}") from error


def changed(part: Part, **entries: Any) -> Part:
    """A part of a recipe with some entries changed; entries that are None stay as they are."""
    return dataclasses.replace(part, **{name: entry for name, entry in entries.items() if entry is not None})
