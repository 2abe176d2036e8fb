"""`reproduce mixers`: the paper's comparison of token mixers, trained here."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from anyformer.cli.output import Json, emit, note, speaks
from anyformer.cli.watching import a_run, training_bar
from anyformer.errors import UsageError

app = typer.Typer(help="The papers' experiments, trained here.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """The papers' experiments, trained here."""


@app.command()
def mixers(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder; started again, or several times at once, all go on.")
    ],
    nli: Annotated[
        list[str],
        typer.Option(help="Labelled pairs, as of finetune --pairs; repeatable. A tenth is held out, by premise."),
    ],
    corpus: Annotated[str | None, typer.Option(help="Text, as of pretrain; else a synthetic language.")] = None,
    held_out: Annotated[str | None, typer.Option(help="Text to measure on; else the end of the corpus.")] = None,
    budget: Annotated[str, typer.Option(help="smoke (minutes), hours, days (on two cores) or paper.")] = "smoke",
    seeds: Annotated[int | None, typer.Option(min=1, help="How often each mixer is trained.")] = None,
    json: Json = False,
) -> None:
    """Train all mixers and hybrids alike on words, then on entailment; write a table and plots beside the paper's."""
    with a_run():
        from anyformer import training
        from anyformer.reports.reproduction import write_report
        from anyformer.reports.terminal import paragraph
        from anyformer.training.reproduction import BUDGETS, prepare_all, reproduce, trials_of

        if budget not in BUDGETS:
            raise UsageError(f"--budget must be one of {', '.join(BUDGETS)}; got {budget!r}.")
        spent = BUDGETS[budget] if seeds is None else replace(BUDGETS[budget], seeds=seeds)
        pairs = training.read_all_pairs(nli)
        other = None if held_out is None else training.open_corpus(held_out)
        materials = prepare_all(spent, training.open_corpus(corpus), other, pairs, output)
        for trial in reproduce(spent, materials, output, training_bar):
            note(f"{trial.entrant.name}, seed {trial.seed}: complete")
        left = [trial for trial in trials_of(spent, output) if not trial.is_complete]
        if left:
            text = (
                f"{len(left)} runs are not complete, and others may work on them; started again, this writes the report"
            )
            emit(json, {"output": str(output), "left": len(left)}, paragraph(text))
            return
        if speaks():
            report = write_report(spent, materials, output)
            emit(json, report.data, report.view)
