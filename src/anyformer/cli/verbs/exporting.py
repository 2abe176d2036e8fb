"""`export`: a model folder in a format of other tools."""

import warnings
from pathlib import Path
from typing import Annotated

import typer

from anyformer.cli.output import Json, at_work, emit, note
from anyformer.cli.verbs.models import Folder
from anyformer.errors import UncertifiedWarning


def export(
    folder: Folder,
    name: Annotated[str, typer.Option("--format", "-f", help="torch, huggingface, onnx, vnnlib or transformer-lens.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file or folder to write.")],
    batch: Annotated[int | None, typer.Option(help="onnx: sequences in a call; any number if not given.")] = None,
    seed: Annotated[int | None, typer.Option(help="vnnlib: which instances; 0 if not given.")] = None,
    instances: Annotated[int | None, typer.Option(help="vnnlib: how many; 20 if not given.")] = None,
    fold_uniform: Annotated[
        bool, typer.Option("--fold-uniform", help="vnnlib: write attention that asks nothing as a constant matrix.")
    ] = False,
    target: Annotated[
        str | None,
        typer.Option(metavar="PLACE:FUNCTION", help="vnnlib, transformer-lens: the function, if not a ready-made one."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what an export wrote there before.")] = False,
    json: Json = False,
) -> None:
    """Take a model away: write it in a format of other tools. A benchmark (vnnlib) is proved again first."""
    from anyformer.exports.formats import named_format, write
    from anyformer.model import load
    from anyformer.reports.terminal import paragraph
    from anyformer.targets import load_function

    chosen = named_format(name)
    model = load(folder)
    function = None if target is None else model.certificate.target.target(load_function(target))
    given = {
        "batch": batch,
        "seed": seed,
        "instances": instances,
        "fold_uniform": fold_uniform or None,
        "target": function,
    }
    options = {option: value for option, value in given.items() if value is not None}
    with at_work("exporting"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UncertifiedWarning)
        place = write(model, output, name, overwrite=overwrite, **options)
    for warning in caught:
        if issubclass(warning.category, UncertifiedWarning):
            note(str(warning.message))
    size = sum(path.stat().st_size for path in (place, *place.rglob("*")) if path.is_file())
    data = {"format": name, "output": str(place), "bytes": size, "dtype": model.network.dtype.name}
    emit(json, data, paragraph(f"{chosen.what} written to {place}"))
