"""`context`: does a model map contexts apart?"""

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyformer.cli.output import Json, at_work, emit
from anyformer.cli.plugins import Plugins, load_plugins
from anyformer.errors import UsageError

if TYPE_CHECKING:
    from anyformer.contextuality.layers import Layered
    from anyformer.model import Model


def context(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A model folder of this package, a Hugging Face folder or name, an .onnx file, or "
            "path/to/file.py:function.",
        ),
    ],
    text: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A text a line: .txt, .xz, .gz, a folder, or hub:NAME. Not for own models."),
    ] = None,
    sequences: Annotated[int, typer.Option(min=2, help="The most texts, from the first.")] = 2000,
    tokens: Annotated[int, typer.Option(min=1, help="Texts are cut after so many tokens.")] = 128,
    words: Annotated[int, typer.Option(min=0, help="Texts of fewer words, such as titles, are left out.")] = 0,
    tokenizer: Annotated[
        str | None, typer.Option(metavar="PLACE", help="A tokenizer, if the model brings none: a folder or a file.")
    ] = None,
    layers: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Submodules, or values of an ONNX graph, to be measured.")
    ] = None,
    margin: Annotated[
        float | None, typer.Option(min=0, help="Vectors are apart above it; by default what rounding may do.")
    ] = None,
    equivariant: Annotated[
        bool, typer.Option("--equivariant", help="The model has no positions: permutations are the same context.")
    ] = False,
    witnesses: Annotated[int, typer.Option(min=1, help="How many of the closest pairs are shown, by kind.")] = 8,
    exhaustive: Annotated[
        int | None, typer.Option(min=0, help="Compare all pairs up to so many vectors; above, an index is asked.")
    ] = None,
    changes: Annotated[
        str, typer.Option(metavar="A,B,…", help="How many tokens are changed to see how far vectors move.")
    ] = "1,2,4,8",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PAGE", help="A page with curves and witnesses to write.")
    ] = None,
    figure: Annotated[Path | None, typer.Option(metavar="FILE", help="A picture to write: .svg, .png or .pdf.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the page if it is there.")] = False,
    plugin: Plugins = None,
    seed: Annotated[int, typer.Option(min=0, help="Of everything that is drawn.")] = 0,
    json: Json = False,
) -> None:
    """Measure whether each layer of a model is a contextual mapping: no two contexts share a vector."""
    from anyformer.contextuality import measure_contextual_mapping
    from anyformer.contextuality.pairs import EXHAUSTIVE
    from anyformer.explorer.page import check_place
    from anyformer.reports.contextuality.data import context_data
    from anyformer.reports.contextuality.page import context_page
    from anyformer.reports.contextuality.pictures import check_picture, draw_contexts
    from anyformer.reports.contextuality.view import context_view
    from anyformer.targets.target import Symmetry

    load_plugins(plugin)
    if output is not None:
        check_place(output, overwrite)
    if figure is not None:
        check_picture(figure)
    changed = _whole_numbers(changes)
    chosen = _opened(model, None if layers is None else layers.split(","))
    given = None if text is None else _texts(text, sequences, words)
    with at_work("opening") as work:
        found = measure_contextual_mapping(
            chosen,
            given,
            symmetry=Symmetry.EQUIVARIANT if equivariant else None,
            margin=margin,
            most_tokens=tokens,
            witnesses=witnesses,
            changes=changed,
            exhaustive=EXHAUSTIVE if exhaustive is None else exhaustive,
            tokenizer=None if tokenizer is None else _tokenizer(tokenizer),
            seed=seed,
            progress=work,
        )
    if output is not None:
        context_page(found).save(output, overwrite)
    if figure is not None:
        draw_contexts(found, figure)
    emit(json, context_data(found), context_view(found))


def _opened(model: str, layers: list[str] | None) -> "Layered | Model":
    """The model that is named; a function of a file is loaded as `--target` functions are."""
    from anyformer.contextuality.models import as_layered, opened
    from anyformer.targets import load_function

    if ".py:" in model:
        return as_layered(load_function(model), layers)
    return opened(model, layers)


def _texts(source: str, most: int, words: int) -> list[str]:
    from anyformer.training.data.corpora import open_corpus

    long_enough = (line for line in open_corpus(source).lines() if len(line.split()) >= words)
    found = list(islice(long_enough, most))
    if not found:
        raise UsageError(f"--text must have lines of at least {words} words; {source} has none. Ask for fewer words.")
    return found


def _tokenizer(place: str) -> Any:
    from anyformer.training.data.vocabulary import load_tokenizer

    return load_tokenizer(place)


def _whole_numbers(text: str) -> list[int]:
    try:
        return [int(one) for one in text.split(",") if one.strip()]
    except ValueError:
        raise UsageError(f"--changes must be whole numbers, such as 1,2,4; got {text!r}.") from None
