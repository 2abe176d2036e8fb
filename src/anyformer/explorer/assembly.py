"""The HTML around the data: a script and a style sheet that a strict policy names by their digests."""

import base64
import hashlib
import html
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from anyformer.explorer.island import as_json

ASSET = "asset"


@dataclass(frozen=True)
class PageKind:
    """Which script and style sheet a page has, and why it needs JavaScript."""

    name: str
    needs: str


EXPLORER: Final = PageKind("explorer", "This page computes with the network's weights, and needs JavaScript.")
CONTEXTS: Final = PageKind("contexts", "This page draws what was measured, and needs JavaScript.")


def asset(name: str) -> str:
    """A file that was built from `web/`, as text."""
    return (files("anyformer.explorer") / ASSET / name).read_text(encoding="utf-8")


def assembled(title: str, data: dict[str, Any], kind: PageKind = EXPLORER) -> str:
    """The whole page."""
    script, style = asset(f"{kind.name}.js"), asset(f"{kind.name}.css")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        f"base-uri 'none'; form-action 'none'"
    )
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{html.escape(title)}</title>\n"
        f"<style>{style}</style>\n</head>\n<body>\n"
        f'<main id="page"><noscript>{html.escape(kind.needs, quote=False)}</noscript></main>\n'
        f'<script type="application/json" id="data">{as_json(data)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
