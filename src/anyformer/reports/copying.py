"""The copying task as data, as tables beside the paper's finding, and as pictures: by depth, and by capacity."""

import json
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType

from anyformer.atomic import write_text
from anyformer.pictures import (
    AMBER,
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PALE,
    PINK,
    PURPLE,
    SKY,
    SMALL,
    in_house_style,
    new_figure,
    save_picture,
    show_grid,
)
from anyformer.reports.terminal import narrow_table, paragraph
from anyformer.training.copying.budgets import Budget
from anyformer.training.copying.carrying import carried, share_of_links, within_reach
from anyformer.training.copying.runs import Outcome, Trial, trials_of
from anyformer.training.copying.task import Alphabet

PAPER = {
    "strided": "100 % by 2 to 4 layers",
    "fixed": "100 % by 2 to 4 layers",
    "star": "below 100 %",
    "random": "below 100 %",
}
"""Paper B at |s| = 127 with 1 to 4 layers, from memory: its exact numbers were not at hand."""

KINDS = {
    "dense": (INK, "o"),
    "strided": (BLUE, "s"),
    "strided-off": (SKY, "D"),
    "fixed": (ORANGE, "^"),
    "star": (AMBER, "*"),
    "star-window": (PURPLE, "P"),
    "random": (GREEN, "X"),
    "window": (PINK, "v"),
}
DASHES = {"union": "-", "sequential": "--", "multihead": ":"}


@dataclass(frozen=True)
class Copied:
    """A pattern at a depth: what it could carry, and what the models of all seeds copy."""

    name: str
    layers: int
    links: float
    """The share of all pairs of tokens that a head sees, a mean over layers and heads."""
    within_reach: float
    """The share of symbols that can get to their copy at all; the others can only be guessed."""
    capacity: int
    """How many symbols of the first half can get to the second on routes of their own, wherever they arrive."""
    symbols: tuple[float, ...]
    sequences: tuple[float, ...]
    steps: tuple[int, ...]
    seconds: tuple[float, ...]

    @property
    def kind(self) -> str:
        """The pattern without its arrangement."""
        return self.name.removesuffix("-" + self.arrangement) if self.arrangement else self.name

    @property
    def arrangement(self) -> str:
        """As the last part of the name says it; empty if there is only one."""
        last = self.name.rpartition("-")[2]
        return last if last in DASHES else ""

    @property
    def accuracy(self) -> float:
        """Of symbols, the mean over seeds."""
        return statistics.fmean(self.symbols)


def copied(budget: Budget, place: Path) -> list[Copied]:
    """All complete runs of a folder, gathered by pattern and depth."""
    done = [(trial, outcome) for trial in trials_of(budget, place) if (outcome := trial.outcome) is not None]
    gathered: dict[tuple[str, int], list[tuple[Trial, Outcome]]] = {}
    for trial, outcome in done:
        gathered.setdefault((trial.entrant.name, trial.layers), []).append((trial, outcome))
    return [_copied(budget.alphabet, mine[0][0], [outcome for _, outcome in mine]) for mine in gathered.values()]


def _copied(alphabet: Alphabet, trial: Trial, outcomes: Sequence[Outcome]) -> Copied:
    pattern = trial.entrant.family.at(alphabet.tokens)
    return Copied(
        trial.entrant.name,
        trial.layers,
        share_of_links(pattern, trial.layers),
        within_reach(pattern, trial.layers, alphabet),
        carried(pattern, trial.layers, alphabet),
        tuple(outcome.symbols for outcome in outcomes),
        tuple(outcome.sequences for outcome in outcomes),
        tuple(outcome.steps for outcome in outcomes),
        tuple(outcome.seconds for outcome in outcomes),
    )


def ceiling(one: Copied, symbols: int) -> float:
    """The largest share of symbols that any model can copy on average: the rest is out of reach, and guessed."""
    return one.within_reach + (1 - one.within_reach) / symbols


def markdown_table(made: Sequence[Copied]) -> str:
    """Markdown: the symbols copied (%) by pattern and depth, beside what the paper found."""
    depths = sorted({one.layers for one in made})
    heads = ("pattern", "links (%)", *(f"{depth} layer{'s' * (depth > 1)}" for depth in depths), "paper")
    lines = [heads, ("---",) * len(heads), *(_row(rows, depths) for rows in _by_name(made).values())]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def detail_table(made: Sequence[Copied], symbols: int) -> str:
    """Markdown: what each pattern could carry at each depth, and what its models do."""
    heads = ("pattern", "layers", "capacity", "ceiling (%)", "symbols (%)", "sequences (%)", "steps")
    rows = [
        (
            one.name,
            str(one.layers),
            str(one.capacity),
            f"{100 * ceiling(one, symbols):.1f}",
            _percent(one.symbols),
            _percent(one.sequences),
            ", ".join(f"{steps:,}" for steps in one.steps),
        )
        for one in made
    ]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in (heads, ("---",) * len(heads), *rows))


def _by_name(made: Sequence[Copied]) -> dict[str, dict[int, Copied]]:
    names: dict[str, dict[int, Copied]] = {}
    for one in made:
        names.setdefault(one.name, {})[one.layers] = one
    return names


def _row(rows: Mapping[int, Copied], depths: Sequence[int]) -> tuple[str, ...]:
    deepest = rows[max(rows)]
    cells = (_percent(rows[depth].symbols) if depth in rows else "" for depth in depths)
    return (deepest.name, f"{100 * deepest.links:.0f}", *cells, PAPER.get(deepest.kind, ""))


def _percent(values: Sequence[float]) -> str:
    """The mean, and if seeds differ by more than it shows, each of them.

    >>> _percent([1.0, 1.0]), _percent([0.5, 0.75])
    ('100.0', '62.5 (50.0, 75.0)')
    """
    shown = [f"{100 * value:.1f}" for value in values]
    mean = f"{100 * statistics.fmean(values):.1f}"
    return mean if len(set(shown)) == 1 else f"{mean} ({', '.join(shown)})"


@in_house_style
def draw_depths(made: Sequence[Copied], place: Path) -> Path:
    """Symbols copied against the number of layers, a line for each pattern, a point for each seed."""
    figure = new_figure(3.8)
    panel = figure.subplots()
    for name, rows in _by_name(made).items():
        first = next(iter(rows.values()))
        colour, marker = KINDS[first.kind]
        look = {"color": colour, "marker": marker, "linestyle": DASHES.get(first.arrangement, "-")}
        panel.plot(list(rows), [100 * one.accuracy for one in rows.values()], **look, label=name.replace("-", " "))
        for one in rows.values():
            panel.plot([one.layers] * len(one.symbols), [100 * value for value in one.symbols], ".", color=colour, ms=3)
    panel.set(xlabel="layers", ylabel="symbols copied (%)", ylim=(-3, 103), xticks=sorted({one.layers for one in made}))
    show_grid(panel)
    figure.legend(*panel.get_legend_handles_labels(), loc="outside right upper")
    described = "Share of symbols copied against the number of layers, a line for each sparsity pattern."
    return save_picture(figure, place, title="Copying with sparse attention", description=described)


@in_house_style
def draw_capacity(made: Sequence[Copied], symbols: int, length: int, place: Path) -> Path:
    """Symbols copied against the capacity, all patterns, depths and seeds; hollow if not all symbols are in reach."""
    figure = new_figure(3.8)
    panel = figure.subplots()
    panel.plot([0, length], [0, 100], color=FAINT, linewidth=1.2, zorder=0)
    panel.annotate("one symbol a route", (0.55 * length, 52), color=PALE, fontsize=SMALL, ha="left", va="top")
    for kind in dict.fromkeys(one.kind for one in made):
        mine = [one for one in made if one.kind == kind]
        colour, marker = KINDS[kind]
        for one in mine:
            look = {"color": colour, "marker": marker, "fillstyle": "full" if one.within_reach == 1 else "none"}
            panel.plot([one.capacity] * len(one.symbols), [100 * value for value in one.symbols], linestyle="", **look)
        panel.plot([], [], linestyle="", color=colour, marker=marker, label=kind.replace("-", " "))
    panel.plot([], [], linestyle="", color=PALE, marker="o", fillstyle="none", label="not all in reach")
    panel.axhline(100 / symbols, color=PALE, linewidth=1, linestyle=":")
    panel.annotate("guessing", (length, 100 / symbols), fontsize=SMALL, ha="right", va="bottom")
    panel.set(
        xlabel=f"capacity: symbols of {length} with a route of their own", ylabel="symbols copied (%)", ylim=(-3, 103)
    )
    show_grid(panel)
    figure.legend(*panel.get_legend_handles_labels(), loc="outside right upper")
    described = "Share of symbols copied against the capacity of the pattern at that depth, a point for each run."
    return save_picture(figure, place, title="Capacity and copying", description=described)


@dataclass(frozen=True)
class Report:
    """The comparison, as data and as text."""

    data: dict[str, Any]
    view: RenderableType


def write_report(budget: Budget, place: Path) -> Report:
    """Gather all runs into `place/report`: results.json, and from it the tables and the pictures."""
    import torch

    folder = place / "report"
    folder.mkdir(exist_ok=True)
    data = {
        "experiment": "copying",
        "budget": {**budget.to_json(), "seeds": budget.seeds},
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "outcomes": [asdict(one) for one in copied(budget, place)],
    }
    write_text(folder / "results.json", json.dumps(data, indent=1) + "\n")
    made = show_results(data, folder)
    rows = [_row(rows, budget.depths)[:-1] for rows in _by_name(made).values()]
    heads = ("pattern", "links\n(%)", *(f"{depth} layer{'s' * (depth > 1)}" for depth in budget.depths))
    return Report(data, Group(narrow_table(heads, rows), paragraph(f"symbols copied, in %; written to {folder}")))


def show_results(data: Mapping[str, Any], folder: Path) -> list[Copied]:
    """The tables and pictures of what results.json holds."""
    made = [Copied(**{name: frozen(value) for name, value in outcome.items()}) for outcome in data["outcomes"]]
    alphabet = Alphabet(**data["budget"]["alphabet"])
    write_text(folder / "table.md", markdown_table(made))
    write_text(folder / "details.md", detail_table(made, alphabet.symbols))
    draw_depths(made, folder / "depths.png")
    draw_capacity(made, alphabet.symbols, alphabet.length, folder / "capacity.png")
    return made


def frozen(value: Any) -> Any:
    """What a file has as lists, as tuples."""
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value
