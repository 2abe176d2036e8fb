"""The stages of a network or of a plan, as rows of a table."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from rich.console import RenderableType

from anyformer.networks.roles import Role
from anyformer.reports.terminal import count, table

KINDS: Final[Mapping[str, str]] = MappingProxyType({"attention": "attention", "feed_forward": "feed-forward"})


def stage_row(name: str, role: Role, kind: str, layers: int) -> tuple[str, str, str, str]:
    """A stage: its name, kind and layers, and what it is for."""
    return name, KINDS[kind], count(layers), role.value


def stage_table(rows: Sequence[tuple[str, str, str, str]]) -> RenderableType:
    """All stages, one a line."""
    return table(("stage", "kind", "layers", "what it does"), rows, wrapping=("what it does",), right=("layers",))
