"""`reproduce`: the papers' experiments, trained here."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from anyformer.cli.output import Json, emit, note, speaks
from anyformer.cli.plugins import Plugins, load_plugins
from anyformer.cli.watching import a_run, training_bar
from anyformer.errors import UsageError

Output = Annotated[
    Path, typer.Option("--output", "-o", help="The folder; started again, or several times at once, all go on.")
]
Seeds = Annotated[int | None, typer.Option(min=1, help="How often each model is trained.")]

app = typer.Typer(help="The papers' experiments, trained here.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """The papers' experiments, trained here."""


@app.command()
def mixers(
    output: Output,
    nli: Annotated[
        list[str],
        typer.Option(help="Labelled pairs, as of finetune --pairs; repeatable. Parted by premise and hypothesis."),
    ],
    corpus: Annotated[str | None, typer.Option(help="Text, as of pretrain; else a synthetic language.")] = None,
    held_out: Annotated[
        str | None, typer.Option(help="Text to choose learning rates by; else the end of the corpus.")
    ] = None,
    measured: Annotated[
        str | None, typer.Option(help="Text to measure on in the end; else that of --held-out.")
    ] = None,
    budget: Annotated[str, typer.Option(help="smoke (minutes), hours, days (on two cores) or paper.")] = "smoke",
    mixer: Annotated[
        list[str] | None,
        typer.Option(help="Compare these, each in all layers, instead of the budget's; repeatable, as of pretrain."),
    ] = None,
    seeds: Seeds = None,
    plugin: Plugins = None,
    json: Json = False,
) -> None:
    """Train mixers and hybrids alike on words, then on entailment; tables, intervals and plots, beside baselines."""
    with a_run():
        from anyformer import training
        from anyformer.reports.mixers.report import write_report
        from anyformer.training.comparison import entrants, runs
        from anyformer.training.comparison.budgets import BUDGETS
        from anyformer.training.comparison.entailment import read_entailment

        load_plugins(plugin)
        spent = _asked(BUDGETS, budget, seeds)
        own = zip(mixer or (), training.parse_mixers(mixer or (), spent.recipe.architecture), strict=True)
        compared = entrants.own_entrants(spent, list(own)) or entrants.entrants_of(spent)
        valid, test = (None if one is None else training.open_corpus(one) for one in (held_out, measured))
        pairs = read_entailment(nli, seed=0)
        experiment = runs.begin(spent, compared, training.open_corpus(corpus), (valid, test), pairs, output)
        for job in runs.compare(experiment, training_bar):
            note(f"{job.name}: complete")
        if speaks():
            report = write_report(experiment)
            if left_out := experiment.not_asked_for:
                names = ", ".join(left_out)
                note(f"{output} also has results of {names}, which this report leaves out; name them by --mixer, too.")
            emit(json, report.data, report.view)


@app.command()
def copying(
    output: Output,
    budget: Annotated[str, typer.Option(help="smoke (a minute), hour (on two cores) or paper.")] = "hour",
    seeds: Seeds = None,
    json: Json = False,
) -> None:
    """Train small Transformers to copy over sparsity patterns and depths; tables and plots, with each capacity."""
    with a_run():
        from anyformer.reports.copying.report import write_report
        from anyformer.training.copying.budgets import BUDGETS
        from anyformer.training.copying.runs import copy_all, trials_of

        spent = _asked(BUDGETS, budget, seeds)
        for trial in copy_all(spent, output):
            done = trial.outcome
            assert done is not None
            note(
                f"{trial.entrant.name}, {trial.layers} layers, seed {trial.seed}: {100 * done.symbols:.1f} % of symbols"
                f" after {done.steps} steps"
            )
        left = [trial for trial in trials_of(spent, output) if not trial.folder.is_complete]
        if left:
            _tell_left(json, output, len(left))
        elif speaks():
            report = write_report(spent, output)
            emit(json, report.data, report.view)


@app.command()
def recall(
    output: Output,
    budget: Annotated[str, typer.Option(help="smoke (half a minute), minutes, hour or day (on a core).")] = "hour",
    mixer: Annotated[
        list[str] | None,
        typer.Option(help="Only this mixer: hybrid, or as of pretrain, such as convolution:kernel=9; repeatable."),
    ] = None,
    seeds: Seeds = None,
    json: Json = False,
) -> None:
    """Train small encoders to look values up by content and by place: tables and a plot of which mixers can."""
    with a_run():
        from anyformer.reports.recall.report import write_report
        from anyformer.training.recall.budgets import BUDGETS, chosen_entrants
        from anyformer.training.recall.runs import left, recall_all

        spent = _asked(BUDGETS, budget, seeds)
        spent = replace(spent, asked=chosen_entrants(spent, mixer or ()))
        for trial in recall_all(spent, output):
            done = trial.outcome
            assert done is not None
            shares = ", ".join(f"{100 * share:.1f}" for share in done.test)
            note(f"{trial.title}: {shares} % of queries after {done.steps} steps")
        if unfinished := left(spent, output):
            _tell_left(json, output, unfinished)
        elif speaks():
            report = write_report(spent, output)
            emit(json, report.data, report.view)


@app.command("sparse-lm")
def sparse_lm(
    output: Output,
    corpus: Annotated[str | None, typer.Option(help="Text, as of pretrain; else a synthetic language.")] = None,
    held_out: Annotated[str | None, typer.Option(help="Text to measure on; else the end of the corpus.")] = None,
    budget: Annotated[str, typer.Option(help="smoke (a minute), half-hour or days (on two cores).")] = "half-hour",
    seeds: Seeds = None,
    json: Json = False,
) -> None:
    """Pre-train BERTs with sparser and sparser attention alike; loss against the share of links and against time."""
    with a_run():
        from anyformer import training
        from anyformer.reports.sparse_lm import write_report
        from anyformer.training.sparse_lm import BUDGETS, begin, learn_all, trials_of

        spent = _asked(BUDGETS, budget, seeds)
        other = None if held_out is None else training.open_corpus(held_out)
        text = begin(spent, training.open_corpus(corpus), other, output)
        for trial in learn_all(spent, text, output, training_bar):
            note(f"{trial.entrant.name}, seed {trial.seed}: complete")
        left = [trial for trial in trials_of(spent, output) if not trial.folder.is_complete]
        if left:
            _tell_left(json, output, len(left))
        elif speaks():
            report = write_report(spent, text, output)
            emit(json, report.data, report.view)


def _asked(budgets: Mapping[str, Any], name: str, seeds: int | None) -> Any:
    """The budget of this name, with as many seeds as are asked for."""
    if name not in budgets:
        raise UsageError(f"--budget must be one of {', '.join(budgets)}; got {name!r}.")
    return budgets[name] if seeds is None else replace(budgets[name], seeds=seeds)


def _tell_left(json: bool, output: Path, left: int) -> None:
    from anyformer.reports.terminal import paragraph

    text = f"{left} runs are not complete, and others may work on them; started again, this writes the report"
    emit(json, {"output": str(output), "left": left}, paragraph(text))
