"""Pre-training: text → tokenizer → tokens → a BERT that predicts hidden words."""

import contextlib
import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from filelock import FileLock
from numpy.typing import NDArray

from anyformer.atomic import atomic_folder
from anyformer.errors import TrainingError
from anyformer.training.data.corpus import Corpus
from anyformer.training.data.tokens import Origin, TokenFile, open_tokens, split_tokens, write_tokens
from anyformer.training.data.vocabulary import load_tokenizer, train_tokenizer
from anyformer.training.run import seeds
from anyformer.training.run.folder import RunFolder
from anyformer.training.run.loop import finish, require_fair_shares, run_in, train
from anyformer.training.run.metrics import Watch
from anyformer.training.run.processes import processes
from anyformer.training.run.recipe import Recipe
from anyformer.training.run.writing import writing
from anyformer.training.tasks.initialization import initialize
from anyformer.training.tasks.masked_words import Marks, MaskedWords

if TYPE_CHECKING:
    from anyformer.mixers.bert import MixerBertForMaskedLM, MixerBertForPreTraining

HELD_OUT = 0.02
"""The share of a corpus that is held out if no other text is given for that."""


@dataclass(frozen=True)
class Prepared:
    """A corpus as token ids, to train on and to hold out, the tokenizer that made them, and their origin."""

    tokenizer: Any
    train: NDArray[Any]
    valid: NDArray[Any]
    origins: tuple[Origin, ...]


def prepare(
    corpus: Corpus, place: Path, vocabulary: int, *, held_out: Corpus | None = None, tokenizer: Path | None = None
) -> Prepared:
    """Tokenize a corpus into a folder; what is there already is used again.

    Args:
        corpus: the text to train on.
        place: the folder.
        vocabulary: how many tokens a tokenizer may learn.
        held_out: the text to measure on; otherwise the end of the corpus.
        tokenizer: one that exists, instead of learning one from the corpus.
    """
    shared = processes()
    if shared.is_main_process:
        place.mkdir(parents=True, exist_ok=True)
        with FileLock(place / "lock"):
            _prepared(corpus, place, vocabulary, held_out, tokenizer)
    shared.wait_for_everyone()
    return _prepared(corpus, place, vocabulary, held_out, tokenizer)


def _prepared(
    corpus: Corpus, place: Path, vocabulary: int, held_out: Corpus | None, tokenizer: Path | None
) -> Prepared:
    words = _tokenizer(corpus, place / "tokenizer", vocabulary) if tokenizer is None else load_tokenizer(tokenizer)
    tokens = _tokens(corpus, words, place / "tokens.npy")
    if held_out is None:
        return Prepared(words, *split_tokens(tokens, HELD_OUT), (tokens.origin,))
    unseen = _tokens(held_out, words, place / "held-out.npy")
    return Prepared(words, tokens.ids, unseen.ids, (tokens.origin, unseen.origin))


def _tokenizer(corpus: Corpus, place: Path, vocabulary: int) -> Any:
    """The tokenizer in the folder if it was trained on this corpus for this size, otherwise a new one in its place."""
    origin = json.dumps({"corpus": corpus.digest(), "vocabulary": vocabulary})
    origin_file = place / "learned_from.json"
    if not origin_file.is_file() or origin_file.read_bytes() != origin.encode():
        learned = train_tokenizer(corpus, vocabulary)
        with writing("a tokenizer", place), atomic_folder(place) as part:
            learned.save_pretrained(part)
            (part / origin_file.name).write_text(origin, "utf-8")
    return load_tokenizer(place)


def _tokens(corpus: Corpus, tokenizer: Any, place: Path) -> TokenFile:
    """The tokens in the file if they are complete and of this corpus, otherwise new ones in their place."""
    with contextlib.suppress(TrainingError):
        there = open_tokens(place)
        if there.matches(corpus, tokenizer):
            return there
    return write_tokens(corpus, tokenizer, place)


def pretrain(recipe: Recipe, text: Prepared, place: Path, watch: Watch | None = None) -> RunFolder:
    """Train a fresh BERT by a recipe; a run that was interrupted goes on where it stopped.

    Args:
        recipe: what to train, on what windows, for how long.
        text: what to train on.
        place: the run's folder; `place/model` is the result.
        watch: called with every measurement.

    Raises:
        TrainingError: if the folder belongs to another run or is being worked on, or the text is too short.
    """
    marks = Marks.of(text.tokenizer)
    task = MaskedWords(text.train, text.valid, marks, recipe.text, recipe.schedule)
    model = fresh(recipe, marks.vocabulary)
    require_fair_shares(recipe.schedule)
    identity = {"recipe": recipe.to_json(), "text": [asdict(origin) for origin in text.origins]}
    with run_in(place, identity) as folder:
        if not folder.is_complete:
            finish(folder, train(model, task, recipe.schedule, folder, watch), text.tokenizer)
    return folder


def fresh(recipe: Recipe, vocabulary: int) -> "MixerBertForMaskedLM | MixerBertForPreTraining":
    """A BERT with the weights that a seed gives."""
    from anyformer.mixers.bert import MixerBertForMaskedLM, MixerBertForPreTraining

    head = MixerBertForPreTraining if recipe.text.following else MixerBertForMaskedLM
    config = recipe.architecture.config(vocabulary)
    _require_room(lambda: head(config))
    torch.manual_seed(seeds.number("weights", recipe.schedule.seed))
    model = head(config)
    if recipe.architecture.start == "neighbours":
        initialize(model)
    return model


def _require_room(make: Callable[[], torch.nn.Module]) -> None:
    """Refuse a model that does not fit into memory before it is allocated; PyTorch's own error comes late, or never."""
    try:
        with torch.device("meta"):
            size = sum(one.numel() * one.element_size() for one in make().parameters())
    except RuntimeError as error:  # the product of its sizes does not even fit an integer
        raise TrainingError(
            f"a model must fit into memory; this one does not: {error!s:.200}. Ask for less."
        ) from error
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else math.inf
    if size > there:
        raise TrainingError(
            f"a model must fit into memory; its weights take {size} bytes, and there are {there}. Ask for fewer layers,"
            " a smaller width or vocabulary, or shorter sequences."
        )
