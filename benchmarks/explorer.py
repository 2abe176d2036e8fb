"""`python -m benchmarks.explorer`: how long a frame of the explorer page takes in Chromium; `--pictures` for the docs.

Not part of `all`: it needs a browser. A frame is everything between a moved token and the last view that shows it.
"""

import argparse
import io
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import anyformer as af

NAMES = (
    "mean-scale-3",
    "centre-64x3",
    "softmax-3-interpolation",
    "mean-scale-3-averaging",
    "bump-3-averaging",
    "distance-3x2-averaging",
    "softmax-3-selective-shift",
    "sort-4-sparse-averaging",
    "running-maximum-3-sparse-shift",
)
PICTURES = Path(__file__).parents[1] / "docs" / "pictures" / "explorer"
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1000, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1000, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}
FRAMES = 60
# Sixty frames of which each moves one token a little: what dragging does.
DRAG = """async count => {
  const frames = [];
  for (let k = 0; k < count; k++) {
    const before = performance.now();
    document.querySelector('#tokens [role="slider"][tabindex="0"]').dispatchEvent(
      new KeyboardEvent("keydown", { key: k % 2 ? "ArrowDown" : "ArrowUp", bubbles: true }));
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    frames.push([anyformer.frame(), performance.now() - before]);
  }
  return frames;
}"""


def main() -> None:
    """Measure every page, and take its pictures if asked."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", action="store_true", help="write docs/pictures/explorer")
    asked = parser.parse_args()
    program = shutil.which("chromium")
    assert program is not None, "needs Debian's chromium"
    with sync_playwright() as running, tempfile.TemporaryDirectory() as folder:
        browser = running.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        print("model, page kB, frame ms: median, 95 %, largest")
        for name in NAMES:
            place = Path(folder) / f"{name}.html"
            size = len(af.zoo.load(name).explore(place).html.encode()) / 1000
            frames = np.array(_measured(browser, place))[:, 0]
            print(f"{name}, {size:.0f}, {np.median(frames):.1f}, {np.quantile(frames, 0.95):.1f}, {frames.max():.1f}")
            for look in LOOKS if asked.pictures else ():
                _picture(browser, place, look, PICTURES / f"{name}-{look}.png")


def _opened(browser: Any, place: Path, options: dict[str, Any]) -> Any:
    page = browser.new_context(**options).new_page()
    page.goto(place.as_uri())
    page.wait_for_selector('#maps[data-side="48"]', state="attached")
    return page


def _measured(browser: Any, place: Path) -> Any:
    page = _opened(browser, place, LOOKS["light"])
    found = page.evaluate(DRAG, FRAMES)
    page.context.close()
    return found


def _picture(browser: Any, place: Path, look: str, to: Path) -> None:
    """The whole page, in few colours: files stay small."""
    from PIL import Image

    page = _opened(browser, place, LOOKS[look])
    shot = Image.open(io.BytesIO(page.screenshot(full_page=True)))
    to.parent.mkdir(parents=True, exist_ok=True)
    shot.convert("RGB").quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        to, optimize=True
    )
    page.context.close()


if __name__ == "__main__":
    main()
