"""`evaluate` and `predict`: what a fine-tuned model says, and how good that is."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from anyformer.cli.output import Json, at_work, emit
from anyformer.cli.plugins import Plugins, load_plugins
from anyformer.errors import UsageError

FineTuned = Annotated[
    Path, typer.Argument(metavar="MODEL", help="The folder of a fine-tuned model, as OUTPUT/model of finetune.")
]


def evaluate(
    model: FineTuned,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Where the results go.")],
    pairs: Annotated[
        str | None,
        typer.Option(help="Labelled texts: CSV, TSV, JSON, Parquet (plain, .xz, .gz), or glue:mnli?split=…"),
    ] = None,
    questions: Annotated[Path | None, typer.Option(help="SQuAD JSON (plain, .xz, .gz).")] = None,
    by: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Measure rows apart by a column's values; repeatable.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="The task of GLUE whose measures are reported.")] = None,
    mapped: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="OLD=NEW", help="A class or label, and what it counts as; repeatable."),
    ] = None,
    plugin: Plugins = None,
    json: Json = False,
) -> None:
    """Measure a fine-tuned model on labelled texts or questions, and keep its predictions."""
    if (pairs is None) == (questions is None):
        raise UsageError("exactly one of --pairs and --questions must be given: what to measure on.")
    if questions is not None and (by or task or mapped):
        raise UsageError("--by, --task and --map must go with --pairs; questions have no classes.")
    become = _mapping(mapped or [])
    load_plugins(plugin)
    from anyformer.reports.evaluation import evaluation_view
    from anyformer.training.evaluation import evaluating

    found: evaluating.Evaluated | evaluating.EvaluatedAnswers
    with at_work("predicting"):
        if pairs is not None:
            found = evaluating.evaluate(model, pairs, output, by or (), task, become)
        elif questions is not None:
            found = evaluating.evaluate_questions(model, questions, output)
    place = output / evaluating.PREDICTIONS
    emit(json, {"output": str(output), **found.to_json()}, evaluation_view(found, str(place)))


def predict(
    model: FineTuned,
    pairs: Annotated[
        str, typer.Option(help="Texts, with or without labels: CSV, TSV, JSON, Parquet (plain, .xz, .gz), or glue:…")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="JSON lines to write, one a row.")],
    plugin: Plugins = None,
    json: Json = False,
) -> None:
    """Predict the classes of texts, or numbers, by a fine-tuned model."""
    load_plugins(plugin)
    from anyformer.reports.terminal import count, facts
    from anyformer.training.evaluation.evaluating import predict_rows

    with at_work("predicting"):
        made, file = predict_rows(model, pairs, output)
    told = {"output": str(output), "rows": len(made), "predictions": made.digest(), "file": file}
    shown = [("rows", count(len(made))), ("predictions", str(output)), ("digest", made.digest())]
    emit(json, told, facts(shown))


def _mapping(given: Sequence[str]) -> dict[str, str]:
    """Classes and labels with what they count as, in lower case, as labels are read."""
    parts = [text.lower().partition("=") for text in given]
    for text, (old, sign, new) in zip(given, parts, strict=True):
        if not (old.strip() and sign and new.strip()):
            raise UsageError(f"--map must read OLD=NEW, such as neutral=not_entailment; got {text!r}.")
    return {old.strip(): new.strip() for old, _, new in parts}
