"""`pattern list`, `pattern check` and `pattern draw`: which tokens may attend to which, and is that universal?"""

from pathlib import Path
from typing import Annotated

import typer

from anyformer.cli.failures import CHECK_FAILED
from anyformer.cli.output import Json, emit

app = typer.Typer(help="Sparsity patterns: the catalogue, the universality checker, pictures.", no_args_is_help=True)

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A pattern of the catalogue, with options: strided, strided:stride=4.")
]
Tokens = Annotated[int, typer.Option(help="The length of the sequences.")]


@app.command("list")
def list_patterns(json: Json = False) -> None:
    """List the catalogue."""
    from anyformer.reports.patterns import catalogue_data, catalogue_view

    emit(json, catalogue_data(), catalogue_view())


@app.command()
def check(
    name: Name,
    tokens: Tokens,
    layers: Annotated[int, typer.Option(help="In how many layers messages cross, for the capacity.")] = 2,
    seconds: Annotated[float, typer.Option(help="How long the solver may look for a path.")] = 10.0,
    json: Json = False,
) -> None:
    """Is a Transformer with this pattern a universal approximator? Exit code 0 only if a theorem shows it.

    Causal patterns are asked about causal functions. The capacity says how many messages cross between halves.
    """
    from anyformer.patterns import capacity, check_universality, parse
    from anyformer.reports.patterns import universality_data, universality_view

    family = parse(name)
    report, carried = check_universality(family, tokens, seconds), capacity(family, layers, tokens)
    emit(json, universality_data(report, carried), universality_view(report, carried))
    if not (report.is_universal or report.is_causally_universal):
        raise typer.Exit(CHECK_FAILED)


@app.command()
def draw(
    name: Name,
    tokens: Tokens,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="A picture: .svg, .png or .pdf.")],
    json: Json = False,
) -> None:
    """Draw which token sees which in each layer, after how many hops, and the path γ."""
    from anyformer.patterns import draw as draw_pattern
    from anyformer.patterns import parse
    from anyformer.reports.terminal import paragraph

    place = draw_pattern(parse(name), output, tokens)
    emit(json, {"pattern": name, "tokens": tokens, "output": str(place)}, paragraph(f"drawn to {place}"))
