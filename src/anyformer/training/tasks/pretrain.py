"""Pre-training: text → tokenizer → tokens → a BERT that predicts hidden words, or next ones."""

import contextlib
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from filelock import FileLock
from numpy.typing import NDArray

from anyformer.atomic import atomic_folder
from anyformer.errors import TrainingError
from anyformer.mixers.mixer import causal_form
from anyformer.mixers.trial import try_mixers
from anyformer.training.data.corpus import Corpus
from anyformer.training.data.tokens import (
    Origin,
    TokenFile,
    open_tokens,
    require_sequences,
    split_tokens,
    write_tokens,
)
from anyformer.training.data.vocabulary import load_tokenizer, tokenizer_digest, train_tokenizer
from anyformer.training.run import seeds
from anyformer.training.run.folder import RunFolder, removed_after_a_mistake
from anyformer.training.run.loop import finish, require_runnable, run_in, train
from anyformer.training.run.metrics import Watch
from anyformer.training.run.processes import processes
from anyformer.training.run.recipe import Recipe
from anyformer.training.run.writing import writing
from anyformer.training.tasks.initialization import initialize
from anyformer.training.tasks.masked_words import Marks, MaskedWords
from anyformer.training.tasks.next_words import NextWords, for_prompts, special_tokens

if TYPE_CHECKING:
    from anyformer.mixers.bert import MixerBertForCausalLM, MixerBertForMaskedLM, MixerBertForPreTraining

HELD_OUT = 0.02
"""The share of a corpus that is held out if no other text is given for that."""
THE_END = "the end of the corpus"
LEARNED_FROM = "learned_from.json"


@dataclass(frozen=True)
class Prepared:
    """A corpus as token ids, to train on and to hold out, the tokenizer that made them, and their origin."""

    tokenizer: Any
    train: NDArray[Any]
    valid: NDArray[Any]
    origins: tuple[Origin, ...]
    sources: tuple[str, ...] = ()
    """What the texts were called, then the tokenizer; only for readers."""

    def identity(self) -> list[dict[str, str]]:
        """What decides the tokens, whatever the files are called."""
        return [_text_identity(origin.corpus_digest, origin.tokenizer_digest) for origin in self.origins]

    def about(self) -> dict[str, Any]:
        """Names and sizes."""
        corpus, held_out, tokenizer = self.sources or ("", "", "")
        return {
            "corpus": corpus,
            "held_out": held_out,
            "tokenizer": tokenizer,
            "vocabulary": len(self.tokenizer),
            "tokens": len(self.train),
            "held_out_tokens": len(self.valid),
        }


def _text_identity(corpus_digest: str, tokenizer_digest: str) -> dict[str, str]:
    return {"corpus_digest": corpus_digest, "tokenizer_digest": tokenizer_digest}


def prepare_run(
    recipe: Recipe, corpus: Corpus, place: Path, *, held_out: Corpus | None = None, tokenizer: Path | None = None
) -> Prepared:
    """The text of the run in `place`, for `pretrain` with the same recipe and place.

    Whatever can be refused is refused before anything is written: a model that cannot be built, a folder of another
    run. After another mistake, such as a text without words, a new folder is removed again.

    Args:
        recipe: what to train.
        corpus: the text to train on.
        place: the run's folder; the tokens go to `place/text`.
        held_out: the text to measure on; otherwise the end of the corpus.
        tokenizer: one that exists, instead of learning one from the corpus.
    """
    RunFolder(place).require_free()
    require_possible(recipe)
    _require_same_run(recipe, corpus, place, held_out, tokenizer)
    with removed_after_a_mistake(place, "text") if processes().is_main_process else contextlib.nullcontext():
        vocabulary = recipe.architecture.vocabulary
        text = prepare(corpus, place / "text", vocabulary, held_out=held_out, tokenizer=tokenizer)
        require_windows(recipe, text)
    return text


def _require_same_run(
    recipe: Recipe, corpus: Corpus, place: Path, held_out: Corpus | None, tokenizer: Path | None
) -> None:
    """Refuse the folder of another run, without the tokens, which `prepare` would replace."""
    folder = RunFolder(place)
    if not folder.identity_file.is_file():
        return
    digests = [corpus.digest()] if held_out is None else [corpus.digest(), held_out.digest()]

    def identity(tokenizer_digest: str) -> dict[str, Any]:
        return _identity(recipe, [_text_identity(digest, tokenizer_digest) for digest in digests])

    # Texts first: to learn a tokenizer from the wrong one takes time.
    folder.require_same(identity(""), unknown="tokenizer_digest")
    vocabulary = recipe.architecture.vocabulary
    if tokenizer is not None:
        words = load_tokenizer(tokenizer)
    elif _is_learned_from(corpus, place / "text" / "tokenizer", vocabulary):
        words = load_tokenizer(place / "text" / "tokenizer")
    else:
        words = train_tokenizer(corpus, vocabulary)
    folder.require_same(identity(tokenizer_digest(words)))


def require_windows(recipe: Recipe, text: Prepared) -> None:
    """Refuse a text that does not fill one window."""
    for ids in (text.train, text.valid):
        require_sequences(ids, recipe.text.tokens)


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
    sources = (corpus.source, THE_END if held_out is None else held_out.source, str(tokenizer or "learned"))
    tokens = tokens_of(corpus, words, place / "tokens.npy")
    if held_out is None:
        return Prepared(words, *split_tokens(tokens, HELD_OUT), (tokens.origin,), sources)
    unseen = tokens_of(held_out, words, place / "held-out.npy")
    return Prepared(words, tokens.ids, unseen.ids, (tokens.origin, unseen.origin), sources)


def _tokenizer(corpus: Corpus, place: Path, vocabulary: int) -> Any:
    """The tokenizer in the folder if it was trained on this corpus for this size, otherwise a new one in its place."""
    if not _is_learned_from(corpus, place, vocabulary):
        learned = train_tokenizer(corpus, vocabulary)
        with writing("a tokenizer", place), atomic_folder(place) as part:
            learned.save_pretrained(part)
            (part / LEARNED_FROM).write_text(_lesson(corpus, vocabulary), "utf-8")
    return load_tokenizer(place)


def _is_learned_from(corpus: Corpus, place: Path, vocabulary: int) -> bool:
    """Whether the folder has the tokenizer of this corpus and size."""
    file = place / LEARNED_FROM
    return file.is_file() and file.read_bytes() == _lesson(corpus, vocabulary).encode()


def _lesson(corpus: Corpus, vocabulary: int) -> str:
    return json.dumps({"corpus": corpus.digest(), "vocabulary": vocabulary})


def unigram_loss(text: Prepared) -> float:
    """The loss of a model that knows only how frequent each word is: the plateau that training has to leave."""
    special = list(text.tokenizer.all_special_ids)
    seen = np.bincount(text.train, minlength=len(text.tokenizer)) + 1.0
    seen[special] = 0.0
    words = np.asarray(text.valid)[~np.isin(text.valid, special)]
    return float(-np.log(seen[words] / seen.sum()).mean())


def tokens_of(corpus: Corpus, tokenizer: Any, place: Path) -> TokenFile:
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
    goes_on = recipe.text.task == "next-words"
    task = (NextWords if goes_on else MaskedWords)(text.train, text.valid, marks, recipe.text, recipe.schedule)
    model = fresh(recipe, marks.vocabulary, **special_tokens(text.tokenizer) if goes_on else {})
    tokenizer = for_prompts(text.tokenizer) if goes_on else text.tokenizer
    about = {"text": text.about(), "model": {"weights": sum(one.numel() for one in model.parameters())}}
    with run_in(place, _identity(recipe, text.identity()), about) as folder:
        if not folder.is_complete:
            finish(folder, train(model, task, recipe.schedule, folder, watch), tokenizer)
    return folder


def _identity(recipe: Recipe, text: list[dict[str, str]]) -> dict[str, Any]:
    """What decides the outcome of a run."""
    return {"recipe": recipe.to_json(), "text": text}


def fresh(
    recipe: Recipe, vocabulary: int, **special: int
) -> "MixerBertForCausalLM | MixerBertForMaskedLM | MixerBertForPreTraining":
    """A BERT with the weights that a seed gives; `special` are tokens that its config is to name."""
    require_possible(recipe, vocabulary)
    torch.manual_seed(seeds.number("weights", recipe.schedule.seed))
    model = _model(recipe, vocabulary, **special)
    if recipe.architecture.start == "neighbours":
        initialize(model)
    return model


def require_possible(recipe: Recipe, vocabulary: int | None = None) -> None:
    """Refuse a recipe whose model cannot be built, or does not fit into memory; the model is not allocated.

    Mixers of others are tried on a few tokens: what a run would stumble over, or believe, is told before it begins.

    Args:
        recipe: what to train.
        vocabulary: of the tokenizer; without one, the most that the recipe allows.
    """
    require_runnable(recipe.schedule)
    _require_room(lambda: _model(recipe, vocabulary))
    architecture, goes_on = recipe.architecture, recipe.text.task == "next-words"
    stack = [causal_form(mixer) for mixer in architecture.stack] if goes_on else architecture.stack
    try_mixers(stack, architecture.width, recipe.text.tokens, architecture.dropout, is_causal=goes_on)


def _model(
    recipe: Recipe, vocabulary: int | None, **special: int
) -> "MixerBertForCausalLM | MixerBertForMaskedLM | MixerBertForPreTraining":
    from anyformer.mixers.bert import MixerBertForCausalLM, MixerBertForMaskedLM, MixerBertForPreTraining

    decoder = recipe.text.task == "next-words"
    masked = MixerBertForPreTraining if recipe.text.following else MixerBertForMaskedLM
    head = MixerBertForCausalLM if decoder else masked
    return head(recipe.architecture.config(vocabulary, is_decoder=decoder, **special))


def _require_room(make: Callable[[], torch.nn.Module]) -> None:
    """Refuse a model that does not fit into memory before it is allocated; PyTorch's own error comes late, or never."""
    try:
        with torch.device("meta"):
            size = sum(one.numel() * one.element_size() for one in make().parameters())
    except RuntimeError as error:  # the product of its sizes does not even fit an integer
        raise TrainingError(
            f"a model must fit into memory; this one does not: {error!s:.200}. Choose fewer layers or a smaller width."
        ) from error
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else math.inf
    if size > there:
        raise TrainingError(
            f"a model must fit into memory; its weights take {size} bytes, and there are {there}. Ask for fewer layers,"
            " a smaller width or vocabulary, or shorter sequences."
        )
