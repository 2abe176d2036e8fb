"""`explore`: a model folder as one page for a browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyformer.cli.output import Json, at_work, emit
from anyformer.cli.verbs.models import Folder, named_target

if TYPE_CHECKING:
    from anyformer.certificates.claims.certificate import Certificate
    from anyformer.targets import Target


def explore(
    folder: Folder,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PAGE", help="The HTML file to write.")],
    target: Annotated[
        str | None, typer.Option(metavar="PLACE:FUNCTION", help="The function, if the target is not a ready-made one.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it is there.")] = False,
    json: Json = False,
) -> None:
    """Write one self-contained page: drag the input's tokens and watch the proof at work, in any browser."""
    from anyformer.explorer import explore as page_of
    from anyformer.explorer.page import check_place
    from anyformer.model import load
    from anyformer.reports.terminal import paragraph

    check_place(output, overwrite)
    model = load(folder)
    with at_work("gathering"):
        page = page_of(model.network, model.certificate, _target(model.certificate, target))
    place, size = page.save(output, overwrite), len(page.html.encode())
    emit(json, {"output": str(place), "bytes": size}, paragraph(f"{size / 1000:,.0f} kB written to {place}"))


def _target(certificate: "Certificate", spec: str | None) -> "Target | None":
    """The function to show beside the network. The page of a table can do without one; a program's steps need it."""
    is_table = certificate.grid is not None
    if spec is None and is_table and not certificate.target.is_ready_made:
        return None
    return named_target(certificate, spec)
