"""The house style: everywhere the same, reproducible to the byte, readable, and safe for names from anyone."""

import xml.etree.ElementTree as ET

import pytest

from anyformer import pictures
from anyformer.pictures import in_house_style, new_figure, picture_bytes, plain, save_picture

matplotlib = pytest.importorskip("matplotlib")

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = 'a <script>alert("1")</script> ]]> -- &amp; $\\frac{ \x1b[31m \u202e \U0001f600'


@in_house_style
def drawn(label: str = "a line") -> object:
    figure = new_figure(2.0, 3.0, title=label)
    panel = figure.subplots()
    panel.plot([0, 1, 3], [2, 1, 4], label=plain(label))
    panel.fill_between([0, 3], [0, 0], [1, 2], alpha=0.3)
    panel.legend()
    return figure


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_the_same_figure_has_the_same_bytes(kind):
    first = picture_bytes(drawn(), kind, title="A line", description="It rises.")
    assert first == picture_bytes(drawn(), kind, title="A line", description="It rises.")
    assert first != picture_bytes(drawn("another"), kind, title="A line", description="It rises.")


def test_the_style_is_the_house_s_whatever_the_user_has_set():
    with matplotlib.rc_context({"font.size": 31, "axes.facecolor": "red", "svg.hashsalt": "x", "axes.linewidth": 9}):
        mine = {name: matplotlib.rcParams[name] for name in pictures.STYLE}
        figure = drawn()
        content = picture_bytes(figure, "svg")
        assert {name: matplotlib.rcParams[name] for name in pictures.STYLE} == mine
    (panel,) = figure.axes
    assert panel.get_facecolor() == matplotlib.colors.to_rgba(pictures.PAPER)
    assert panel.spines["left"].get_linewidth() == pictures.STYLE["axes.linewidth"]
    assert not panel.spines["top"].get_visible()
    assert content == picture_bytes(drawn(), "svg")


def test_no_picture_is_transparent_or_dated():
    content = picture_bytes(drawn(), "svg", title="A line").decode()
    assert "<dc:date>" not in content
    assert matplotlib.__version__ not in content
    assert f"fill: {pictures.PAPER.lower()}" in content
    png = picture_bytes(drawn(), "png", title="A line", description="It rises.")
    assert b"Matplotlib" not in png
    assert b"It rises." in png


def test_an_svg_says_what_there_is_to_see():
    root = ET.fromstring(picture_bytes(drawn(), "svg", title="A line", description="It rises."))
    assert (root.get("role"), root.get("aria-label")) == ("img", "A line")
    assert [root.findtext(f"{SVG}title"), root.findtext(f"{SVG}desc")] == ["A line", "It rises."]


def test_hostile_names_are_text():
    content = picture_bytes(drawn(HOSTILE), "svg", title=HOSTILE, description=HOSTILE)
    root = ET.fromstring(content)
    shown = 'a <script>alert("1")</script> ]]> -- &amp; $\\frac{ \\x1b[31m \\u202e \U0001f600'
    assert [root.findtext(f"{SVG}title"), root.findtext(f"{SVG}desc"), root.get("aria-label")] == [shown] * 3
    assert {element.tag.removeprefix(SVG) for element in root.iter()} & {"script", "foreignObject", "a"} == set()
    for kind in ("png", "pdf"):
        assert picture_bytes(drawn(HOSTILE), kind, title=HOSTILE, description=HOSTILE)


def test_saving_replaces_in_one_step_or_not_at_all(tmp_path):
    place = tmp_path / "a.svg"
    place.write_bytes(b"old")
    with pytest.raises(AttributeError):
        save_picture(object(), place)
    assert place.read_bytes() == b"old"
    assert save_picture(drawn(), place) == place
    assert place.read_bytes() == picture_bytes(drawn(), "svg")
    assert list(tmp_path.iterdir()) == [place]


def luminance(colour: str) -> float:
    """As WCAG 2 defines it."""
    channels = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in matplotlib.colors.to_rgb(colour)]
    return sum(weight * channel for weight, channel in zip((0.2126, 0.7152, 0.0722), channels, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("text", [pictures.INK, pictures.PALE])
def test_text_is_readable(text):
    assert contrast(text, pictures.PAPER) >= 4.5  # WCAG 2, level AA


@pytest.mark.parametrize("line", [pictures.BLUE, pictures.ORANGE, pictures.GREEN, pictures.PURPLE])
def test_lines_stand_out(line):
    assert contrast(line, pictures.PAPER) >= 3.0  # WCAG 2, level AA, graphical objects


def test_lines_can_be_told_apart_in_grey():
    assert len({look.marker for look in pictures.LOOKS}) == len({look.colour for look in pictures.LOOKS}) == 6
