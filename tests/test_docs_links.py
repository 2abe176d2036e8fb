"""Documents point at what is there (links, files and folders in backticks, the README's tree), and prose is wrapped."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "anyformer"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])
# These say where things are, so folders in backticks are folders of the project. Elsewhere they may be a run's output.
MAPS = ("ARCHITECTURE.md", "CONTRIBUTING.md")
# History names what has gone since.
HISTORY = "CHANGELOG.md"
WIDEST = 120

LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`([\w./-]+\.py)`")
FOLDER = re.compile(r"`([\w./-]+/)`")
TREE_ENTRY = re.compile(r"^      (\S+)  ", re.MULTILINE)


def dead_links(text: str, folder: Path) -> set[str]:
    """Relative links that lead nowhere, seen from the folder of the document."""
    links = {link.partition("#")[0] for link in LINK.findall(FENCED.sub("", text)) if "://" not in link}
    return {link for link in links if link and not (folder / link).exists()}


def is_there(name: str) -> bool:
    """Whether a path of the project, or of the package from any of its folders on, reads so."""
    return (
        (ROOT / name).exists() or (PACKAGE / name).exists() or next(PACKAGE.rglob(name.rstrip("/")), None) is not None
    )


def unknown_names(text: str, name: re.Pattern[str]) -> set[str]:
    """Files or folders in backticks that are not there."""
    return {found for found in name.findall(FENCED.sub("", text)) if not is_there(found)}


def tree_of(readme: str) -> set[str]:
    """The entries of the README's tree."""
    return set(TREE_ENTRY.findall(readme.partition("    src/anyformer/\n")[2].partition("\n\n")[0]))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(document):
    assert dead_links(document.read_text(), document.parent) == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_in_backticks_are_there(document):
    if document.name != HISTORY:
        assert unknown_names(document.read_text(), FILE) == set()


@pytest.mark.parametrize("name", MAPS)
def test_folders_in_backticks_are_there(name):
    assert unknown_names((ROOT / name).read_text(), FOLDER) == set()


def test_the_tree_in_the_readme_is_that_of_the_package():
    entries = tree_of((ROOT / "README.md").read_text())
    assert {entry for entry in entries if not (PACKAGE / entry).exists()} == set()
    folders = {path.parent.name + "/" for path in PACKAGE.glob("*/__init__.py")} - {"strict_json/"}
    assert folders <= entries


def too_wide(text: str) -> list[str]:
    """Lines of prose beyond the width: tables and code may be wider."""
    lines = FENCED.sub("", text).splitlines()
    return [line for line in lines if len(line) > WIDEST and not line.startswith(("|", "    "))]


@pytest.mark.parametrize("document", [ROOT / "README.md", *(ROOT / name for name in MAPS), *ROOT.glob("docs/**/*.md")])
def test_prose_is_wrapped(document):
    assert too_wide(document.read_text()) == []


def test_these_tests_can_fail():
    text = "[a](docs/glossary.md) [b](docs/nothing.md#part) [c](https://example.org/nothing.md) [d](#here)"
    assert dead_links(text, ROOT) == {"docs/nothing.md"}
    assert dead_links("[a](docs/glossary.md)", ROOT / "docs") == {"docs/glossary.md"}
    assert unknown_names("`networks/runs.py` `methods/averaging.py` `construction/averaging.py`", FILE) == {
        "construction/averaging.py"
    }
    assert unknown_names("`families/` `tests/hunt/` `construction/families/`", FOLDER) == {"construction/families/"}
    assert unknown_names("```\n`nothing.py`\n```", FILE) == set()
    assert tree_of(
        "text\n\n    src/anyformer/\n      errors.py   every\n                  one\n      cli/   x\n\n    y"
    ) == {
        "errors.py",
        "cli/",
    }
    wide = "word " * 30
    assert too_wide(f"{wide}\n- {wide}\n| {wide} |\n    {wide}\n```\n{wide}\n```\nshort") == [wide, f"- {wide}"]
