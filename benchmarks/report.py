"""RESULTS.md from the results of all benchmarks: a file a section, so that running one again changes only its own."""

from importlib import import_module
from types import ModuleType
from typing import Any

from benchmarks.results import Size, load

BENCHMARKS = {
    "engine": "The engine against its peers, skipping off",
    "verification": "Verification with and without skipping",
    "training": "Time to certified ε against training",
    "growth": "Growth",
    "mixers": "Mixers against self-attention",
}
HEAD = """# Results

Made by `make bench` (`python -m benchmarks all`); every section by the command that it names. Programs that are
compared were timed round-robin in one process on two threads; set-up and compilation are apart. Claims are in bold.
"""


def write(size: Size) -> None:
    """Render what there is."""
    sections = [HEAD]
    for name, title in BENCHMARKS.items():
        numbers = load(name, size)
        body = "Not run yet." if numbers is None else f"{_where(numbers)}\n\n{module(name).render(numbers)}"
        flag = " --quick" if size is Size.QUICK else ""
        sections.append(f"## {title}\n\n`python -m benchmarks {name}{flag}`\n\n{body}\n")
    size.report.parent.mkdir(parents=True, exist_ok=True)
    size.report.write_text("\n".join(sections))


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
