"""Mixers from outside: the page's own file, installed packages, and a catalogue that forgets them after a test."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anyformer.cli.plugins import SHIPPED_MIXERS
from anyformer.mixers import CATALOGUE

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how_to" / "own_mixer.md"
FNET = re.search(r"^```python\n(# fnet\.py\n.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)[1]
"""The 20 lines of the page."""
SCALED = FNET.replace('    """FNet\'s mixing."""\n', '    """FNet\'s mixing."""\n    scale: float = 1.0\n').replace(
    "return FourierMixing()", "built = FourierMixing()\n        built.scale = self.scale\n        return built"
)
"""The same with a field, so that a config has something to keep."""


@contextmanager
def only_shipped() -> Iterator[None]:
    """Names that were registered before are unknown within, and those registered within are unknown afterwards."""
    table = CATALOGUE.constructors.registered
    before = dict(table)
    for name in before.keys() - set(SHIPPED_MIXERS):
        del table[name]
    try:
        yield
    finally:
        table.clear()
        table.update(before)


def bring(source: str = FNET) -> type:
    """Run a file's text, as importing it would, and give its FNet."""
    names: dict[str, object] = {"__name__": "brought_along"}
    exec(source, names)
    return names["FNet"]


def install(
    place: Path, package: str = "fnet-package", points: str = "fnet = fnet_module:FNet", **modules: str
) -> Path:
    """What pip leaves behind for a package that announces mixers, in a folder for the search path."""
    metadata = place / f"{package.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[anyformer.mixers]\n{points}\n")
    for name, source in modules.items():
        (place / f"{name}.py").write_text(source)
    return place
