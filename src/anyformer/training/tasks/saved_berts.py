"""Models from folders that anyone may have made: checked before memory is allocated, loaded whole or refused."""

import hashlib
import reprlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from anyformer.errors import TrainingError
from anyformer.saved_folders import SavedModel, in_a_line, quiet, read_saved_model
from anyformer.training.data.vocabulary import load_tokenizer, tokenizer_of_folder
from anyformer.training.run import seeds

FAMILIES = {"mixer-bert": "MixerBert", "bert": "MixerBert", "mixer-roberta": "MixerRoberta", "roberta": "MixerRoberta"}
"""Types of models whose encoder is a BERT or a RoBERTa, and what our classes for them are called."""
CLASSIFIER, READER, WORDS = "SequenceClassification", "QuestionAnswering", "MaskedLM"
"""What heads are for, as the names of classes say it."""
HEADS = ("cls.", "classifier.", "qa_outputs.", "bert.pooler.", "pooler.", "lm_head.", "roberta.pooler.")
"""Parts that a pre-trained encoder may have or lack."""


def pretrained(task: str, model: Path, seed: int, options: Mapping[str, Any]) -> tuple[Any, Any]:
    """A pre-trained encoder under a new head for a task, which is drawn from the seed, and its tokenizer.

    Raises:
        TrainingError: if the folder has no BERT or RoBERTa, or its weights do not match its config.
    """
    saved = _saved_bert(model)
    torch.manual_seed(seeds.number("head", seed))
    # Another task's head may have another number of classes; it is drawn anew.
    bert, differing = _loaded(task, model, saved, options, ignore_mismatched_sizes=True)
    _require_none(model, sorted(name for name in differing if not name.startswith(HEADS)))
    return bert, _its_tokenizer(bert, model)


def fine_tuned_classifier(model: Path) -> tuple[Any, Any]:
    """A model for sequence classification with its trained head, and its tokenizer.

    Raises:
        TrainingError: if the folder has none, or its weights do not match its config.
    """
    return _fine_tuned(CLASSIFIER, model)


def fine_tuned_reader(model: Path) -> tuple[Any, Any]:
    """A model that finds answers, with its trained head, and its tokenizer."""
    return _fine_tuned(READER, model)


def masked_model(model: Path) -> tuple[Any, Any]:
    """A BERT that predicts masked words, with its trained head, and its tokenizer."""
    kind = _saved_bert(model).config["model_type"]
    if FAMILIES[kind] != "MixerBert":
        raise TrainingError(f"a model must be a BERT, whose masked words are measured here; {model} is of {kind!r}.")
    return _fine_tuned(WORDS, model)


def weights_digest(model: Any) -> str:
    """The sha256 of the names and bits of a model's weights."""
    digest = hashlib.sha256()
    for name, parameter in model.named_parameters():
        digest.update(name.encode())
        digest.update(parameter.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _fine_tuned(task: str, model: Path) -> tuple[Any, Any]:
    saved = _saved_bert(model)
    loaded, differing = _loaded(task, model, saved, {})
    lacking = sorted(name for name in differing if name not in saved.shapes and name.startswith(HEADS))
    if lacking:
        verb = "pretrain" if task == WORDS else "finetune"
        raise TrainingError(
            f"a model must have been trained for the task, as OUTPUT/model of {verb}; {model} has no {lacking[-1]}."
            " Train it first."
        )
    _require_none(model, sorted(name for name in differing if not name.startswith(HEADS)))
    return loaded.eval(), _its_tokenizer(loaded, model)


def _its_tokenizer(bert: Any, model: Path) -> Any:
    """The tokenizer in the folder of a model; BERT's must have BERT's special tokens."""
    from anyformer.mixers.bert import MixerRobertaConfig

    if not isinstance(bert.config, MixerRobertaConfig):
        return load_tokenizer(model)
    tokenizer, padding = tokenizer_of_folder(model), bert.config.pad_token_id
    if tokenizer.pad_token_id != padding:
        raise TrainingError(
            f"a RoBERTa's tokenizer must pad with pad_token_id, {padding}, since positions are counted without it; that"
            f" in {model} pads with {tokenizer.pad_token_id}. Give the folder as it was saved."
        )
    return tokenizer


def _loaded(task: str, model: Path, saved: SavedModel, options: Mapping[str, Any], **how: Any) -> tuple[Any, set[str]]:
    """The model, and the names of weights that it or the file lacks, or that have another shape there."""
    from anyformer.mixers import bert as berts

    head = getattr(berts, f"{FAMILIES[saved.config['model_type']]}For{task}")
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
                **how,
            )
    except TrainingError:
        raise
    except Exception as error:  # `transformers` and safetensors raise all kinds of exceptions
        raise TrainingError(
            f"a model must be a BERT that pretrain or save_pretrained wrote; {model} cannot be loaded:"
            f" {in_a_line(error)}"
        ) from error
    reshaped = {name for name, *_ in report["mismatched_keys"]}
    return bert, {*report["missing_keys"], *report["unexpected_keys"], *reshaped}


def _require_none(model: Path, differing: list[str]) -> None:
    if differing:
        raise TrainingError(
            f"a model's weights must match its config.json; in {model} they differ in {differing[0]}"
            f" and {len(differing) - 1} more. Give the folder as it was saved."
        )


def _saved_bert(model: Path) -> SavedModel:
    """What the folder says about its model, whose sizes must not exceed the file of its weights."""
    saved = read_saved_model(model)
    kind = saved.config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise TrainingError(
            f"a model must be of one of the types {', '.join(FAMILIES)}; {model} is of {kind!r:.200}. Give another."
        )
    if saved.config.get("is_decoder"):
        raise TrainingError(
            f"a model must see all words from its first token; {model} is a language model, which sees none after it."
            " Give one that was trained on masked words."
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
