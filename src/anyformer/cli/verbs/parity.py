"""`parity`: the same inputs through every runtime, in every type."""

from typing import Annotated

import typer

from anyformer.cli.failures import CHECK_FAILED
from anyformer.cli.output import Json, at_work, emit
from anyformer.cli.verbs.models import Folder, named_target


def parity(
    folder: Folder,
    target: Annotated[
        str | None, typer.Option(metavar="PLACE:FUNCTION", help="The function, if the target is not a ready-made one.")
    ] = None,
    inputs: Annotated[int, typer.Option(min=2, help="How many random inputs; corners and centres come on top.")] = 256,
    seed: Annotated[int, typer.Option(min=0, help="Of the random inputs.")] = 0,
    measured_only: Annotated[
        bool, typer.Option("--measured-only", help="Do not ask the checker what is proved in each type.")
    ] = False,
    json: Json = False,
) -> None:
    """Compare NumPy, the engine, PyTorch, onnxruntime and JAX. Exit code 1 if the model's own type breaks the bound."""
    from anyformer.model import load
    from anyformer.parity import parity as compare
    from anyformer.reports.parity import parity_data, parity_view

    model = load(folder)
    named = named_target(model.certificate, target)
    with at_work("comparing"):
        found = compare(model, named, inputs=inputs, seed=seed, proofs=not measured_only)
    emit(json, parity_data(found), parity_view(found))
    if not found.holds:
        raise typer.Exit(CHECK_FAILED)
