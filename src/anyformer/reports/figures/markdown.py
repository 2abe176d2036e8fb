"""Text in Markdown: what comes from a model's files is shown as it is, and never becomes a link, a picture or HTML."""

import re
from collections.abc import Iterable, Sequence

from anyformer.reports.terminal import visible

# Everything that begins something in CommonMark, in GitHub's tables and formulas, and in HTML.
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+.!|~$@:^=-])")


def text(value: object, most: int = 200) -> str:
    r"""Plain text, up to so many letters: control characters written out, and every mark escaped.

    >>> print(text("<b>[a](b)"))
    &lt;b&gt;\[a\]\(b\)
    """
    whole = visible(value)
    shown = _without_tags(whole if len(whole) <= most else whole[: most - 1] + "…")
    return _SPECIAL.sub(r"\\\1", shown)


def prose(value: object) -> str:
    """A sentence of our own into which a name from a file may have come: escaped where it could do harm.

    Full stops and brackets stay readable in the source; brackets are harmless without the square ones before them.
    """
    shown = _without_tags(visible(value))
    return re.sub(r"([\\`*_{}\[\]#!|~$@^])", r"\\\1", shown).replace("://", "\\://").replace("www.", "www\\.")


def _without_tags(shown: str) -> str:
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows of two or more cells that are Markdown already; the first is the head."""
    head, *others = list(rows)
    lines = [head, ["---"] * len(head), *others]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
