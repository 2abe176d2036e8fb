"""Draw the figures of the documentation, all from the package's own numbers: `python docs/figures/draw.py`."""

import sys
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from pathlib import Path

import matplotlib
import matplotlib.patches
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import anyformer as af
from anyformer import patterns
from anyformer.construction.codes.sidon import collision_free_codes
from anyformer.construction.contexts.selective_shifts import SelectiveShifts
from anyformer.construction.grids.lattice import Lattice
from anyformer.networks.roles import Role
from anyformer.reports.programs import program_rows
from anyformer.reports.tracing.trace import trace

TOKENS = ("#1f6fb2", "#d9730d", "#2f8f5b")
INK, QUIET, PALE = "#22272e", "#8a929c", "#e8ebef"
STYLE = {
    # Text stays text: it can be selected, searched and read aloud.
    "svg.fonttype": "none",
    "svg.hashsalt": "anyformer",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def way_of_an_input() -> Figure:
    """One input through a table, from its cells to its values."""
    model = af.construct(af.targets.mean_scale(tokens=3), 0.15, method="averaging")
    walked = trace(model.network, model.certificate, [[0.15], [0.8], [0.4]])
    plan = model.construction.plan
    context = plan.method.context(plan.request, plan.lattice)
    every = [context.ids(np.array([row])) for row in combinations_with_replacement(range(3), 3)]
    inputs = [token for (token,) in walked.input]
    outputs = [token for (token,) in walked.output]
    codes = next(stage.codes for stage in walked.stages if stage.role is Role.CODE)
    rows = [
        ("input", inputs, (0, 1), [k / 3 for k in range(4)], "quantise: which third?"),
        (
            "code",
            codes,
            (0, 12),
            sorted({int(c) * 3 for c in context.codes.codes.ravel()}),
            "recode 0, 1, 2 as 3·{0, 1, 4}",
        ),
        (
            "context id",
            walked.context_ids,
            (0, 36),
            sorted({int(i) for ids in every for i in ids.ravel()}),
            "average: id = code + 2·sum",
        ),
        ("output", outputs, (0, 1), [], "value map: a number for every id"),
    ]
    figure = Figure(figsize=(8.2, 4.9))
    axes = _blank(figure, (-0.26, 1.3), (-3.42, 0.5))
    for row, (name, values, (low, high), marks, what) in enumerate(rows):
        axes.plot([0, 1], [-row, -row], color=QUIET, lw=1.2, zorder=1)
        axes.text(-0.04, -row, name, ha="right", va="center", weight="bold")
        axes.text(1.05, -row, what, ha="left", va="center", color=QUIET, size=8.5, wrap=True)
        for mark in marks:
            place = (mark - low) / (high - low)
            axes.plot([place, place], [-row - 0.06, -row + 0.06], color=QUIET, lw=1.2, zorder=1)
        for token, value in enumerate(values):
            place = (value - low) / (high - low)
            axes.plot(place, -row, "o", color=TOKENS[token], ms=9, zorder=3)
            axes.text(place, -row - 0.2, _short(value), ha="center", va="center", size=9, color=TOKENS[token])
            if row:
                _, before, (least, most), _, _ = rows[row - 1]
                start = (before[token] - least) / (most - least)
                axes.plot([start, place], [-row + 0.66, -row + 0.1], color=TOKENS[token], lw=1.0, alpha=0.45, zorder=2)
    axes.text(
        0,
        0.38,
        "three tokens, three cells each: ticks are cell walls, codes, and all 18 context ids",
        size=9,
        color=QUIET,
    )
    return figure


def selective_shift() -> Figure:
    """Paper A's sweep: who is shifted when, and how far."""
    lattice = Lattice.dyadic(af.targets.mean_scale(tokens=3), 1 / 4)
    codes = np.array([[0, 1, 3]])
    x = [codes[0].astype(float)]
    for level in range(lattice.columns):
        now = x[-1]
        x.append(np.where(np.abs(now - level) < 0.5, now + lattice.columns * (now.max() - now.min()), now))
    ids = SelectiveShifts(lattice).ids(codes)[0]
    gain = SelectiveShifts(lattice).carry
    assert (x[-1] + gain * x[-1].max() == ids).all()
    figure = Figure(figsize=(8.2, 3.9))
    axes = figure.add_axes((0.1, 0.16, 0.86, 0.74))
    steps = np.arange(len(x))
    for token, colour in enumerate(TOKENS):
        line = np.array([state[token] for state in x])
        axes.step(steps, line, where="mid", color=colour, lw=2)
        axes.plot(steps, line, "o", color=colour, ms=5)
        jump = int(np.flatnonzero(np.diff(line))[0]) + 1
        axes.annotate(
            f"token {token}: {line[jump - 1]:g} → {line[jump]:g}",
            (jump, line[jump]),
            (jump - 0.55, line[jump] * 1.2),
            color=colour,
            size=9,
            ha="right",
        )
    axes.set_yscale("symlog", linthresh=4)
    axes.set_yticks([0, 1, 2, 3, 10, 100], ["0", "1", "2", "3", "10", "100"])
    axes.set_ylim(-0.4, 500)
    axes.set_xlim(-0.3, len(x) - 0.1)
    axes.set_xticks(steps, ["codes", *(f"window at {level}" for level in range(lattice.columns))])
    axes.set_ylabel("value, in cells")
    axes.set_title(
        f"4 cells, codes 0, 1, 3: each is shifted once, by 4·(max − min). Ids: {', '.join(f'{i:,}' for i in ids)}",
        size=10,
        loc="left",
    )
    return figure


def sums() -> Figure:
    """Why codes: sums of cell numbers collide, sums of codes do not."""
    figure = Figure(figsize=(8.2, 3.5))
    good = [int(code) for code in collision_free_codes(3, 3)]
    for row, (codes, title) in enumerate((([0, 1, 2], "cell numbers"), (good, "codes"))):
        axes = figure.add_axes((0.06, 0.58 - 0.47 * row, 0.9, 0.3))
        found: dict[int, list[str]] = {}
        for chosen in combinations_with_replacement(range(3), 3):
            found.setdefault(sum(codes[k] for k in chosen), []).append("".join(map(str, chosen)))
        for total, cells in found.items():
            for height, name in enumerate(cells):
                colour = TOKENS[1] if len(cells) > 1 else TOKENS[0]
                axes.plot(total, height, "o", color=colour, ms=8)
                axes.text(total, height + 0.36, name, ha="center", size=8.5, color=colour)
        clash = sum(len(cells) for cells in found.values() if len(cells) > 1)
        axes.set_title(
            f"sums of three {title} {{{', '.join(map(str, codes))}}}: "
            + (f"{clash} of 10 multisets collide" if clash else "ten multisets, ten sums"),
            loc="left",
            size=10,
        )
        axes.set_xlim(-0.5, 12.6)
        axes.set_ylim(-0.4, 2.0)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xticks(range(13))
    return figure


def gate(x):
    """Every token times the logistic function of four times the mean."""
    return x / (1 + np.exp(-4 * x.mean(axis=1, keepdims=True)))


def program() -> Figure:
    """A compiled function as a graph: every step, where it lives, and its proved error."""
    model = af.construct(gate, 1e-4, tokens=64, p=np.inf)
    plan, network, terms = model.construction.plan, model.network, model.certificate.terms
    steps = [row for row in program_rows(plan.program, plan.written.hints) if row["step"]]
    assert [row["step"] for row in steps] == ["v1", "v3", "v4"]
    figure = Figure(figsize=(8.2, 3.6))
    axes = _blank(figure, (0, 10), (0, 4.4))
    _box(axes, (0.1, 1.45), (1.35, 1.1), ["x₀", "a token"], PALE)
    for place, row in zip(((2.2, 2.4), (5.85, 2.4), (5.95, 0.2)), steps, strict=True):
        by = "units" if row["head"] is None else f"head {row['head']}"
        error = terms[f"step_{row['step'][1:]}"]
        lines = [f"{row['step']} = {row['formula']}", f"layer {row['layer']}, {by}", f"proved within {error:.1e}"]
        _box(
            axes,
            place,
            (3.1 if row["step"] == "v1" else 3.9, 1.25),
            lines,
            "#dcebf7" if row["head"] is not None else "#fbe9d7",
        )
    _arrow(axes, (1.45, 2.2), (2.2, 2.9))
    _arrow(axes, (5.3, 3.02), (5.85, 3.02))
    _arrow(axes, (7.9, 2.4), (8.2, 1.45))
    _arrow(axes, (1.45, 1.7), (5.95, 0.85))
    axes.text(
        0.1,
        4.1,
        f"x / (1 + exp(−4·mean)), 64 tokens: {network.layer_count} layers, {network.parameter_count:,} numbers",
        size=10,
    )
    axes.text(2.2, 0.35, "blue: attention, orange: ReLUs", color=QUIET, size=9)
    return figure


def maps() -> Figure:
    """Target, network and difference over all inputs of two tokens, for a table and for a compiled network."""
    target = af.targets.softmax(tokens=2)
    ticks = (np.arange(240) + 0.5) / 240
    x = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2, 1)
    models = [af.construct(target, 0.12, method="averaging"), af.construct(target, 0.01, p=np.inf, method="compile")]
    wanted = target(x)[:, 0, 0]
    low, high = wanted.min(), wanted.max()
    figure = Figure(figsize=(8.2, 5.4))
    titles = ("table, ε = 0.12 in L²", "compiled, ε = 0.01 anywhere")
    for row, (model, name) in enumerate(zip(models, titles, strict=True)):
        got = model(x)[:, 0, 0]
        error = np.abs(got - wanted)
        shown = (
            (wanted, "target, first token", low, high),
            (got, name, low, high),
            (error, f"difference, up to {error.max():.3f}", 0, error.max()),
        )
        for column, (values, title, least, most) in enumerate(shown):
            axes = figure.add_axes((0.06 + 0.32 * column, 0.54 - 0.49 * row, 0.26, 0.38))
            axes.pcolormesh(
                np.arange(241) / 240,
                np.arange(241) / 240,
                values.reshape(240, 240).T,
                vmin=least,
                vmax=most,
                cmap="viridis" if column < 2 else "magma",
                rasterized=True,
            )
            axes.set_title(title, size=9.5)
            axes.set_xticks([0, 1])
            axes.set_yticks([0, 1])
            axes.set_aspect("equal")
            axes.tick_params(length=2)
            if column == 0:
                axes.set_ylabel("token 1", labelpad=-4)
            axes.set_xlabel("token 0", labelpad=-8)
    return figure


def hops() -> Figure:
    """After how many layers each token depends on each other one, for three patterns."""
    tokens, figure = 12, Figure(figsize=(8.2, 3.0))
    chosen = ("sliding-window", "star", "strided")
    for column, name in enumerate(chosen):
        at = patterns.named(name).at(tokens)
        report = patterns.check_universality(patterns.named(name), tokens=tokens)
        axes = figure.add_axes((0.03 + 0.33 * column, 0.12, 0.29, 0.68))
        reach = patterns.first_hops(at, most=tokens)
        axes.imshow(reach, cmap="Blues_r", vmin=0, vmax=reach.max() + 2)
        for query in range(tokens):
            for key in range(tokens):
                axes.text(
                    key,
                    query,
                    str(reach[query, key]),
                    ha="center",
                    va="center",
                    size=6.5,
                    color=INK if reach[query, key] > 1 else "white",
                )
        axes.set_title(f"{name}: all after {report.reach.hops} layers", size=9.5)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_xlabel("token seen", size=8.5)
        if not column:
            axes.set_ylabel("token that sees", size=8.5)
    return figure


def _short(value: float) -> str:
    return f"{value:.3g}"


def _blank(figure: Figure, x: tuple[float, float], y: tuple[float, float]) -> Axes:
    axes = figure.add_axes((0.01, 0.01, 0.98, 0.98))
    axes.set_xlim(*x)
    axes.set_ylim(*y)
    axes.axis("off")
    return axes


def _box(axes: Axes, corner: tuple[float, float], size: tuple[float, float], lines: Sequence[str], colour: str) -> None:
    (x, y), (width, height) = corner, size
    axes.add_patch(
        matplotlib.patches.FancyBboxPatch(
            corner, width, height, boxstyle="round,pad=0,rounding_size=0.12", fc=colour, ec=QUIET, lw=0.8
        )
    )
    for k, line in enumerate(lines):
        axes.text(
            x + width / 2,
            y + height * (1 - (k + 0.7) / (len(lines) + 0.4)),
            line,
            ha="center",
            va="center",
            size=9 if k == 0 else 8.5,
            weight="bold" if k == 0 else "normal",
        )


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.2, "shrinkA": 2, "shrinkB": 2})


FIGURES: dict[str, Callable[[], Figure]] = {
    "way_of_an_input": way_of_an_input,
    "selective_shift": selective_shift,
    "sums": sums,
    "program": program,
    "maps": maps,
    "hops": hops,
}


def draw(folder: Path, names: Sequence[str] = tuple(FIGURES)) -> None:
    """Write figures as SVG, without a date: the same numbers give the same file."""
    with matplotlib.rc_context(STYLE):
        for name in names:
            FIGURES[name]().savefig(folder / f"{name}.svg", metadata={"Date": None}, facecolor="white", dpi=130)


if __name__ == "__main__":
    draw(Path(__file__).parent, sys.argv[1:] or tuple(FIGURES))
