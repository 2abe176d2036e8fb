"""A real browser, if there is one: pages are opened from files, and whatever they complain of is kept."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anyformer as af

QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


@dataclass
class Opened:
    """A page in the browser, and what it said on its console."""

    page: Any
    complaints: list[str] = field(default_factory=list)

    def run(self, expression: str, given: Any = None) -> Any:
        return self.page.evaluate(expression, given)

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        """What the page's network gives for inputs (batch, tokens, width)."""
        got = self.run("x => anyformer.evaluate(x)", x.reshape(len(x), -1).tolist())
        return np.array(got, dtype=np.float64).reshape(x.shape)


# Of a module, not of the session: while Playwright runs, no other test of this process could start an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install anyformer[browser]")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("needs Debian's chromium: apt-get install chromium")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=program, args=QUIET)
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Open the page of a model: `opened(model, width=390, height=844, color_scheme="dark")`."""
    contexts = []

    def open_page(model: af.Model, width: int = 1000, height: int = 900, **options: Any) -> Opened:
        place = tmp_path / f"{len(contexts)}.html"
        model.explore(place)
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        # Nothing may leave the machine; a page that tries is found out by its complaint.
        context.set_offline(True)
        contexts.append(context)
        found = Opened(context.new_page())
        found.page.on("console", lambda message: found.complaints.append(message.text))
        found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
        found.page.on("dialog", lambda dialog: (found.complaints.append(dialog.message), dialog.dismiss()))
        found.page.goto(place.as_uri())
        return found

    yield open_page
    for context in contexts:
        context.close()
