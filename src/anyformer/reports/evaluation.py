"""An evaluation as text."""

import math
from collections.abc import Mapping
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from anyformer.reports.terminal import count, facts, heading, paragraph, table
from anyformer.training.evaluation.evaluating import (
    EVALUATION,
    PREDICTIONS,
    Evaluated,
    EvaluatedAnswers,
    EvaluatedWords,
)
from anyformer.training.evaluation.measuring import Evaluation, Measures


def evaluation_view(evaluated: Evaluated | EvaluatedAnswers | EvaluatedWords, output: Path) -> RenderableType:
    """Scores, then where the mistakes are."""
    if isinstance(evaluated, EvaluatedWords):
        return Group(heading("evaluated"), facts([*_words(evaluated), ("written to", str(output / EVALUATION))]))
    told = evaluated.provenance
    rows = [("rows", count(told.rows) + (f", and {count(told.unlabelled)} without label" if told.unlabelled else ""))]
    if isinstance(evaluated, EvaluatedAnswers):
        rows += [(name, f"{score:.2f} %") for name, score in evaluated.scores.items()]
        return Group(heading("evaluated"), facts([*rows, *_files(evaluated, output)]))
    found = evaluated.found
    rows += _scores(found)
    parts: list[RenderableType] = [heading("evaluated"), facts([*rows, *_files(evaluated, output)])]
    if found.rule:
        parts += [Text(), paragraph(f"Compared: {found.rule}.")]
    if found.names:
        parts += [Text(), heading("by label; right: what was predicted"), _by_label(found)]
    for column, groups in found.groups.items():
        parts += [Text(), heading(f"by {column}"), _by_group(column, groups, found)]
    return Group(*parts)


def _words(evaluated: EvaluatedWords) -> list[tuple[str, str]]:
    scores = evaluated.scores
    return [
        ("windows", f"{count(len(scores.losses))} of {count(evaluated.tokens)} tokens"),
        ("masked words", count(scores.words)),
        ("loss", f"{scores.loss:.4f} nats, perplexity {math.exp(scores.loss):.2f}"),
        ("accuracy", f"{100 * scores.accuracy:.2f} %"),
    ]


def _files(evaluated: Evaluated | EvaluatedAnswers, output: Path) -> list[tuple[str, str]]:
    return [("predictions", f"{output / PREDICTIONS}, digest {evaluated.provenance.predictions[:12]}")]


def _scores(found: Evaluation) -> list[tuple[str, str]]:
    measures = found.measures
    rows = [(name.replace("_", " "), f"{measures.scores[name]:.4f}") for name in found.reported]
    others = [f"{name.replace('_', ' ')} {score:.4f}" for name, score in _others(found)]
    if measures.interval is not None:
        low, high = measures.interval
        rows.append(("95 % of accuracy", f"{low:.4f} to {high:.4f}"))
    if found.majority is not None:
        rows.append(("commonest label", f"{found.majority:.4f}"))
    return [*rows, *([("also", ", ".join(others))] if others else [])]


def _others(found: Evaluation) -> list[tuple[str, float]]:
    return [(name, score) for name, score in found.measures.scores.items() if name not in found.reported]


def _by_label(found: Evaluation) -> RenderableType:
    rows = []
    for name, predicted in zip(found.names, found.confusion, strict=True):
        if (one := found.measures.by_label.get(name)) is not None:
            shares = (f"{share:.3f}" for share in (one.precision, one.recall, one.f1))
            rows.append([name, count(one.rows), *shares, *map(count, predicted)])
    heads = ["label", "rows", "precision", "recall", "F1", *(f"as {name}" for name in found.names)]
    return table(heads, rows, right=heads[1:])


def _by_group(column: str, groups: Mapping[str, Measures], found: Evaluation) -> RenderableType:
    """The scores of each group; of classes the accuracy, and that among the rows of each label."""
    if not found.names:
        heads = [column, "rows", *found.reported]
        scores = [(value, one, [f"{one.scores[name]:.3f}" for name in found.reported]) for value, one in groups.items()]
        return table(heads, [[value, count(one.rows), *told] for value, one, told in scores], right=heads[1:])
    names = [name for name in found.names if name in found.measures.by_label]
    heads = [column, "rows", "accuracy", "95 %", *names]
    rows = []
    for value, one in groups.items():
        low, high = one.interval or (0.0, 1.0)
        found_of = [f"{one.by_label[name].recall:.3f}" if name in one.by_label else "" for name in names]
        rows.append([value, count(one.rows), f"{one.scores['accuracy']:.3f}", f"{low:.3f} to {high:.3f}", *found_of])
    return table(heads, rows, right=heads[1:])
