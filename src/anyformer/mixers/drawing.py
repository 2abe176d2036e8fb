"""The movement of tokens as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anyformer.errors import MixerError
from anyformer.mixers.movement import Movement
from anyformer.pictures import LOOKS, SUFFIXES, in_house_style, new_figure, plain, save_picture, show_grid


def draw_movement(measured: Sequence[Movement], place: str | Path) -> Path:
    """Draw what `measure_movement` gave for one or several mixers into a .svg, .png or .pdf file.

    Left: the share of output tokens that move, by how many input tokens changed. Right: how far a token moves, by
    how far it stands from the nearest changed one, for the fewest changes measured.

    Returns:
        The place; the file is replaced in one step or not at all.
    """
    place = Path(place)
    if place.suffix.lower() not in SUFFIXES:
        raise MixerError(f"a picture must end in one of {', '.join(SUFFIXES)}; got {place.name!r}.")
    described = (
        "How many output tokens move when some input tokens change, and how far by their distance, mixer by mixer."
    )
    return save_picture(movement_picture(measured), place, title="How token mixers move tokens", description=described)


@in_house_style
def movement_picture(measured: Sequence[Movement]) -> Any:
    """The same as a Matplotlib figure."""
    if not measured:
        raise MixerError("a picture must have something to show; got no movements. Give what measure_movement returns.")
    figure = new_figure(3.0, 7.6)
    shares, reach = figure.subplots(1, 2)
    for index, mixer in enumerate(dict.fromkeys(one.mixer for one in measured)):
        rows = sorted((one for one in measured if one.mixer == mixer), key=lambda one: one.changed)
        look = LOOKS[index % len(LOOKS)].of_line(plain(mixer))
        shares.plot([row.changed for row in rows], [row.share for row in rows], **look)
        _draw_reach(reach, rows[0], look)
    shares.set(xlabel="input tokens that change", ylabel="share of output tokens that move", ylim=(-0.03, 1.06))
    fewest = min(one.changed for one in measured)
    away = f"tokens from the nearest of {fewest} changed" if fewest > 1 else "tokens from the changed one"
    reach.set(xlabel=away, ylabel="distance moved / size of the change", yscale="log")
    for panel in (shares, reach):
        show_grid(panel)
    shares.legend()
    return figure


def _draw_reach(panel: Any, row: Movement, look: dict[str, Any]) -> None:
    """Only what moves: zero has no place on a logarithmic axis."""
    points = [(gap, distance) for gap, distance in enumerate(row.distances) if distance > 0]
    panel.plot(*zip(*points, strict=True), **look, markevery=max(1, len(points) // 12))
