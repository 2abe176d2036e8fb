"""Values as small tables in a notebook. Everything is escaped: names in model files are other people's."""

import html
from collections.abc import Mapping


def as_table(title: str, facts: Mapping[str, object]) -> str:
    """An HTML table with a caption and a row a fact.

    >>> as_table("a < b", {"layers": 3})
    '<table><caption>a &lt; b</caption><tr><th>layers</th><td>3</td></tr></table>'
    """
    rows = "".join(f"<tr><th>{_text(name)}</th><td>{_text(fact)}</td></tr>" for name, fact in facts.items())
    return f"<table><caption>{_text(title)}</caption>{rows}</table>"


def _text(value: object) -> str:
    """A number to six digits, a whole number with its thousands apart, anything else as its text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))
