"""`zoo list` and `zoo get`: models with a proof, and labels for all their parts."""

from pathlib import Path
from typing import Annotated

import typer

from anyformer.cli.output import Json, at_work, emit

app = typer.Typer(help="Proved models with labels: what every head, channel and unit computes.", no_args_is_help=True)


@app.command("list")
def list_models(json: Json = False) -> None:
    """List the models of the zoo."""
    from anyformer.reports.zoo import zoo_data, zoo_view
    from anyformer.zoo import recipes

    emit(json, zoo_data(recipes()), zoo_view(recipes()))


@app.command()
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A model of `anyformer zoo list`.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The folder for the model and its labels.json.")
    ],
    dtype: Annotated[
        str | None, typer.Option(metavar="TYPE", help="float32, if the model is offered in it; float64 without.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model that is there.")] = False,
    json: Json = False,
) -> None:
    """Build a model, or take it from the cache; prove it, and write it with its labels."""
    from anyformer.reports.zoo import got_data, got_view
    from anyformer.zoo import get as get_model

    with at_work("planning") as work:
        found = get_model(name, output, dtype, overwrite=overwrite, progress=work)
    emit(json, got_data(found, str(output)), got_view(found, str(output)))
