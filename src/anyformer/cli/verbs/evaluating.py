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
    corpus: Annotated[
        str | None, typer.Option(help="Text whose masked words are predicted, as pretrain takes it.")
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Measure rows apart by a column's values; repeatable.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="The task of GLUE whose measures are reported.")] = None,
    mapped: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="OLD=NEW", help="A class or label, and what it counts as; repeatable."),
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(help="Of each window of --corpus; by default as many as the model takes.")
    ] = None,
    plugin: Plugins = None,
    json: Json = False,
) -> None:
    """Measure a trained model on labelled texts, on questions, or on the masked words of a text."""
    data = {"--pairs": pairs, "--questions": questions, "--corpus": corpus}
    given = [name for name, value in data.items() if value is not None]
    if len(given) != 1:
        raise UsageError(
            "exactly one of --pairs, --questions and --corpus must be given: what to measure on; got"
            f" {' and '.join(given) or 'none of them'}."
        )
    if pairs is None and (by or task or mapped):
        raise UsageError(f"--by, --task and --map must go with --pairs; {given[0]} has no classes.")
    if corpus is None and tokens is not None:
        raise UsageError(f"--tokens must go with --corpus; {given[0]} is cut as the model was trained. Leave it out.")
    become = _mapping(mapped or [])
    load_plugins(plugin)
    from anyformer.reports.evaluation import evaluation_view
    from anyformer.training.evaluation import evaluating

    found: evaluating.Evaluated | evaluating.EvaluatedAnswers | evaluating.EvaluatedWords
    with at_work("predicting"):
        if pairs is not None:
            found = evaluating.evaluate(model, pairs, output, by or (), task, become)
        elif questions is not None:
            found = evaluating.evaluate_questions(model, questions, output)
        elif corpus is not None:
            found = evaluating.evaluate_words(model, corpus, output, tokens)
    emit(json, {"output": str(output), **found.to_json()}, evaluation_view(found, output))


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
    told = {old.strip(): new.strip() for old, _, new in parts}
    if len(told) < len(parts):
        twice = next(old.strip() for old, *_ in parts if [one.strip() for one, *_ in parts].count(old.strip()) > 1)
        raise UsageError(f"--map must name each class or label once; {twice} is there more than once. Leave one out.")
    return told
