"""The documentation site: it builds without a warning, its tutorials run, its figures are what their script draws."""

import doctest
import os
import re
import runpy
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[1] / "docs"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.py"))
FIGURES = sorted((DOCS / "figures").glob("*.svg"))
WORDS = re.compile(r"<text[^>]*>([^<]*)</text>|<tspan[^>]*>([^<]*)</tspan>")
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def module_at(place: Path) -> ModuleType:
    """A file of the site that is no part of a package, imported."""
    spec = spec_from_file_location(place.stem, place)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_does_what_it_says(tutorial, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(tutorial), run_name="tutorial")
    assert names["af"]
    assert capsys.readouterr().out


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_asserts_and_can_be_opened_as_a_notebook(tutorial):
    text = tutorial.read_text()
    assert text.count("assert ") >= 5
    assert "#       format_name: percent\n" in text
    assert text.count("# %% [markdown]\n") >= 4


def test_there_are_five_tutorials():
    assert [tutorial.name[0] for tutorial in TUTORIALS] == ["1", "2", "3", "4", "5"]


def listed(page: Path) -> list[str]:
    """What the tables of contents of a page list, seen from the root of the site."""
    found = []
    for block in TOCTREE.findall(page.read_text()):
        lines = [line.strip() for line in block.splitlines() if line.strip() and not line.startswith(":")]
        names = [re.sub(r".*<(.*)>", r"\1", line) for line in lines]
        found += [os.path.relpath(page.parent / name, DOCS) for name in names]
    return found


def test_every_page_is_in_one_table_of_contents():
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in [*DOCS.rglob("*.md"), *TUTORIALS]}
    places = [name for page in DOCS.rglob("*.md") for name in listed(page)]
    assert sorted(places) == sorted(pages - {"index"})


def words_of(svg: str) -> list[str]:
    """The texts of a picture: its title, labels and numbers."""
    return sorted(found for pair in WORDS.findall(svg) for found in pair if found.strip())


@pytest.mark.slow
def test_figures_are_what_the_script_draws(tmp_path):
    pytest.importorskip("matplotlib", reason="drawing needs matplotlib")
    script = module_at(DOCS / "figures" / "draw.py")
    script.draw(tmp_path)
    assert {path.name for path in FIGURES} == {f"{name}.svg" for name in script.FIGURES}
    for figure in FIGURES:
        drawn = words_of((tmp_path / figure.name).read_text())
        assert drawn == words_of(figure.read_text()), f"{figure.name}: run python docs/figures/draw.py"
        assert len(drawn) >= 10


def test_a_figure_shows_the_numbers_of_the_model(tmp_path):
    pytest.importorskip("matplotlib", reason="drawing needs matplotlib")
    script = module_at(DOCS / "figures" / "draw.py")
    script.draw(tmp_path, ["way_of_an_input"])
    drawn = words_of((tmp_path / "way_of_an_input.svg").read_text())
    assert {"10", "22", "13", "0.15", "0.42"} <= set(drawn)
    assert drawn == words_of((DOCS / "figures" / "way_of_an_input.svg").read_text())
    planted = (DOCS / "figures" / "way_of_an_input.svg").read_text().replace(">22<", ">23<")
    assert drawn != words_of(planted)


def sphinx(source: Path, output: Path) -> subprocess.CompletedProcess[str]:
    """Build a site with our settings; warnings are errors."""
    pytest.importorskip("sphinx", reason='the site needs Sphinx: pip install "anyformer[docs]"')
    for package in ("myst_nb", "furo", "jupytext", "torch", "transformers", "onnx", "vnnlib", "transformer_lens"):
        pytest.importorskip(package, reason=f'the site needs {package}: pip install "anyformer[docs]"')
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-n",
        "-q",
        "-c",
        str(DOCS),
        "-d",
        f"{output}.cache",
    ]
    return subprocess.run([*command, str(source), str(output)], capture_output=True, text=True, timeout=800)


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path):
    built = sphinx(DOCS, tmp_path / "site")
    assert built.returncode == 0, built.stderr
    pages = {path.relative_to(DOCS).with_suffix(".html") for path in [*DOCS.rglob("*.md"), *TUTORIALS]}
    assert {page for page in pages if not (tmp_path / "site" / page).is_file()} == set()
    assert 'id="anyformer.construct"' in (tmp_path / "site" / "api" / "spine.html").read_text()
    # Tutorials are shown with what they print.
    assert "the error is at most 0.136514" in (tmp_path / "site" / "tutorials" / "1_the_proof.html").read_text()
    article = (tmp_path / "site" / "article" / "index.html").read_text()
    assert ("<iframe" in article) != ("maps.svg" in article)


@pytest.mark.slow
def test_a_site_with_a_fault_does_not_build(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "index.md").write_text("# A page\n\nWith text.\n")
    assert sphinx(source, tmp_path / "fine").returncode == 0
    (source / "index.md").write_text("# A page\n\nWith a [link](#nowhere) to nowhere.\n")
    broken = sphinx(source, tmp_path / "broken")
    assert broken.returncode != 0
    assert "nowhere" in broken.stderr
    (source / "index.md").write_text("# A page\n\n```{eval-rst}\n.. autofunction:: anyformer.nothing_at_all\n```\n")
    assert sphinx(source, tmp_path / "unknown").returncode != 0


def test_docstrings_are_read_as_text():
    results = doctest.testmod(module_at(DOCS / "docstrings.py"))
    assert results.attempted >= 1
    assert results.failed == 0
