"""`targets`, `plan` and `build`: from a name to a certified model."""

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from anyformer.cli.failures import UsageError
from anyformer.cli.options import Options, request_of, takes_options
from anyformer.cli.output import Json, at_work, emit
from anyformer.cli.workforce import workforce
from anyformer.exports.layout import FILES


def targets(json: Json = False) -> None:
    """List the ready-made targets, with which of them depend on the order of their tokens."""
    from anyformer.reports.catalogue import target_entries, targets_data, targets_view

    entries = target_entries()
    emit(json, targets_data(entries), targets_view(entries))


@takes_options
def plan(options: Options, json: Json = False) -> None:
    """Decide every size of a network without building it: layers, bits, bytes, time and where the error goes."""
    from anyformer.construction.planning import plan as plan_network
    from anyformer.reports.plans import plan_data, plan_view

    with workforce(options.workers, options.dask), at_work("planning"):
        made = plan_network(request_of(options))
        data, view = plan_data(made), plan_view(made)  # which runs the function once more, to know the time expected
    emit(json, data, view)


@takes_options
def build(
    options: Options,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The folder to write the model to; nothing is written without."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the folder if it exists.")] = False,
    json: Json = False,
) -> None:
    """Build a Transformer for a target and prove its error. No training."""
    from anyformer.model import fulfil
    from anyformer.reports.models import build_data, build_view

    if output is not None:
        _check_free(output, overwrite)
    start = time.perf_counter()
    with workforce(options.workers, options.dask), at_work("planning") as work:
        model = fulfil(request_of(options), work)
    seconds = time.perf_counter() - start
    place = None if output is None else str(model.save(output, overwrite=overwrite))
    took = {"seconds": seconds, "seconds_by_phase": work.seconds}
    emit(json, {**build_data(model, place), **took}, build_view(model, seconds, work.seconds, place))


def _check_free(folder: Path, overwrite: bool) -> None:
    """Check the folder now, not after an hour of proving."""
    if os.path.lexists(folder) and not overwrite:
        raise UsageError(f"--output must be a new folder; {str(folder)!r} exists. Choose another or add --overwrite.")
    if os.path.islink(folder) or (folder.is_dir() and set(os.listdir(folder)) - set(FILES)):
        raise UsageError(
            f"--overwrite must meet a model's folder; {str(folder)!r} is a link or holds other files. "
            "Choose another place."
        )
    nearest = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    if not nearest.is_dir():
        raise UsageError(f"--output must be a folder; {str(nearest)!r} is a file. Choose another place.")
    if not os.access(nearest, os.W_OK):
        raise UsageError(
            f"--output must be in a place one may write to; {str(nearest)!r} is not. Choose another place."
        )
