"""Layers, units and numbers by stage."""

from dataclasses import dataclass
from typing import Any

from anyformer.networks.layers import AttentionStage, weights
from anyformer.networks.network import Network
from anyformer.pictures import BLUE, ORANGE, SMALL, in_house_style, new_figure, plain
from anyformer.reports.figures.subject import LeftOut, Plate, Subject
from anyformer.reports.terminal import count

# The first and the last ones are shown.
MOST_STAGES = 24
LONGEST = 26


@dataclass(frozen=True)
class StageSize:
    """How large a stage is. Its units are heads or hidden units, of all its layers together."""

    name: str
    is_attention: bool
    layers: int
    units: int
    numbers: int


@dataclass(frozen=True)
class Sizes:
    """The stages in order, and how many in the middle are left out."""

    stages: tuple[StageSize, ...]
    left_out: int


def sizes_of(network: Network) -> Sizes:
    """The size of every stage."""
    stages = [_size(stage) for stage in network.stages]
    if len(stages) <= MOST_STAGES:
        return Sizes(tuple(stages), 0)
    half = MOST_STAGES // 2
    return Sizes((*stages[:half], *stages[-half:]), len(stages) - 2 * half)


def _size(stage: Any) -> StageSize:
    is_attention = isinstance(stage, AttentionStage)
    each = stage.sizes["heads" if is_attention else "hidden_size"]
    numbers = sum(array.size for array in weights(stage).values())
    return StageSize(stage.name, is_attention, len(stage), len(stage) * each, numbers)


@in_house_style
def draw_sizes(sizes: Sizes) -> Any:
    """A row a stage: its layers, its units, its numbers."""
    stages = sizes.stages
    figure = new_figure(0.95 + 0.24 * len(stages))
    panels = figure.subplots(1, 3, sharey=True)
    columns = {
        "layers": [stage.layers for stage in stages],
        "heads or units": [stage.units for stage in stages],
        "weights": [stage.numbers for stage in stages],
    }
    for panel, (title, amounts) in zip(panels, columns.items(), strict=True):
        _draw_column(panel, title, amounts, [ORANGE if stage.is_attention else BLUE for stage in stages])
    names = [plain(f"{place}  {_short(stage.name)}") for place, stage in zip(_places(sizes), stages, strict=True)]
    panels[0].set_yticks(range(len(stages)), labels=names)
    panels[0].tick_params(axis="y", length=0)
    panels[0].set_ylim(len(stages) - 0.4, -0.6)
    _draw_legend(figure)
    return figure


def _draw_column(panel: Any, title: str, amounts: list[int], colours: list[str]) -> None:
    panel.barh(range(len(amounts)), amounts, height=0.62, color=colours)
    for place, amount in enumerate(amounts):
        panel.annotate(
            count(amount), (amount, place), xytext=(3, 0), textcoords="offset points", va="center", fontsize=SMALL
        )
    panel.set(title=title, xticks=[], xlim=(0, 1.4 * max(amounts, default=1)))
    panel.tick_params(axis="y", length=0)
    panel.spines["bottom"].set_visible(False)


def _draw_legend(figure: Any) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=ORANGE, label="attention: heads"), Patch(color=BLUE, label="feed-forward: hidden units")]
    figure.legend(handles=handles, loc="outside lower right", ncols=2)


def _places(sizes: Sizes) -> list[int]:
    shown = len(sizes.stages)
    return [place + (sizes.left_out if place >= shown // 2 else 0) for place in range(shown)]


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def plates(subject: Subject) -> list[Plate | LeftOut]:
    """One, if there are stages."""
    title, sizes = "Layers and units by stage", sizes_of(subject.network)
    if not sizes.stages:
        return [LeftOut(title, "the network has no stages")]
    network = subject.network
    left = f" {sizes.left_out:,} stages in the middle are left out." if sizes.left_out else ""
    caption = (
        f"The stages of the network from first to last: {count(network.layer_count)} layers, of which "
        f"{count(network.attention_layer_count)} attention, and {count(network.parameter_count)} numbers, counting "
        f"positions, embedding and read-out.{left}"
    )
    return [Plate("sizes", title, caption, draw_sizes(sizes))]
