"""The contextual map of a table: the ids of all contexts on a line, colliding nowhere."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.certificates.bounds.cells import Grid
from anyformer.certificates.contextual_map import ContextualMapReport, check_contextual_map
from anyformer.contextuality.models.grids import MOST_CONTEXTS, contexts_of_columns, number_of_contexts
from anyformer.labels.tables.codes import code_of, coded_stages
from anyformer.labels.tables.values import TableValues
from anyformer.networks.network import Network
from anyformer.pictures import FAINT, PALE, SMALL, colour_map, in_house_style, new_figure
from anyformer.reports.figures.subject import LeftOut, Plate, Subject
from anyformer.reports.terminal import count
from anyformer.targets.target import Symmetry

# More contexts are sampled, as many as the work allows: numbers that the network computes, about.
FEWEST_CONTEXTS, WORK = 64, 1e9
MOST_TOKENS = 256
# So many neighbours are shown enlarged.
NEIGHBOURS = 14
# Longer contexts are not written out.
LONGEST = 6

TITLE = "The contextual map"


@dataclass(frozen=True, eq=False)
class ContextIds:
    """The id of every token in every context, (contexts, tokens), in units of a cell; cells by their numbers."""

    cells: Integers
    ids: Array
    total: int | None
    """How many contexts there are, of which fewer may have been sampled; None if that is a number too long to read."""
    up_to_order: bool
    found: ContextualMapReport

    @property
    def closest(self) -> float:
        """How far apart the two closest ids are; 0 if two collide."""
        gaps = np.diff(np.sort(self.ids.ravel()))
        return float(gaps.min()) if len(gaps) else math.inf


def context_ids_of(network: Network, grid: Grid, most: int = MOST_CONTEXTS) -> ContextIds | None:
    """Run the centre of every cell through the network up to its ids; None if no context has different tokens.

    Without positions, equal tokens cannot be told apart, and the order of tokens does not matter: a context is then a
    set of different columns of cells.
    """
    up_to_order = network.is_equivariant
    counts, tokens = grid.cells_per_axis, network.tokens
    columns = math.prod(counts)
    if up_to_order and columns < tokens:
        return None
    total = number_of_contexts(columns, tokens, up_to_order)
    chosen = contexts_of_columns(columns, tokens, up_to_order, most)
    if not len(chosen):
        return None
    choice = np.stack(np.unravel_index(chosen, counts), axis=-1)
    centres = [(low + high) / 2 for low, high in zip(grid.lows, grid.highs, strict=True)]
    x = np.stack([centre[choice[..., i]] for i, centre in enumerate(centres)], axis=-1)
    held = TableValues(network, grid, None, x).codes(coded_stages(network)[-1])
    assert held is not None
    symmetry = Symmetry.EQUIVARIANT if up_to_order else Symmetry.NONE
    return ContextIds(chosen, held.network, total, up_to_order, check_contextual_map(chosen, held.network, symmetry))


def most_for(network: Network) -> int:
    """How many contexts are looked at, fewer where the network is large."""
    return int(np.clip(WORK / (network.tokens * max(network.parameter_count, 1)), FEWEST_CONTEXTS, MOST_CONTEXTS))


@in_house_style
def draw_context_ids(shown: ContextIds) -> Any:
    """The whole line; below it, unless all are named already, its most crowded place, with names."""
    order = np.argsort(shown.ids, axis=None, kind="stable")
    ids, owners = shown.ids.ravel()[order], shown.cells.ravel()[order]
    colours = colour_map()(0.9 * owners / max(int(shown.cells.max()), 1))
    start = _most_crowded(ids)
    chosen = list(range(start, min(start + NEIGHBOURS, len(ids))))
    names = [_name(shown, *divmod(int(order[place]), shown.ids.shape[1])) for place in chosen]
    title = f"{count(len(ids))} ids of {count(len(shown.ids))} contexts, coloured by the token's own cell"
    has_more = len(ids) > len(chosen)
    figure = new_figure(4.0 if has_more else 2.6)
    panels = np.atleast_1d(figure.subplots(2 if has_more else 1, 1, height_ratios=(1, 2) if has_more else (1,)))
    if has_more:
        panels[0].axvspan(ids[chosen[0]], ids[chosen[-1]], color=FAINT, linewidth=0)
        panels[0].vlines(ids, 0, 1, colors=colours, linewidth=max(0.15, min(1.2, 300 / len(ids))))
        panels[0].set(title=title, ylim=(0, 1))
    _draw_named(panels[-1], ids[chosen], colours[chosen], names)
    panels[-1].set_title("enlarged where they are closest: own cell in its context" if has_more else title)
    panels[-1].set_xlabel("context id")
    for panel in panels:
        panel.set_yticks([])
        panel.spines["left"].set_visible(False)
        panel.locator_params(axis="x", nbins=5)
        panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    return figure


def _draw_named(panel: Any, ids: Array, colours: Array, names: list[str]) -> None:
    """Names stand evenly spaced, each with a line to its id."""
    room = 0.04 * float(np.ptp(ids)) or 1.0
    left, right = float(ids[0]) - room, float(ids[-1]) + room
    panel.vlines(ids, 0, 1, colors=colours, linewidth=3)
    for k, (one, name) in enumerate(zip(ids, names, strict=True)):
        at = left + (right - left) * (k + 0.5) / len(ids)
        panel.plot((one, at), (1.03, 1.37), color=PALE, linewidth=0.5)
        panel.text(at, 1.42, name, rotation=90, fontsize=SMALL - 1, ha="center", va="bottom")
    panel.set(ylim=(0, 2.7), xlim=(left, right))


def _most_crowded(ids: Array) -> int:
    """Where so many neighbours are closest together."""
    if len(ids) <= NEIGHBOURS:
        return 0
    return int((ids[NEIGHBOURS - 1 :] - ids[: len(ids) - NEIGHBOURS + 1]).argmin())


def _name(shown: ContextIds, context: int, token: int) -> str:
    cells = shown.cells[context].tolist()
    around = ", ".join(map(str, cells[:LONGEST])) + (", …" if len(cells) > LONGEST else "")
    return f"{cells[token]} in ({around})"


def plates(subject: Subject) -> list[Plate | LeftOut]:
    """One for a table that gives ids."""
    network, grid = subject.network, subject.certificate.grid
    if grid is None or len(grid.lows) != network.width or network.has_embedding:
        return []
    if code_of(network) is None or not coded_stages(network):
        return [LeftOut(TITLE, "the network's stages do not say where its ids are")]
    if network.tokens > MOST_TOKENS:
        return [LeftOut(TITLE, f"{network.tokens:,} tokens are too many; at most {MOST_TOKENS} are looked at")]
    shown = context_ids_of(network, grid, most_for(network))
    if shown is not None and not np.isfinite(shown.ids).all():
        return [LeftOut(TITLE, "the network overflows before the ids are made")]
    if shown is None:
        return [LeftOut(TITLE, "there is no context whose tokens are in different cells")]
    return [Plate("context-ids", TITLE, _caption(shown), draw_context_ids(shown))]


def _caption(shown: ContextIds) -> str:
    what = "sets of different cells" if shown.up_to_order else "sequences of cells"
    of_all = "very many" if shown.total is None else count(shown.total)
    which = (
        f"all {of_all} {what}"
        if len(shown.ids) == shown.total
        else f"{count(len(shown.ids))} of {of_all} {what}, at random"
    )
    verdict = (
        f"no two collide, and the closest are {shown.closest:g} apart"
        if shown.found.is_contextual
        else f"some collide: {shown.found.reason}"
    )
    return (
        f"The number that each token holds after the last attention layer, in units of a cell, for {which}: {verdict}. "
        f"So a token's id tells its own cell and the whole context; the layers after it only look up the value."
    )
