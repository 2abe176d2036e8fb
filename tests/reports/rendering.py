"""Reports as they look on terminals of a given width."""

import io

from rich.console import Console, RenderableType


def render(view: RenderableType, columns: int = 80) -> str:
    stream = io.StringIO()
    Console(file=stream, width=columns, markup=False, emoji=False, highlight=False).print(view, crop=False)
    return stream.getvalue()
