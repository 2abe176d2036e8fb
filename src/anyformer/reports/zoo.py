"""The zoo, as data and as text."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from anyformer.labels import FILE
from anyformer.reports.terminal import count, error_size, facts, paragraph, table
from anyformer.targets.target import Symmetry
from anyformer.zoo.loading import Specimen
from anyformer.zoo.recipe import Recipe


def zoo_data(recipes: Sequence[Recipe]) -> dict[str, Any]:
    """The recipes as a JSON object."""
    return {"models": [_entry(recipe) for recipe in recipes]}


def _entry(recipe: Recipe) -> dict[str, Any]:
    target = recipe.target()
    return {
        "name": recipe.name,
        "description": recipe.description,
        "target": target.name,
        "is_ready_made": recipe.is_ready_made,
        "symmetry": "equivariant" if target.symmetry is Symmetry.EQUIVARIANT else "positional",
        "tokens": recipe.tokens,
        "width": recipe.width,
        "tolerance": recipe.tolerance,
        "p": "inf" if recipe.p == float("inf") else recipe.p,
        "method": recipe.method,
        "pattern": recipe.pattern,
        "dtypes": list(recipe.dtypes),
    }


def zoo_view(recipes: Sequence[Recipe]) -> RenderableType:
    """The recipes as a table."""
    rows = [
        (
            recipe.name,
            f"{recipe.tokens}×{recipe.width}",
            f"{recipe.tolerance:g}",
            ", ".join(dtype.removeprefix("float") for dtype in recipe.dtypes),
            recipe.description,
        )
        for recipe in recipes
    ]
    columns = ("model", "size", "ε", "bits", "what it is")
    listed = table(columns, rows, wrapping=("what it is",), right=("size", "ε"))
    note = (
        f"{count(len(recipes))} models. Size: tokens × width. Bits: the types in which ε is proved, in the sup norm; "
        f"in L² for those by averaging and by shifts. `anyformer zoo get NAME -o DIR` proves one and writes it."
    )
    return Group(listed, Text(), paragraph(note))


def got_data(found: Specimen, place: str) -> dict[str, Any]:
    """A model that was written, as a JSON object."""
    certificate, network = found.model.certificate, found.model.network
    return {
        **_entry(found.recipe),
        "dtype": network.dtype.name,
        "verdict": found.verification.verdict.name.lower(),
        "certified_error": certificate.certified_error,
        "layers": network.layer_count,
        "parameters": network.parameter_count,
        "built": found.is_new,
        "output": place,
        "labels": FILE,
        "verify_target": found.recipe.target_option,
    }


def got_view(found: Specimen, place: str) -> RenderableType:
    """The same as text."""
    certificate, network = found.model.certificate, found.model.network
    source = "built just now" if found.is_new else "from the cache, proved again"
    option = found.recipe.target_option
    again = f"anyformer verify {place}" + ("" if option is None else f" --target {option}")
    return facts(
        [
            ("model", f"{found.recipe.name}, {source}"),
            ("verdict", found.verification.verdict.value),
            ("error at most", f"{error_size(certificate.certified_error)} in L^{certificate.p:g}"),
            (
                "size",
                f"{count(network.layer_count)} layers, {count(network.parameter_count)} parameters, {network.dtype}",
            ),
            ("written to", f"{place}, with {FILE}"),
            ("verify again", again),
        ]
    )
