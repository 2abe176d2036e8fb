"""Pictures: files of the right kind that show what they should, and nothing half-written."""

import numpy as np
import pytest

from anyformer.patterns import (
    Butterfly,
    Causal,
    Full,
    Multihead,
    PatternError,
    PlainStar,
    Random,
    Ring,
    Sequential,
    Strided,
    check_universality,
    draw,
    to_dense,
)
from anyformer.patterns.drawing import picture

BEGINNINGS = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}


@pytest.mark.parametrize("suffix", BEGINNINGS)
def test_files_of_every_kind(suffix, tmp_path):
    place = draw(Strided(), tmp_path / f"strided{suffix}", tokens=9)
    assert place.read_bytes().startswith(BEGINNINGS[suffix])
    assert [path.name for path in tmp_path.iterdir()] == [place.name]


def test_the_panels_show_the_pattern_the_hops_and_the_path():
    drawn = picture(Ring().at(7))
    layer, hops, path, _ = drawn.axes
    assert layer.images[0].get_array().sum() == 21
    np.testing.assert_array_equal(hops.images[0].get_array()[0], [1, 1, 2, 3, 3, 2, 1])
    assert len(path.lines[0].get_xdata()) == 7


def shown(drawn):
    """The matrix of every panel of a list by its title."""
    panels = [panel for panel in drawn.axes if panel.get_visible() and panel.get_title(loc="left").startswith("layer ")]
    return {panel.get_title(loc="left"): panel.images[0].get_array() for panel in panels}


def test_every_list_of_a_layer_is_drawn_and_not_their_union():
    pattern = Sequential((Ring(), Multihead((Random(keys=1, seed=1), Random(keys=2, seed=2), PlainStar())))).at(9)
    panels = shown(picture(pattern))
    names = ["layer 0 of 2: who sees whom", *(f"layer 1 of 2, list {number} of 3" for number in range(3))]
    assert sorted(panels) == sorted(names)
    for layer, head, name in ((0, 0, names[0]), (1, 0, names[1]), (1, 1, names[2]), (1, 2, names[3])):
        np.testing.assert_array_equal(panels[name], to_dense(pattern)[layer, head])


def test_a_picture_counts_layers_as_the_report_does():
    pattern = Sequential((Ring(), PlainStar())).at(7)
    assert check_universality(pattern).relay.layer == 1
    panels = shown(picture(pattern))
    assert list(panels) == ["layer 0 of 2: who sees whom", "layer 1 of 2: who sees whom"]
    assert panels["layer 1 of 2: who sees whom"][0].all()  # the relay sees all there


def test_a_pattern_of_many_layers_and_lists_is_drawn_in_part():
    pattern = Multihead(tuple(Random(keys=1, seed=seed) for seed in range(6))).at(5)
    assert [f"layer 0 of 1, list {number} of 6" for number in range(4)] == list(shown(picture(pattern)))


@pytest.mark.parametrize("pattern", [PlainStar(), Causal(Full()), Butterfly(), Ring()], ids=repr)
@pytest.mark.parametrize("tokens", [1, 2, 40])
def test_every_verdict_and_length_can_be_drawn(pattern, tokens, tmp_path):
    draw(pattern, tmp_path / "pattern.png", tokens)


def test_pairs_that_never_meet_are_left_white():
    hops = picture(Causal(Full()), 5).axes[1].images[0].get_array()
    np.testing.assert_array_equal(hops.mask, np.triu(np.ones((5, 5), dtype=bool), 1))


def test_what_cannot_be_drawn_says_why(tmp_path, monkeypatch):
    with pytest.raises(PatternError, match=r"must end in one of \.svg, \.png, \.pdf"):
        draw(Ring(), tmp_path / "ring.gif", 5)
    with pytest.raises(PatternError, match="at most 256 tokens; got 257"):
        draw(Ring(), tmp_path / "ring.png", 257)
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'for pictures; .*pip install "anyformer\[plots\]"'):
        draw(Ring(), tmp_path / "ring.png", 5)
    assert not list(tmp_path.iterdir())
