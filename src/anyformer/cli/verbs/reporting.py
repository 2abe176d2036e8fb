"""`report`: figures of a model and a short text, for papers and slides."""

from pathlib import Path
from typing import Annotated

import typer

from anyformer.certificates.bounds.effort import ORDINARY
from anyformer.cli.effort import GIGABYTE, HOUR, MaxCells, MaxHours, MaxMemory, effort_of
from anyformer.cli.failures import CHECK_FAILED
from anyformer.cli.output import Json, at_work, emit
from anyformer.cli.verbs.models import Folder, named_target
from anyformer.cli.workforce import Dask, Workers, workforce


def report(
    folder: Folder,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="The folder to write.")],
    target: Annotated[
        str | None,
        typer.Option(metavar="PLACE:FUNCTION", help="The function, if not a ready-made one; without it less is drawn."),
    ] = None,
    one_by_one: Annotated[
        bool, typer.Option("--one-by-one", help="The function takes one sequence, not a batch.")
    ] = False,
    formats: Annotated[str, typer.Option("--format", metavar="A,B,…", help="Of svg, png and pdf.")] = "svg,png",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier report.")] = False,
    workers: Workers = None,
    dask: Dask = None,
    max_cells: MaxCells = ORDINARY.cells,
    max_memory: MaxMemory = ORDINARY.memory / GIGABYTE,
    max_hours: MaxHours = ORDINARY.seconds / HOUR,
    json: Json = False,
) -> None:
    """Verify a model and write figures of it and a short report.md. Exit code 1 if it is refuted or undecided."""
    from anyformer.certificates.checker import Verdict
    from anyformer.model import load
    from anyformer.reports.figures.report import check_place, checked_formats, write_report
    from anyformer.reports.figures.views import report_data, report_view

    kinds = checked_formats(formats.split(","))
    check_place(output, overwrite)
    model = load(folder)
    is_named = target is not None or one_by_one or model.certificate.target.is_ready_made
    named = named_target(model.certificate, target, one_by_one) if is_named else None
    with workforce(workers, dask), at_work("proving") as progress:
        written = write_report(
            model,
            output,
            named,
            formats=kinds,
            overwrite=overwrite,
            effort=effort_of(max_cells, max_memory, max_hours),
            progress=progress,
        )
    emit(json, report_data(written), report_view(written))
    if written.verification is not None and written.verification.verdict is not Verdict.PROVED:
        raise typer.Exit(CHECK_FAILED)
