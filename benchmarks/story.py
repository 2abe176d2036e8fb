"""`python -m benchmarks.story` (`make picture`): the picture that opens the README, from a model built and proved.

It also writes the figures that docs/report.md shows.
"""

import inspect
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import anyformer as af
from anyformer.networks.layers import AttentionStage
from anyformer.pictures import (
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PALE,
    PAPER,
    bare,
    in_house_style,
    new_figure,
    save_picture,
)
from anyformer.reports.figures.numbers import at_most
from anyformer.reports.figures.over_domain import Profile, profile_of
from anyformer.reports.figures.report import write_report
from anyformer.reports.figures.subject import Subject

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
TOKENS, TOLERANCE = 8, 0.05
# Points: headings, text and small text, large enough for a picture of 8 inches that is shown 800 pixels wide.
HEADING, TEXT, NOTE = 13.0, 10.0, 9.0
# Models of the zoo, and which of their figures the page about reports shows.
SHOWN = {
    "softmax-5": ("function", "program", "budget", "sizes", "types"),
    "mean-scale-3-averaging": ("map", "context-ids"),
    "softmax-3-selective-shift": ("attention",),
    "sort-4-sparse-averaging": ("pattern",),
}


def f(x):  # noqa: D103 - it is shown as it stands
    m = x.mean(axis=1)[:, None]
    return np.tanh(3 * (x - m))


@dataclass(frozen=True, eq=False)
class Story:
    """A function, the Transformer that was built for it, and what the checker found on a line through the domain."""

    model: af.Model
    profile: Profile

    @property
    def title(self) -> str:
        """What the picture is called."""
        return "A function, the Transformer built for it, and the proof of its error"

    @property
    def description(self) -> str:
        """What there is to see, with the numbers of the model."""
        network, certificate = self.model.network, self.model.certificate
        return (
            f"Left: a NumPy function on sequences of {network.tokens} tokens, and what it makes of one. Middle: the "
            f"Transformer that computes it, {network.layer_count} layers and {network.parameter_count} parameters, "
            f"built without training. Right: its output follows the function, and the error stays inside the band: "
            f"proved to be at most "
            f"{at_most(certificate.certified_error)} for every input."
        )


def tell() -> Story:
    """Build, verify and run the model."""
    model = af.construct(f, TOLERANCE, tokens=TOKENS, p=np.inf)
    verification = model.verify()
    assert verification.verdict is af.Verdict.PROVED
    assert model.target is not None
    return Story(model, profile_of(Subject(model, model.target, verification), model.target))


@in_house_style
def draw(story: Story) -> Any:
    """Function, Transformer, proof, from left to right."""
    figure = new_figure(3.7, 8.0)
    figure.get_layout_engine().set(wspace=0.04, hspace=0.03, w_pad=0.08, h_pad=0.06)
    left, middle, right = figure.subfigures(1, 3, width_ratios=(1.2, 0.85, 1.55))
    for part, heading in ((left, "your function →"), (middle, "a Transformer →"), (right, "a proof")):
        part.suptitle(heading, fontsize=HEADING, x=0.04, ha="left")
    _draw_function(left, story)
    _draw_network(middle.subplots(), story)
    _draw_proof(right, story.profile)
    return figure


def _draw_function(part: Any, story: Story) -> None:
    """Its source, one sequence, and what function and network make of it."""
    code, before, after = part.subplots(3, 1, height_ratios=(0.85, 1, 1))
    bare(code)
    source = inspect.getsource(f).rstrip().replace("  # noqa: D103 - it is shown as it stands", "")
    look: dict[str, Any] = {"family": "DejaVu Sans Mono", "fontsize": NOTE, "linespacing": 1.6}
    part.text(0.04, 0.87, source, va="top", **look)
    x = story.profile.point
    tokens = np.arange(len(x))
    before.bar(tokens, x[:, 0], width=0.7, color=PALE)
    before.set(ylim=(0, 1), xticks=[], ylabel="x")
    after.axhline(0, color=PALE, linewidth=0.7)
    after.bar(tokens, f(x[None])[0, :, 0], width=0.7, color=FAINT, label="f(x)")
    after.plot(tokens, story.model(x)[:, 0], "o", color=BLUE, markersize=5, label="network")
    after.set(ylim=(-1, 1), xticks=[], ylabel="f(x)", xlabel=f"{len(x)} tokens in [0, 1]")
    for panel in (before, after):
        panel.tick_params(labelsize=NOTE)
        panel.xaxis.label.set_size(TEXT)
        panel.yaxis.label.set_size(TEXT)
        panel.spines["bottom"].set_visible(False)


def _draw_network(panel: Any, story: Story) -> None:
    """The stages from the input at the top to the output at the bottom."""
    from matplotlib.patches import FancyBboxPatch

    bare(panel)
    network = story.model.network
    boxes = [("embedding", PALE), *map(_stage, network.stages), ("read-out", GREEN)]
    panel.set(xlim=(0, 1), ylim=(len(boxes) + 1.35, 0))
    for place, (text, colour) in enumerate(boxes):
        top = place + 0.08
        style = "round,pad=0,rounding_size=0.06"
        panel.add_patch(
            FancyBboxPatch(
                (0.04, top), 0.92, 0.6, style, facecolor=PAPER, edgecolor=colour, linewidth=1.6, mutation_aspect=4
            )
        )
        panel.text(0.5, top + 0.32, text, ha="center", va="center", fontsize=NOTE)
        if place + 1 < len(boxes):
            arrow = {"arrowstyle": "-|>", "color": PALE, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0}
            panel.annotate("", (0.5, top + 1.0), xytext=(0.5, top + 0.6), arrowprops=arrow)
    said = f"{network.parameter_count} parameters,\nε = {TOLERANCE:g}, no training"
    panel.text(0.04, len(boxes) + 1.3, said, fontsize=TEXT, va="bottom", color=PALE, linespacing=1.4)


def _stage(stage: Any) -> tuple[str, str]:
    if isinstance(stage, AttentionStage):
        heads = stage.sizes["heads"]
        return f"attention: {heads} head{'s' if heads > 1 else ''}", ORANGE
    return f"{stage.sizes['hidden_size']} ReLU units", BLUE


def _draw_proof(part: Any, shown: Profile) -> None:
    assert shown.bound is not None
    values, errors = part.subplots(2, 1, sharex=True, height_ratios=(1, 1))
    below, above = shown.target - shown.bound, shown.target + shown.bound
    values.fill_between(shown.x, below, above, color=ORANGE, alpha=0.3, linewidth=0)
    values.plot(shown.x, shown.target, color=INK, linewidth=1, linestyle=(0, (4, 2)), label="function f")
    values.plot(shown.x, shown.network, color=BLUE, linewidth=1.8, label="network g")
    values.legend(loc="lower right", fontsize=NOTE, handlelength=1.6, borderaxespad=0.1)
    errors.axhspan(-shown.bound, shown.bound, color=ORANGE, alpha=0.18, linewidth=0)
    for end in (-shown.bound, shown.bound):
        errors.axhline(end, color=ORANGE, linewidth=1.2, linestyle="--")
    errors.plot(shown.x, shown.error, color=BLUE, linewidth=1.4)
    errors.set_yticks((-TOLERANCE, 0, TOLERANCE), labels=("−ε", "0", "ε"))
    errors.set(ylim=(-1.3 * shown.bound, 3.3 * shown.bound), xlabel="one token moves through [0, 1]", ylabel="g − f")
    said = f"proved, for every input:\n|g − f| ≤ {at_most(shown.bound)}"
    errors.text(0.03, 3.25 * shown.bound, said, fontsize=TEXT, va="top", weight="bold", color=INK, linespacing=1.3)
    for panel in (values, errors):
        panel.margins(x=0)
        panel.grid(True, axis="y", color=FAINT)
        panel.tick_params(labelsize=NOTE)
        panel.xaxis.label.set_size(TEXT)
        panel.yaxis.label.set_size(TEXT)


def write(folder: Path = PICTURES) -> list[Path]:
    """Write story.svg and story.png."""
    story = tell()
    picture = draw(story)
    places = [folder / "story.svg", folder / "story.png"]
    return [save_picture(picture, place, 200, story.title, story.description) for place in places]


def write_figures(folder: Path = PICTURES) -> list[Path]:
    """Write the figures of the page about reports, named for the figure."""
    written = []
    for name, figures in SHOWN.items():
        with tempfile.TemporaryDirectory() as place:
            write_report(af.zoo.load(name), Path(place) / "report", formats=["svg"])
            for figure in figures:
                written.append(Path(shutil.copy(Path(place) / "report" / f"{figure}.svg", folder / f"{figure}.svg")))
    return written


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for path in (*write(), *write_figures()):
        print(path)
