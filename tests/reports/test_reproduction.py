"""The pictures of the mixers' comparison: written where they should be, in the house style."""

import pytest

from anyformer.pictures import LOOKS

pytest.importorskip("matplotlib")
pytest.importorskip("torch")


def outcome(name: str, shift: float):
    from anyformer.reports.reproduction import Outcome

    curves = (
        ((0, 7.0), (1000, 5.0 + shift), (2000, 4.0 + shift)),
        ((0, 7.1), (1000, 5.1 + shift), (2000, 4.1 + shift)),
    )
    return Outcome(name, 10, 1.5, (0.2 + shift, 0.21 + shift), (4.0, 4.1), (0.4, 0.42 + shift), curves)


def test_both_pictures_are_written(tmp_path):
    from anyformer.reports.reproduction import draw_curves, draw_hybrids

    made = [outcome(name, 0.01 * k) for k, name in enumerate(["attention", "hybrid-1", "convolution"])]
    assert draw_curves(made, 6.7, tmp_path / "curves.svg") == tmp_path / "curves.svg"
    assert draw_hybrids(made, tmp_path / "hybrids.png") == tmp_path / "hybrids.png"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curves.svg", "hybrids.png"]
    assert "<title>Pre-training with different token mixers</title>" in (tmp_path / "curves.svg").read_text()


def test_there_are_markers_for_the_mixers_of_the_paper():
    from anyformer.reports.reproduction import COLOURS

    assert len(COLOURS) <= len(LOOKS)
    assert len(set(COLOURS.values())) == len(COLOURS)
