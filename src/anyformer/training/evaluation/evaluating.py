"""From a model's folder and data to a folder with predictions and what they are worth."""

import hashlib
import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import torch

from anyformer.atomic import write_text
from anyformer.errors import TrainingError
from anyformer.training.data.corpora import open_corpus
from anyformer.training.data.questions import read_questions
from anyformer.training.data.rows import Source, parse_source
from anyformer.training.data.tables import read_table
from anyformer.training.data.tokens import write_tokens
from anyformer.training.evaluation.measuring import REPORTED, Evaluation, measure, require_measurable
from anyformer.training.evaluation.outputs import require_replaceable
from anyformer.training.evaluation.predicting import (
    Predictions,
    class_names,
    predict,
    save_predictions,
    save_rows,
)
from anyformer.training.evaluation.words import WordScores, measure_words
from anyformer.training.run.recipe import Text
from anyformer.training.tasks.answer_scores import score_answers
from anyformer.training.tasks.answers import answered
from anyformer.training.tasks.examples import longest_input
from anyformer.training.tasks.masked_words import Marks
from anyformer.training.tasks.saved_berts import (
    fine_tuned_classifier,
    fine_tuned_reader,
    masked_model,
    weights_digest,
)
from anyformer.training.tasks.spans import windows_of

PREDICTIONS: Final = "predictions.jsonl"
EVALUATION: Final = "evaluation.json"


@final
@dataclass(frozen=True)
class Provenance:
    """What was evaluated on what, and the answers, by their digests."""

    model: str
    weights: str
    """The sha256 of the model's weights."""
    data: str
    rows: int
    unlabelled: int
    """Rows that were left out since they have no label."""
    predictions: str
    """The digest of ids and answers, which rounding hardly ever changes."""
    file: str
    """The sha256 of the file with the predictions."""


@final
@dataclass(frozen=True)
class Evaluated:
    """An evaluation, and where it comes from."""

    provenance: Provenance
    found: Evaluation

    def to_json(self) -> dict[str, Any]:
        """As in the file."""
        return {**vars(self.provenance), **self.found.to_json()}


@final
@dataclass(frozen=True)
class EvaluatedAnswers:
    """Answers to questions, and how many are right."""

    provenance: Provenance
    scores: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """As in the file."""
        return {**vars(self.provenance), **self.scores}


@final
@dataclass(frozen=True)
class EvaluatedWords:
    """Masked words of a whole text, and how many of them are found."""

    model: str
    weights: str
    """The sha256 of the model's weights."""
    corpus: str
    corpus_digest: str
    tokens: int
    """Of each window, marks included."""
    scores: WordScores

    def to_json(self) -> dict[str, Any]:
        """As in the file, which has the windows as well."""
        scores = self.scores
        told = {"loss": scores.loss, "accuracy": scores.accuracy, "words": scores.words}
        return {**{name: value for name, value in vars(self).items() if name != "scores"}, **told}


def evaluate(
    model: Path,
    pairs: str,
    output: Path,
    by: Sequence[str] = (),
    task: str | None = None,
    mapped: Mapping[str, str] | None = None,
) -> Evaluated:
    """Predict for labelled rows and measure how good that is.

    Args:
        model: the folder of a model for sequence classification, with its tokenizer.
        pairs: the data, as `read_pairs` takes it.
        output: a folder, for `predictions.jsonl` and `evaluation.json`.
        by: columns of the data by whose values rows are measured apart, too.
        task: of GLUE, whose measures are reported; by default that of "glue:mrpc" and so on.
        mapped: classes of the model and labels of the data with what they become.
    """
    source = parse_source(pairs)
    for name in (PREDICTIONS, EVALUATION):
        require_replaceable(output / name, model, source.name)
    bert, tokenizer = fine_tuned_classifier(model)
    names = class_names(bert)
    _require_kind(source, names)
    table = read_table(source, not names, by)
    labelled = table.labelled()
    if not len(labelled):
        raise TrainingError(f"{source} must have rows with labels; it has none. Use predict for it.")
    task = task or (source.glue if source.glue in REPORTED else None)
    require_measurable(names, labelled.labels, task, mapped)
    made = predict(bert, tokenizer, labelled)
    found = measure(made, labelled.columns, task, mapped)
    file = save_predictions(made, output / PREDICTIONS)
    counts = (len(labelled), len(table) - len(labelled))
    evaluated = Evaluated(Provenance(str(model), weights_digest(bert), pairs, *counts, made.digest(), file), found)
    _save(evaluated.to_json(), output)
    return evaluated


def evaluate_questions(model: Path, questions: Path, output: Path) -> EvaluatedAnswers:
    """Answer the questions of a SQuAD JSON and measure exact matches and F1."""
    for name in (PREDICTIONS, EVALUATION):
        require_replaceable(output / name, model, str(questions))
    bert, tokenizer = fine_tuned_reader(model)
    asked = read_questions(questions)
    windows = windows_of(asked, tokenizer, bert.config)
    with torch.no_grad():
        answers = answered(bert, windows, asked, tokenizer.pad_token_id)
    rows = [{"id": one.id, "answers": one.answers, "predicted": said} for one, said in zip(asked, answers, strict=True)]
    file = save_rows(rows, output / PREDICTIONS)
    said = hashlib.sha256(json.dumps([[one.id for one in asked], answers]).encode()).hexdigest()
    provenance = Provenance(str(model), weights_digest(bert), str(questions), len(asked), 0, said, file)
    evaluated = EvaluatedAnswers(provenance, score_answers(answers, asked))
    _save(evaluated.to_json(), output)
    return evaluated


def evaluate_words(model: Path, corpus: str, output: Path, tokens: int | None = None) -> EvaluatedWords:
    """Predict masked words of a whole text, and measure how many are found.

    Args:
        model: the folder of a BERT for masked words, with its tokenizer.
        corpus: the text, as `open_corpus` takes it.
        output: a folder, for `evaluation.json`; it has loss and accuracy of each window, so that models whose
            tokenizer is the same can be compared window by window.
        tokens: of each window; by default as many as the model takes.
    """
    require_replaceable(output / EVALUATION, model, corpus)
    bert, tokenizer = masked_model(model)
    most = longest_input(bert.config)
    if tokens is not None and tokens > most:
        raise TrainingError(f"a window must have at most the {most} tokens that the model takes; got {tokens}.")
    text, read = Text(tokens=most if tokens is None else tokens), open_corpus(corpus)
    with tempfile.TemporaryDirectory(prefix="anyformer-") as folder:
        ids = write_tokens(read, tokenizer, Path(folder) / "tokens.npy").ids
        scores = measure_words(bert, ids, Marks.of(tokenizer), text)
    evaluated = EvaluatedWords(str(model), weights_digest(bert), read.source, read.digest(), text.tokens, scores)
    if not math.isfinite(scores.loss):
        raise TrainingError(f"a model's losses must be finite; those of {model} are not. Give one that was trained.")
    _save({**evaluated.to_json(), "windows": scores.to_json()}, output)
    return evaluated


def predict_rows(model: Path, pairs: str, place: Path) -> tuple[Predictions, str]:
    """Predict for all rows into a file; the predictions and the file's sha256. Labels are copied as they are."""
    source = parse_source(pairs)
    require_replaceable(place, model, source.name)
    bert, tokenizer = fine_tuned_classifier(model)
    made = predict(bert, tokenizer, read_table(source, None))
    return made, save_predictions(made, place)


def _require_kind(source: Source, names: Sequence[str]) -> None:
    """Refuse labels that are asked for as numbers where the model predicts classes, and the other way round."""
    kind = "classes" if names else "regression"
    if source.kind not in (None, kind):
        raise TrainingError(
            f"labels must be what the model predicts, which is task={kind}; got task={source.kind}. Leave it out."
        )


def _save(told: Mapping[str, Any], output: Path) -> None:
    """Last, so that an evaluation without its predictions is never found."""
    output.mkdir(parents=True, exist_ok=True)
    write_text(output / EVALUATION, json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
