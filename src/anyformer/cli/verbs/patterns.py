"""`pattern list`, `check`, `design` and `draw`: which tokens may attend to which, and is that universal?"""

from pathlib import Path
from typing import Annotated

import typer

from anyformer.cli.failures import CHECK_FAILED
from anyformer.cli.output import Json, emit

app = typer.Typer(help="Sparsity patterns: the catalogue, the universality checker, pictures.", no_args_is_help=True)

Name = Annotated[
    str,
    typer.Argument(
        metavar="PATTERN",
        help="A pattern of the catalogue, with options, or a combination: strided, strided:stride=4, "
        "'causal(union(ring, star))'; or a .json file, or JSON.",
    ),
]
Tokens = Annotated[int | None, typer.Option(help="The length of the sequences; JSON of one length needs none.")]


@app.command("list")
def list_patterns(json: Json = False) -> None:
    """List the catalogue."""
    from anyformer.reports.patterns import catalogue_data, catalogue_view

    emit(json, catalogue_data(), catalogue_view())


@app.command()
def check(
    name: Name,
    tokens: Tokens = None,
    layers: Annotated[int, typer.Option(help="In how many layers messages cross, for the capacity.")] = 2,
    seconds: Annotated[float, typer.Option(help="How long the solver may look for a path.")] = 10.0,
    json: Json = False,
) -> None:
    """Is a Transformer with this pattern a universal approximator? Exit code 0 only if a theorem shows it.

    Causal patterns are asked about causal functions. The capacity says how many messages cross between halves.
    """
    from anyformer.patterns import capacity, check_universality, read_pattern
    from anyformer.reports.patterns import described, universality_data, universality_view

    pattern = read_pattern(name)
    report, carried = check_universality(pattern, tokens, seconds), capacity(pattern, layers, tokens)
    emit(json, {**universality_data(report, carried), **described(pattern)}, universality_view(report, carried))
    if not (report.is_universal or report.is_causally_universal):
        raise typer.Exit(CHECK_FAILED)


@app.command("design")
def design_pattern(
    tokens: Annotated[int, typer.Option(help="The length of the sequences.")],
    layers: Annotated[int, typer.Option(help="All tokens are mixed, and messages cross, in so many layers.")] = 2,
    capacity: Annotated[int, typer.Option(help="How many messages cross between halves, at least.")] = 0,
    causal: Annotated[bool, typer.Option("--causal", help="No token sees a later one.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="A picture: .svg, .png or .pdf.")
    ] = None,
    json: Json = False,
) -> None:
    """Find the cheapest universal pattern that carries enough, by the pairs that a layer executes."""
    from anyformer.patterns import design, draw_design
    from anyformer.reports.patterns import design_view

    found = design(tokens, layers, capacity, causal)
    place = None if output is None else draw_design(found, output)
    emit(json, {**found.to_json(), "output": place and str(place)}, design_view(found))


@app.command()
def draw(
    name: Name,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="A picture: .svg, .png or .pdf.")],
    tokens: Tokens = None,
    json: Json = False,
) -> None:
    """Draw which token sees which in each layer, after how many hops, and the path γ."""
    from anyformer.patterns import SparsityPattern, in_short, read_pattern
    from anyformer.patterns import draw as draw_pattern
    from anyformer.reports.patterns import described
    from anyformer.reports.terminal import paragraph

    pattern = read_pattern(name)
    place = draw_pattern(pattern, output, tokens)
    drawn = pattern.tokens if isinstance(pattern, SparsityPattern) else tokens
    data = {"pattern": in_short(pattern), "tokens": drawn, "output": str(place), **described(pattern)}
    emit(json, data, paragraph(f"drawn to {place}"))
