"""Matplotlib, loaded only when something is drawn, and pictures written in one step or not at all."""

from pathlib import Path
from typing import Any

from anyformer.atomic import atomic_file
from anyformer.extras import require

SUFFIXES = (".svg", ".png", ".pdf")


def require_matplotlib(module: str = "matplotlib.figure") -> Any:
    """A module of Matplotlib, imported when it is needed.

    Raises:
        MissingPackageError: if it is not installed, with the command that installs it.
    """
    return require(module, extra="plots", what="pictures")


def save_picture(figure: Any, place: Path, dots_per_inch: int) -> Path:
    """Write a Matplotlib figure to a file, in one step; the suffix of the file decides the format."""
    with atomic_file(place) as file:
        figure.savefig(file, format=place.suffix.lower()[1:], dpi=dots_per_inch)
    return place
