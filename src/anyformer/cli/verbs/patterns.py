"""`pattern list`, `pattern check` and `pattern draw`: which tokens may attend to which, and is that universal?"""

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
    seconds: Annotated[float, typer.Option(help="How long the solver may look for a path.")] = 10.0,
    json: Json = False,
) -> None:
    """Is a Transformer with this pattern a universal approximator? Exit code 0 only if a theorem shows it."""
    from anyformer.patterns import check_universality, read_pattern
    from anyformer.reports.patterns import described, universality_view

    pattern = read_pattern(name)
    report = check_universality(pattern, tokens, seconds)
    emit(json, {**report.to_json(), **described(pattern)}, universality_view(report))
    if not report.is_universal:
        raise typer.Exit(CHECK_FAILED)


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
