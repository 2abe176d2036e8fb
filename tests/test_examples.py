"""Every example in the package's docstrings runs and shows what it says."""

import doctest
import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

import anyformer as af

PACKAGE = Path(af.__file__).parent
PROMPT = re.compile(r"^\s*>>> ", re.MULTILINE)
# What every example may use without importing it.
NAMES = {"af": af, "targets": af.targets}


def name_of(path: Path) -> str:
    """The module in a file of the package."""
    return ".".join(["anyformer", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")


EXAMPLES = {name_of(path): len(PROMPT.findall(path.read_text())) for path in sorted(PACKAGE.rglob("*.py"))}
MODULES = [name for name, count in EXAMPLES.items() if count]


def imported(name: str) -> ModuleType:
    """A module of the package, or a skip where an optional extra that it needs is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if (missing.name or "anyformer").startswith("anyformer"):
            raise
        pytest.skip(f"{name} needs more: {missing}")


def ran(module: ModuleType) -> doctest.TestResults:
    return doctest.testmod(module, extraglobs=NAMES)


@pytest.mark.parametrize("name", MODULES)
def test_examples_show_what_happens(name):
    results = ran(imported(name))
    assert results.failed == 0
    # An example in a place that doctest does not look at would never be seen to fail.
    assert results.attempted == EXAMPLES[name]


def test_there_are_examples_to_run():
    assert EXAMPLES["anyformer"] > 0
    assert sum(EXAMPLES.values()) > 100


@pytest.mark.parametrize(
    ("example", "failed"),
    [
        *((">>> 1 + 1\n2\n", 0), (">>> targets.sort(tokens=2).tokens\n2\n", 0)),
        *((">>> 1 + 1\n3\n", 1), (">>> 1 + 1\n", 1), (">>> nobody\n2\n", 1)),
    ],
)
def test_a_wrong_example_is_seen(example, failed):
    planted = ModuleType("planted", example)
    assert ran(planted) == (failed, 1)


def test_a_module_that_is_not_there_is_no_missing_extra():
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        imported("anyformer.nowhere")
