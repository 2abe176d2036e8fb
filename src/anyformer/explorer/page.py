"""A finished page: its HTML, on a disk or in a notebook."""

import html
from dataclasses import dataclass, field
from pathlib import Path

from anyformer.atomic import write_text
from anyformer.errors import ExplorerError


def check_place(place: Path, overwrite: bool) -> None:
    """Refuse a place that a page cannot be written to, before anything is computed for it."""
    if place.is_dir():
        raise ExplorerError(f"a page must be written to a file; {place} is a folder. Name a file in it.")
    if place.exists() and not overwrite:
        raise ExplorerError(f"{place} must be a new file; it is there already. Pass overwrite to replace it.")
    if not place.parent.is_dir():
        raise ExplorerError(f"the folder of {place} must exist; it does not. Make it, or choose another place.")


@dataclass(frozen=True)
class Page:
    """One HTML file that needs nothing else: no network, no server, no other file."""

    title: str
    html: str = field(repr=False)

    def save(self, path: str | Path, overwrite: bool = False) -> Path:
        """Write the page, all or nothing. A file that is there already is replaced only with `overwrite`."""
        place = Path(path)
        check_place(place, overwrite)
        write_text(place, self.html)
        return place

    def _repr_html_(self) -> str:
        # In a frame of its own: neither the notebook's styles nor its scripts meet the page's.
        return (
            f'<iframe title="{html.escape(self.title, quote=True)}" sandbox="allow-scripts" width="100%" height="800" '
            f'style="border: 0" srcdoc="{html.escape(self.html, quote=True)}"></iframe>'
        )
