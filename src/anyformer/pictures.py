"""The house style of every picture, and pictures written in one step or not at all.

Matplotlib is loaded only when something is drawn. A function that draws is wrapped in `in_house_style`, takes its
colours from here, and ends in `save_picture`. The same figure gives the same bytes: no dates, and no random names.
"""

import functools
import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar
from xml.sax.saxutils import escape

from anyformer.atomic import atomic_file
from anyformer.extras import require

SUFFIXES = (".svg", ".png", ".pdf")

# Okabe and Ito's colours, distinguishable with colour blindness; in grey, markers and dashes tell lines apart.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#8B4A8B"
SKY, AMBER, PINK = "#56B4E9", "#E69F00", "#CC79A7"
INK, PALE, FAINT, PAPER = "#1A1A1A", "#6E6E6E", "#DDDDDD", "#FFFFFF"
"""Text and axes; second to them; grids and what is idle; the ground, which is never transparent."""
GROUND: Final = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.5}
"""Behind text that a line may cross."""
SEQUENTIAL, DIVERGING = "viridis", "PuOr"
"""Colour maps: lightness rises along the first; the second is pale in the middle, where the error is 0."""

WIDTH: Final = 5.8
"""Inches: a text column, and still readable on a telephone."""
SMALL, NORMAL, LARGE = 8.0, 9.0, 10.5
"""Points: ticks and notes; labels; titles."""
DOTS_PER_INCH: Final = 160

STYLE: Final[dict[str, Any]] = {
    "font.family": "DejaVu Sans",  # comes with Matplotlib, as does the font of formulas
    "mathtext.fontset": "dejavusans",
    "font.size": NORMAL,
    "axes.titlesize": NORMAL,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 6.0,
    "axes.labelsize": NORMAL,
    "axes.labelcolor": INK,
    "axes.edgecolor": PALE,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": PALE,
    "ytick.color": PALE,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "figure.titlesize": LARGE,
    "figure.titleweight": "bold",
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "image.interpolation": "nearest",
    "svg.fonttype": "path",  # letters are drawn, so that no font is needed where the picture is shown
    "svg.hashsalt": "anyformer",  # otherwise the names of parts are random
    "path.simplify": True,
}


@dataclass(frozen=True)
class Look:
    """How one of several lines is told apart: by its colour, and in grey by its marker."""

    colour: str
    marker: str

    def of_line(self, label: str) -> dict[str, Any]:
        """What Matplotlib's `plot` takes."""
        return {"color": self.colour, "marker": self.marker, "label": label}


LOOKS: Final = (
    Look(BLUE, "o"),
    Look(ORANGE, "s"),
    Look(GREEN, "^"),
    Look(PINK, "D"),
    Look(SKY, "v"),
    Look(AMBER, "P"),
)

P = ParamSpec("P")
T = TypeVar("T")


def require_matplotlib(module: str = "matplotlib.figure") -> Any:
    """A module of Matplotlib, imported when it is needed.

    Raises:
        MissingPackageError: if it is not installed, with the command that installs it.
    """
    return require(module, extra="plots", what="pictures")


def in_house_style(draw: Callable[P, T]) -> Callable[P, T]:
    """Let a function that draws do so in the house style, whatever the user has set; their settings stay as they are.

    A letter that the font lacks is drawn as a box, and text that leaves no room for the rest is cut off: no warnings.
    """

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> T:
        matplotlib = require_matplotlib("matplotlib")
        with matplotlib.rc_context(), warnings.catch_warnings():
            for harmless in (r"Glyph .* missing from", "constrained_layout not applied"):
                warnings.filterwarnings("ignore", message=harmless, category=UserWarning)
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(STYLE)
            return draw(*args, **kwargs)

    return drawn


def new_figure(height: float, width: float = WIDTH, title: str | None = None) -> Any:
    """An empty Matplotlib figure of this size in inches; the title is text as it is."""
    figure = require_matplotlib().Figure(figsize=(width, height), layout="constrained")
    if title is not None:
        figure.suptitle(plain(title), x=0.01, ha="left")
    return figure


def plain(text: object, most: int = 160) -> str:
    r"""Text that a picture shows as it is, up to so many letters: names may come from anyone.

    An unescaped dollar sign would begin a formula, and a control character breaks an SVG file.

    >>> plain("cost: $5\x1b[31m")
    'cost: \\$5\\x1b[31m'
    """
    shown = _printable(text)
    return (shown if len(shown) <= most else shown[: most - 1] + "…").replace("$", r"\$")


def _printable(text: object) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def show_grid(panel: Any, axis: str = "both") -> None:
    """Faint lines at the ticks, behind everything."""
    panel.grid(True, which="major", axis=axis)


def framed(panel: Any) -> None:
    """All four sides, thin: for maps and matrices, which have no axis that leads."""
    for side in panel.spines.values():
        side.set(visible=True, linewidth=0.6)


def bare(panel: Any) -> None:
    """No axes at all: for schemes."""
    panel.set(xticks=[], yticks=[])
    for side in panel.spines.values():
        side.set_visible(False)


def colour_map(name: str = SEQUENTIAL) -> Any:
    """A colour map of Matplotlib's by its name."""
    return require_matplotlib("matplotlib").colormaps[name]


@in_house_style
def save_picture(
    figure: Any, place: Path, dots_per_inch: int = DOTS_PER_INCH, title: str = "", description: str = ""
) -> Path:
    """Write a Matplotlib figure to a file, in one step; the suffix of the file decides the format.

    Title and description say what there is to see, for those who do not see it and for search: they go into the file.
    """
    content = picture_bytes(figure, place.suffix.lower()[1:], dots_per_inch, title, description)
    with atomic_file(place) as file:
        file.write(content)
    return place


@in_house_style
def picture_bytes(
    figure: Any, kind: str, dots_per_inch: int = DOTS_PER_INCH, title: str = "", description: str = ""
) -> bytes:
    """A Matplotlib figure as the bytes of a file of this kind: svg, png or pdf."""
    buffer = io.BytesIO()
    metadata = _metadata(kind, _printable(title), _printable(description))
    figure.savefig(buffer, format=kind, dpi=dots_per_inch, metadata=metadata)
    content = buffer.getvalue()
    return _described(content, _printable(title), _printable(description)) if kind == "svg" else content


def _metadata(kind: str, title: str, description: str) -> dict[str, str | None]:
    """What a file says of itself; without the time and the version of Matplotlib, so that it is reproducible."""
    about = {name: text for name, text in (("Title", title), ("Description", description)) if text}
    if kind == "png":
        return {"Software": None, **about}
    if kind == "pdf":
        named = {name: text for name, text in (("Title", title), ("Subject", description)) if text}
        return {"CreationDate": None, "Creator": "anyformer", **named}
    return {"Date": None, "Creator": "anyformer", **about}


def _described(svg: bytes, title: str, description: str) -> bytes:
    """The SVG as an image with a name and a description, as screen readers look for them."""
    if not title:
        return svg
    start = re.search(rb"<svg [^>]*>", svg)
    assert start is not None
    opened = start[0][:-1] + b' role="img" aria-label="' + escape(title, {'"': "&quot;"}).encode() + b'">'
    written = svg[: start.start()] + opened + svg[start.end() :]
    if not description:
        return written
    end = written.index(b"</title>") + len(b"</title>")
    return written[:end] + b"\n <desc>" + escape(description).encode() + b"</desc>" + written[end:]
