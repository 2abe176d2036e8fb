"""Pictures: files of the right kind that show what they should, and nothing half-written."""

import numpy as np
import pytest

from anyformer.patterns import Butterfly, Causal, Full, PatternError, PlainStar, Ring, Strided, draw
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
