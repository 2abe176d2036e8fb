"""Recipes as TOML files, and mixers as they are written in them and on a command line."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

from anyformer.errors import MixerError, TrainingError, words_of
from anyformer.mixers.catalogue import CATALOGUE, from_json
from anyformer.mixers.fitting import fitting
from anyformer.mixers.mixer import Mixer
from anyformer.training.run.recipe import Architecture, Recipe, Schedule, Text, changed

TABLES = {"architecture": Architecture, "text": Text, "schedule": Schedule}


def read_recipe(place: Path) -> Recipe:
    """A recipe from TOML: `size`, and the tables [architecture], [text] and [schedule] with what differs.

    Raises:
        TrainingError: if it is not TOML, or has an entry that no recipe has.
    """
    try:
        tables = tomllib.loads(place.read_text("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # bad TOML, UTF-8 or numbers; brackets nested too deeply
        raise TrainingError(f"a recipe must be a TOML file; {place} is not: {words_of(error)}.") from error
    start = Recipe.of_size(tables.pop("size", "mini"))
    _known("a recipe", tables, {"size", *TABLES})
    parts = {name: _entries(name, table) for name, table in tables.items()}
    if "mixers" in parts.get("architecture", {}):
        written = parts["architecture"].pop("mixers")
        around = changed(start.architecture, **parts["architecture"])
        parts["architecture"]["mixers"] = parse_mixers(written, around)
    return start.changed(**parts)


def parse_mixers(
    written: Sequence[str | Mapping[str, Any]], architecture: Architecture | None = None
) -> tuple[Mixer, ...]:
    """Mixers as they are written on a command line, or as tables of a recipe.

    >>> parse_mixers(["convolution:kernel=15,filters=8", "average"])
    (Convolution(kernel=15, filters=8), Average())

    Args:
        written: one mixer a layer, or one for all.
        architecture: whose mixers they are: `attention` without `heads` has as many as it has, and so on. Without one,
            such sizes are those of the mixer's class.
    """
    return tuple(_mixer(one, architecture) for one in written)


def _mixer(written: str | Mapping[str, Any], architecture: Architecture | None) -> Mixer:
    if not isinstance(written, str):
        return from_json(written) if architecture is None else fitting(written, architecture.sizes)
    try:
        return CATALOGUE.parse(written) if architecture is None else fitting(written, architecture.sizes)
    except MixerError as error:
        raise TrainingError(
            "mixers must be those of the catalogue, written as convolution:kernel=15,filters=8 or, with a pattern,"
            f" sparse-attention:heads=4,pattern=(longformer:half_width=8,global_tokens=2); got {written!r:.200}:"
            f" {error!s:.1000}"
        ) from error


def _entries(title: str, table: Any) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        raise TrainingError(f"[{title}] must be a table; got {table!r}.")
    types = get_type_hints(TABLES[title])
    _known(f"[{title}]", table, set(types))
    return {name: _typed(title, name, types[name], value) for name, value in table.items()}


def _typed(title: str, name: str, wanted: Any, value: Any) -> Any:
    if name == "mixers":
        entries = [value] if isinstance(value, str | Mapping) else value
        if isinstance(entries, list) and all(isinstance(entry, str | Mapping) for entry in entries):
            return entries
        raise TrainingError(f"mixers must be names or tables; got {value!r}.")
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, bool) != (wanted is bool) or not isinstance(value, wanted):
        expected = getattr(wanted, "__name__", wanted)
        raise TrainingError(f"{name} in [{title}] must be of type {expected}; got {value!r}.")
    return value


def _known(where: str, table: Mapping[str, Any], names: set[str]) -> None:
    unknown = sorted(set(table) - names)
    if unknown:
        raise TrainingError(f"{where} has only {', '.join(sorted(names))}; got {', '.join(unknown)}.")
