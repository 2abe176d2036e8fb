"""How good predictions are: GLUE's measures, how sure they are, and where the mistakes are."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

from scipy.stats import binomtest

from anyformer.errors import TrainingError
from anyformer.training.data.tables import Label
from anyformer.training.evaluation.coarsening import Coarsening
from anyformer.training.evaluation.predicting import Predictions
from anyformer.training.tasks.label_scores import class_scores, number_scores, scikit_metrics

CONFIDENCE: Final = 0.95
"""Of the intervals."""
REPORTED: Final = {
    "cola": ("matthews",),
    "mrpc": ("accuracy", "f1"),
    "qqp": ("accuracy", "f1"),
    "stsb": ("pearson", "spearman"),
    "ax": ("matthews",),
    **dict.fromkeys(("sst2", "mnli", "mnli_matched", "mnli_mismatched", "qnli", "rte", "wnli"), ("accuracy",)),
}
"""The measures that GLUE reports, by task."""
OF_NUMBERS: Final = ("pearson", "spearman", "mean_squared_error")
"""The measures of predicted numbers; all others are of classes."""
POSITIVE: Final = ("equivalent", "duplicate", "1")
"""The classes whose F1 GLUE reports, in MRPC and QQP."""


@final
@dataclass(frozen=True)
class Measures:
    """How good the predictions for some rows are."""

    rows: int
    scores: Mapping[str, float]
    interval: tuple[float, float] | None = None
    """The 95 % interval of the accuracy (Wilson's); None for numbers."""
    by_label: Mapping[str, "OfClass"] = field(default_factory=dict)
    """For every class that rows have."""

    def to_json(self) -> dict[str, Any]:
        """Complete."""
        finite = {name: score if math.isfinite(score) else None for name, score in self.scores.items()}
        told: dict[str, Any] = {"rows": self.rows, **finite}
        if self.interval is not None:
            told["accuracy_interval"] = list(self.interval)
            told["by_label"] = {label: vars(one) for label, one in self.by_label.items()}
        return told


@final
@dataclass(frozen=True)
class OfClass:
    """One class: how many rows are of it, and how well they are told from others."""

    rows: int
    precision: float
    recall: float
    """The share of its rows that are found: the accuracy among them."""
    f1: float


@final
@dataclass(frozen=True)
class Evaluation:
    """How good a model is on labelled rows."""

    task: str | None
    """The task of GLUE whose measures are reported."""
    measures: Measures
    reported: tuple[str, ...]
    """The names of the scores that are reported first."""
    groups: Mapping[str, Mapping[str, Measures]]
    """By column and by its values."""
    majority: float | None = None
    """What always saying the commonest label would reach; None for numbers."""
    names: tuple[str, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()
    """Rows of each class (first axis) by what was predicted (second axis), both in the order of `names`."""
    rule: str = ""
    """How the model's classes were mapped to the data's labels."""

    def to_json(self) -> dict[str, Any]:
        """Complete."""
        classes = {"majority": self.majority, "classes": list(self.names), "confusion": [*map(list, self.confusion)]}
        return {
            "task": self.task,
            **self.measures.to_json(),
            "reported": list(self.reported),
            **(classes if self.names else {}),
            "mapped": self.rule or None,
            "groups": {
                column: {value: measures.to_json() for value, measures in values.items()}
                for column, values in self.groups.items()
            },
        }


def measure(
    predictions: Predictions,
    columns: Mapping[str, Sequence[str]] | None = None,
    task: str | None = None,
    mapped: Mapping[str, str] | None = None,
) -> Evaluation:
    """Measure predictions for labelled rows.

    Args:
        predictions: all with labels.
        columns: each has one value a row; rows are measured apart by their values, too.
        task: of GLUE, whose measures are then reported first.
        mapped: classes and labels with what they become; labels such as non-entailment need none.

    Raises:
        TrainingError: if rows lack labels, or the labels are not the model's classes.
    """
    require_measurable(predictions.names, predictions.labels, task, mapped)
    if not predictions.names:
        return _of_numbers(predictions, columns or {}, task)
    return _of_classes(predictions, columns or {}, task, mapped)


def require_measurable(
    names: Sequence[str], labels: Sequence[Label], task: str | None, mapped: Mapping[str, str] | None
) -> None:
    """Refuse what `measure` cannot measure, which needs no predictions to be known.

    Args:
        names: the model's classes; none if it predicts a number.
        labels: of the rows.
        task: as for `measure`.
        mapped: as for `measure`.
    """
    if None in labels:
        missing = sum(label is None for label in labels)
        raise TrainingError(f"all rows to measure must have labels; {missing} have none. Leave them out.")
    if task is not None and task not in REPORTED:
        raise TrainingError(f"a task of GLUE must be one of {', '.join(REPORTED)}; got {task!r}.")
    wanted = REPORTED.get(task or "", ())
    if wanted and bool(names) == bool(set(wanted) & set(OF_NUMBERS)):
        kind = "classes" if names else "a number"
        raise TrainingError(
            f"{task} is measured by {' and '.join(wanted)}, and this model predicts {kind}. Leave the task out, or give"
            " its own data and model."
        )
    if names:
        Coarsening.between(names, map(str, labels), mapped)
    elif mapped:
        raise TrainingError(f"only classes can be mapped; this model predicts a number. Leave {', '.join(mapped)} out.")


def _of_classes(
    predictions: Predictions, columns: Mapping[str, Sequence[str]], task: str | None, mapped: Mapping[str, str] | None
) -> Evaluation:
    labels = [str(label) for label in predictions.labels]
    common = Coarsening.between(predictions.names, labels, mapped)
    truth = [common.labels[label] for label in labels]
    predicted = [common.classes[str(said)] for said in predictions.predicted]
    counts = Counter(zip(truth, predicted, strict=True))
    measures = _class_measures(truth, predicted)
    return Evaluation(
        task,
        measures,
        _reported(task, measures.scores, ("accuracy", "macro_f1", "matthews")),
        _grouped(columns, truth, predicted, _class_measures),
        max(truth.count(name) for name in common.names) / len(truth),
        common.names,
        tuple(tuple(counts[true, said] for said in common.names) for true in common.names),
        common.rule,
    )


def _of_numbers(predictions: Predictions, columns: Mapping[str, Sequence[str]], task: str | None) -> Evaluation:
    truth = [float(label) for label in predictions.labels if label is not None]
    predicted = [float(said) for said in predictions.predicted]
    measures = _number_measures(truth, predicted)
    return Evaluation(
        task,
        measures,
        _reported(task, measures.scores, OF_NUMBERS),
        _grouped(columns, truth, predicted, _number_measures),
    )


def _class_measures(truth: Sequence[str], predicted: Sequence[str]) -> Measures:
    scores = class_scores(truth, predicted)
    names = sorted({*truth, *predicted})
    found = scikit_metrics().precision_recall_fscore_support(truth, predicted, labels=names, zero_division=0)
    by_label = {
        name: OfClass(int(rows), float(precision), float(recall), float(f1))
        for name, precision, recall, f1, rows in zip(names, *found, strict=True)
        if rows
    }
    positive = next((name for name in POSITIVE if name in by_label and len(names) <= 2), None)
    if positive is not None:
        scores["f1"] = by_label[positive].f1
    right = sum(one == other for one, other in zip(truth, predicted, strict=True))
    interval = binomtest(right, len(truth)).proportion_ci(CONFIDENCE, "wilson")
    return Measures(len(truth), scores, (float(interval.low), float(interval.high)), by_label)


def _number_measures(truth: Sequence[float], predicted: Sequence[float]) -> Measures:
    return Measures(len(truth), number_scores(truth, predicted))


def _grouped(
    columns: Mapping[str, Sequence[str]], truth: Sequence[Any], predicted: Sequence[Any], measured: Any
) -> dict[str, dict[str, Measures]]:
    """Each column's values, and how good the predictions for their rows are."""
    groups: dict[str, dict[str, Measures]] = {}
    for name, column in columns.items():
        places: dict[str, list[int]] = {}
        for place, value in enumerate(column):
            places.setdefault(value, []).append(place)
        groups[name] = {
            value: measured([truth[place] for place in those], [predicted[place] for place in those])
            for value, those in sorted(places.items())
        }
    return groups


def _reported(task: str | None, scores: Mapping[str, float], usual: tuple[str, ...]) -> tuple[str, ...]:
    """The names of a task's scores, where there are such."""
    wanted = usual if task is None else REPORTED[task]
    missing = [name for name in wanted if name not in scores]
    if missing:
        raise TrainingError(
            f"{task} is measured by {' and '.join(wanted)}; for these labels there is no {missing[0]}."
            " Leave the task out, or give its own data and model."
        )
    return wanted
