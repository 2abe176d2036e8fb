"""The script and the style sheet are the build of the sources in `web/`."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from anyformer.explorer.assembly import asset

WEB = Path(__file__).parents[2] / "web"
PAGES = ("explorer", "contexts")
BUILT = (*(f"{page}.{kind}" for page in PAGES for kind in ("js", "css")), "sources.sha256")


def digest_of(folder):
    """As web/build.mjs computes it."""
    names = [
        "package.json",
        "build.mjs",
        *(f"src/{name}" for name in sorted(path.name for path in (folder / "src").iterdir())),
    ]
    digest = hashlib.sha256()
    for name in names:
        digest.update(name.encode() + b"\0" + (folder / name).read_bytes() + b"\0")
    return digest.hexdigest()


def test_the_asset_was_built_from_these_sources():
    assert asset("sources.sha256").strip() == digest_of(WEB), "run `npm ci && npm run build` in web/"


def test_the_test_of_sources_can_fail(tmp_path):
    copy = shutil.copytree(WEB, tmp_path / "web", ignore=shutil.ignore_patterns("node_modules"))
    assert digest_of(copy) == digest_of(WEB)
    with (copy / "src" / "main.ts").open("a") as file:
        file.write("\n")
    assert digest_of(copy) != digest_of(WEB)


@pytest.mark.parametrize("page", PAGES)
def test_the_asset_is_small_and_asks_for_nothing(page):
    script, style = asset(f"{page}.js"), asset(f"{page}.css")
    assert len(script.encode()) + len(style.encode()) < 120_000
    for word in ("fetch(", "XMLHttpRequest", "eval(", "innerHTML", "import(", "http://localhost", "@import", "url("):
        assert word not in script + style, word
    assert "</script" not in script
    assert "</style" not in style


@pytest.mark.slow
def test_building_the_sources_gives_the_asset(tmp_path):
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("needs Node to build the asset again; its sources were compared by their digest")
    web = shutil.copytree(WEB, tmp_path / "web", ignore=shutil.ignore_patterns("node_modules"))
    wanted = [npm, "ci", "--ignore-scripts", "--no-fund", "--no-audit"]
    installed = subprocess.run(wanted, cwd=web, capture_output=True, text=True)
    if installed.returncode != 0:
        pytest.skip(f"npm could not install esbuild, so the asset is not built again: {installed.stderr[-300:]}")
    out = tmp_path / "out"
    subprocess.run([npm, "run", "types"], cwd=web, check=True, capture_output=True)
    subprocess.run(["node", "build.mjs", str(out)], cwd=web, check=True, capture_output=True)
    for name in BUILT:
        assert (out / name).read_text(encoding="utf-8") == asset(name), f"{name}: run `npm run build` in web/"
