"""Fine-tuning: a pre-trained BERT learns to tell classes of texts apart, to give numbers, or to find answers."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from anyformer.errors import TrainingError
from anyformer.mixers.trial import try_mixers
from anyformer.training.data.pairs import Pairs
from anyformer.training.data.questions import Question
from anyformer.training.run.folder import RunFolder
from anyformer.training.run.loop import finish, require_runnable, run_in, train
from anyformer.training.run.metrics import Watch
from anyformer.training.run.recipe import Schedule
from anyformer.training.tasks.answers import Answers
from anyformer.training.tasks.classes import Classes, encode_pairs
from anyformer.training.tasks.examples import longest_input
from anyformer.training.tasks.numbers import Numbers
from anyformer.training.tasks.saved_berts import CLASSIFIER, READER, pretrained
from anyformer.training.tasks.spans import windows_of

Examples = Pairs | tuple[Question, ...]
"""Training examples, as `read_pairs` and `read_questions` give them."""


@dataclass(frozen=True)
class Sources:
    """What examples are called; the same ones under other names are the same run."""

    training: tuple[str, ...] = ()
    held_out: tuple[str, ...] = ()


UNNAMED = Sources()
TUNING = Schedule(batch=32, learning_rate=5e-4, warmup=0.1)
"""Suits small models; for BERT_BASE a tenth of this rate is usual."""


def finetune(
    model: Path,
    training: Examples,
    held_out: Examples,
    place: Path,
    epochs: float = 3.0,
    schedule: Schedule = TUNING,
    watch: Watch | None = None,
    sources: Sources = UNNAMED,
) -> RunFolder:
    """Learn the classes of texts, or numbers, from pairs, or to find answers from questions.

    Args:
        model: the folder of a pre-trained BERT or RoBERTa, with any mixers, and its tokenizer.
        training: what to learn from.
        held_out: what to measure on, of the same kind.
        place: the run's folder; `place/model` is the result.
        schedule: how; its steps are set by the epochs.
        epochs: how often every example, or window of a context, is seen.
        watch: called with every measurement.
        sources: what the examples are called, for readers of the run's folder.

    Raises:
        TrainingError: if the model is not usable, the folder belongs to another run, or the classes differ.
    """
    bert: Any
    task: Classes | Numbers | Answers
    if isinstance(training, Pairs) and isinstance(held_out, Pairs):
        bert, tokenizer, task = _labels(model, training, held_out, schedule, epochs)
    elif isinstance(training, tuple) and isinstance(held_out, tuple):
        bert, tokenizer, task = _answers(model, training, held_out, schedule, epochs)
    else:
        raise TrainingError("what is held out must be of the same kind as what is trained on: pairs or questions.")
    schedule = task.schedule
    require_runnable(schedule)
    try_mixers(bert.config.layer_mixers, bert.config.hidden_size, longest_input(bert.config))
    _require_full_batch(schedule.batch, len(task.training))
    identity = {
        "model": _model_digest(bert),
        "training": digest_of(training),
        "held_out": digest_of(held_out),
        "schedule": asdict(schedule),
    }
    about = {
        "model": {"path": str(model), "weights": sum(one.numel() for one in bert.parameters())},
        "training": {"sources": list(sources.training), "examples": len(training)},
        "held_out": {"sources": list(sources.held_out), "examples": len(held_out)},
        "epochs": epochs,
    }
    with run_in(place, identity, about) as folder:
        if not folder.is_complete:
            finish(folder, train(bert, task, schedule, folder, watch), tokenizer)
    return folder


def _labels(
    model: Path, training: Pairs, held_out: Pairs, schedule: Schedule, epochs: float
) -> tuple[Any, Any, Classes | Numbers]:
    if training.names != held_out.names:
        wanted, got = (pairs.names or "numbers" for pairs in (training, held_out))
        raise TrainingError(f"what is held out must have the labels {wanted}; got {got}.")
    require_classes(training)
    bert, tokenizer = pretrained(CLASSIFIER, model, schedule.seed, _head(training.names))
    seen, unseen = (encode_pairs(pairs, tokenizer, bert.config) for pairs in (training, held_out))
    task = Classes if training.names else Numbers
    return bert, tokenizer, task(seen, unseen, tokenizer.pad_token_id, schedule.for_epochs(len(seen), epochs))


def _require_full_batch(batch: int, examples: int) -> None:
    """Refuse a batch of more examples than there are, except a small one: few examples are seen twice in it."""
    if batch > max(examples, TUNING.batch):
        raise TrainingError(
            f"a batch must be at most the {examples} examples to train on, or {TUNING.batch}; got {batch}."
            " Choose a smaller one."
        )


def _head(names: Sequence[str]) -> dict[str, Any]:
    """What the config says of the head; all of it, since the model may have been another task's."""
    if not names:
        return {"num_labels": 1, "problem_type": "regression"}
    return {
        "num_labels": len(names),
        "id2label": dict(enumerate(names)),
        "label2id": {name: place for place, name in enumerate(names)},
        "problem_type": "single_label_classification",
    }


def _answers(
    model: Path, training: Sequence[Question], held_out: Sequence[Question], schedule: Schedule, epochs: float
) -> tuple[Any, Any, Answers]:
    bert, tokenizer = pretrained(READER, model, schedule.seed, {})
    seen, unseen = (windows_of(questions, tokenizer, bert.config) for questions in (training, held_out))
    steps = schedule.for_epochs(len(seen), epochs)
    return bert, tokenizer, Answers(seen, unseen, held_out, tokenizer.pad_token_id, steps)


def _model_digest(bert: Any) -> str:
    """The digest of the model that the run starts from: the same folder with other weights is another run."""
    digest = hashlib.sha256(repr([repr(mixer) for mixer in bert.config.layer_mixers]).encode())
    for name, parameter in bert.named_parameters():
        digest.update(name.encode())
        digest.update(parameter.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def require_classes(pairs: Pairs) -> None:
    """Refuse pairs that are all of one class; numbers have none."""
    if len(pairs.names) == 1:
        raise TrainingError(f"labels must be at least two; got {', '.join(pairs.names)} alone. Give more rows.")


def digest_of(examples: Examples) -> str:
    """Of the examples themselves, wherever they come from: the repr of frozen data shows all of it."""
    return hashlib.sha256(repr(examples).encode()).hexdigest()
