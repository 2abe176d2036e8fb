"""Fine-tuning: a pre-trained BERT learns to tell classes of texts apart, or to find answers."""

import hashlib
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from anyformer.errors import TrainingError
from anyformer.saved_folders import SavedModel, in_a_line, quiet, read_saved_model
from anyformer.training.data.pairs import Pairs
from anyformer.training.data.questions import Question
from anyformer.training.data.vocabulary import load_tokenizer
from anyformer.training.run import seeds
from anyformer.training.run.folder import RunFolder
from anyformer.training.run.loop import finish, require_fair_shares, run_in, train
from anyformer.training.run.metrics import Watch
from anyformer.training.run.recipe import Schedule, longest_sequence
from anyformer.training.tasks.answers import Answers
from anyformer.training.tasks.classes import Classes, encode_pairs
from anyformer.training.tasks.spans import features

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
KINDS = ("mixer-bert", "bert")
HEADS = ("cls.", "classifier.", "qa_outputs.", "bert.pooler.", "pooler.")
"""Parts that a pre-trained encoder may have or lack."""


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
    """Learn the classes of texts from pairs, or to find answers from questions.

    Args:
        model: the folder of a pre-trained MixerBert and its tokenizer.
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
    task: Classes | Answers
    if isinstance(training, Pairs) and isinstance(held_out, Pairs):
        bert, tokenizer, task = _classes(model, training, held_out, schedule, epochs)
    elif isinstance(training, tuple) and isinstance(held_out, tuple):
        bert, tokenizer, task = _answers(model, training, held_out, schedule, epochs)
    else:
        raise TrainingError("what is held out must be of the same kind as what is trained on: pairs or questions.")
    schedule = task.schedule
    require_fair_shares(schedule)
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


def _classes(
    model: Path, training: Pairs, held_out: Pairs, schedule: Schedule, epochs: float
) -> tuple[Any, Any, Classes]:
    from anyformer.mixers.bert import MixerBertForSequenceClassification

    if training.names != held_out.names:
        raise TrainingError(f"what is held out must have the labels {training.names}; got {held_out.names}.")
    require_classes(training)
    labels = {"num_labels": len(training.names), "id2label": dict(enumerate(training.names))}
    bert, tokenizer = _pretrained(MixerBertForSequenceClassification, model, schedule, labels)
    longest = _longest(bert)
    seen, unseen = (encode_pairs(pairs, tokenizer, longest) for pairs in (training, held_out))
    return bert, tokenizer, Classes(seen, unseen, tokenizer.pad_token_id, schedule.for_epochs(len(seen), epochs))


def _answers(
    model: Path, training: Sequence[Question], held_out: Sequence[Question], schedule: Schedule, epochs: float
) -> tuple[Any, Any, Answers]:
    from anyformer.mixers.bert import MixerBertForQuestionAnswering

    bert, tokenizer = _pretrained(MixerBertForQuestionAnswering, model, schedule, {})
    length = _longest(bert)
    seen, unseen = (features(questions, tokenizer, length, length // 3) for questions in (training, held_out))
    steps = schedule.for_epochs(len(seen), epochs)
    return bert, tokenizer, Answers(seen, unseen, held_out, tokenizer.pad_token_id, steps)


def _pretrained(head: Any, model: Path, schedule: Schedule, options: Mapping[str, Any]) -> tuple[Any, Any]:
    """A pre-trained encoder under a new head, which is drawn from the seed.

    Raises:
        TrainingError: if the folder has no BERT, or its weights do not match its config.
    """
    saved = _saved_bert(model)
    torch.manual_seed(seeds.number("head", schedule.seed))
    try:
        with quiet():
            _require_its_weights(head, model, saved, options)
            bert, report = head.from_pretrained(
                model,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                output_loading_info=True,
                **options,
            )
    except TrainingError:
        raise
    except Exception as error:  # `transformers` and safetensors raise all kinds of exceptions
        raise TrainingError(
            f"a model must be a BERT that pretrain or save_pretrained wrote; {model} cannot be loaded:"
            f" {in_a_line(error)}"
        ) from error
    differing = sorted(
        name for name in {*report["missing_keys"], *report["unexpected_keys"]} if not name.startswith(HEADS)
    )
    if differing:
        raise TrainingError(
            f"a model's weights must match its config.json; in {model} they differ in {differing[0]}"
            f" and {len(differing) - 1} more. Give the folder as it was saved."
        )
    return bert, load_tokenizer(model)


def _saved_bert(model: Path) -> SavedModel:
    """What the folder says about its model, whose sizes must not exceed the file of its weights."""
    saved = read_saved_model(model)
    kind = saved.config.get("model_type")
    if kind not in KINDS:
        raise TrainingError(
            f"a model must be of the type {' or '.join(KINDS)}; {model} is of {kind!r:.200}. Give another."
        )
    if saved.config.get("num_hidden_layers") != saved.layers:
        raise TrainingError(
            f"num_hidden_layers in {model}/config.json must be the layers that have weights, {saved.layers}; got"
            f" {saved.config.get('num_hidden_layers')!r:.200}. Give the folder as it was saved."
        )
    # Every size is an axis of some weight, so it cannot be larger than the number of weights.
    for name, number in _whole_numbers(saved.config):
        if number > saved.weights:
            raise TrainingError(
                f"{name} in {model}/config.json must be at most the number of weights in its file, {saved.weights};"
                f" got {reprlib.repr(number)}. Give the folder as it was saved."
            )
    return saved


def _whole_numbers(value: Any, name: str = "") -> Iterator[tuple[str, int]]:
    if isinstance(value, int):
        yield name, value
    elif isinstance(value, Mapping | list):
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _whole_numbers(inner, f"{name}.{key}".strip("."))


def _require_its_weights(head: Any, model: Path, saved: SavedModel, options: Mapping[str, Any]) -> None:
    """Refuse a config that asks for more weights than the file has, before memory is allocated."""
    config = head.config_class.from_pretrained(model, local_files_only=True, trust_remote_code=False, **options)
    with torch.device("meta"):
        named = dict(head(config).named_parameters())
    needed = sum(parameter.numel() for name, parameter in named.items() if not name.startswith(HEADS))
    if needed > 2 * saved.weights:  # a smaller difference is harmless, and is reported weight by weight after loading
        raise TrainingError(
            f"a model's weights must match its config.json; in {model} it asks for {needed}, and"
            f" there are {saved.weights}. Give the folder as it was saved."
        )


def _longest(bert: Any) -> int:
    return longest_sequence(bert.config.max_position_embeddings, bert.config.layer_mixers)


def _model_digest(bert: Any) -> str:
    """The digest of the model that the run starts from: the same folder with other weights is another run."""
    digest = hashlib.sha256(repr([repr(mixer) for mixer in bert.config.layer_mixers]).encode())
    for name, parameter in bert.named_parameters():
        digest.update(name.encode())
        digest.update(parameter.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def require_classes(pairs: Pairs) -> None:
    """Refuse pairs that are all of one class."""
    if len(pairs.names) < 2:
        raise TrainingError(f"labels must be at least two; got {', '.join(pairs.names)} alone. Give more rows.")


def digest_of(examples: Examples) -> str:
    """Of all that they say, not of where they come from: the repr of frozen data shows all of it."""
    return hashlib.sha256(repr(examples).encode()).hexdigest()
