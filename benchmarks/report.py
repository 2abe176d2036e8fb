"""Pages from the results of all benchmarks: a file a section, so that running one again changes only its own.

RESULTS.md, and in docs/results compiled.md for compiled networks, take_away.md for models in other tools, and
sparse_attention.md.
"""

import textwrap
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.results import Size, load


@dataclass(frozen=True)
class Page:
    """A page with a section for each of its benchmarks, by name and title."""

    head: str
    benchmarks: dict[str, str]
    render: str = "render"
    """The function of a benchmark's module that writes its section."""


RESULTS = Page(
    """# Results

Made by `make bench` (`python -m benchmarks all`); every section by the command that it names. Programs that are
compared were timed round-robin in one process on two threads; set-up and compilation are apart. Claims are in bold.
""",
    {
        "engine": "The engine against its peers, skipping off",
        "verification": "Verification with and without skipping",
        "training": "Time to certified ε against training",
        "growth": "Growth",
        "mixers": "Mixers against self-attention",
        "sparse_attention": "Sparse attention against its peers",
        "sparse_training": "Training with sparse attention",
    },
)
COMPILED = Page(
    """# Compiled networks

What the method `compile` ([how it works](../compile.md)) makes of ready-made targets and of other people's functions,
in the sup norm: every error stated as proved holds for every input of the domain. Made by `make bench`; every section
by the command that it names, on two busy cores.
""",
    {
        "compiled_targets": "Ready-made targets, 3 to 512 tokens",
        "own_functions": "Functions as users write them",
        "compiled_growth": "Growth with 1/ε and with tokens",
        "compile_against_training": "Against training the same architecture",
        "untraceable": "What cannot be compiled",
    },
)
TAKE_AWAY = Page(
    """# Models in other tools

Every model of the [zoo](../zoo.md), in float64 and, where it is offered, in float32: verified, written in every format,
run by every runtime. What outside verifiers say of instances with known verdicts has [a page of its own](verifiers.md).
""",
    {"take_away": "The whole zoo"},
)
SPARSE_ATTENTION = Page(
    """# Sparse attention

What [`sparse_attention`](../sparse.md) costs beside dense attention and other implementations, on five patterns. Made
by `make bench`.
""",
    {"sparse_attention": "Time and memory"},
    render="render_in_full",
)
BENCHMARKS = RESULTS.benchmarks | COMPILED.benchmarks | TAKE_AWAY.benchmarks


def write(size: Size) -> list[Path]:
    """Render what there is; the pages that were written."""
    pages = {
        size.report: RESULTS,
        size.compiled_report: COMPILED,
        size.take_away_report: TAKE_AWAY,
        size.sparse_attention_report: SPARSE_ATTENTION,
    }
    for path, page in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_rendered(page, size))
    return list(pages)


def _rendered(page: Page, size: Size) -> str:
    sections = [page.head]
    for name, title in page.benchmarks.items():
        numbers = load(name, size)
        render = getattr(module(name), page.render) if numbers else None
        body = "Not run yet." if render is None else f"{_where(numbers)}\n\n{render(numbers)}"
        flag = " --quick" if size is Size.QUICK else ""
        sections.append(f"## {title}\n\n`python -m benchmarks {name}{flag}`\n\n{body}\n")
    return "\n".join(_wrapped(section) for section in sections)


def _wrapped(section: str) -> str:
    """Prose in lines of at most 120 characters; tables, code and blank lines stay."""
    lines: list[str] = []
    for line in section.split("\n"):
        is_prose = bool(line) and not line.startswith(("|", "#", "    ", "`python"))
        if not is_prose:
            lines.append(line)
        else:
            goes_on = bool(lines) and lines[-1] != "" and not lines[-1].startswith(("|", "#", "    ", "`python"))
            starts_item = line.startswith("- ")
            before = f"{lines.pop()} " if goes_on and not starts_item else ""
            hanging = "  " if (before or line).lstrip().startswith("- ") else ""
            lines += textwrap.wrap(before + line.strip(), 120, subsequent_indent=hanging, break_on_hyphens=False)
    return "\n".join(lines)


def module(name: str) -> ModuleType:
    """The benchmark, imported when it is needed: some of them bring a whole framework."""
    return import_module(f"benchmarks.{name}")


def _where(numbers: dict[str, Any]) -> str:
    machine = numbers["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"{machine['date']}; {machine['processor']}; {machine['cores']} cores; {', '.join(machine['vectors'])}; "
        f"{machine['memory_gib']:g} GiB; Python {machine['python']}; {versions}."
    )
