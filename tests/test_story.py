"""The picture that opens the README tells of the model that is built today."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from benchmarks import story

SVG = "{http://www.w3.org/2000/svg}"
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def told() -> story.Story:
    return story.tell()


def test_the_picture_in_the_repository_is_of_today_s_model(told):
    root = ET.fromstring((story.PICTURES / "story.svg").read_bytes())
    assert root.findtext(f"{SVG}title") == told.title
    assert root.findtext(f"{SVG}desc") == told.description
    assert "(docs/pictures/story.svg)" in "".join((ROOT / "README.md").read_text().splitlines()[:4])


def test_what_is_drawn_is_computed(told):
    figure = story.draw(told)
    values, _ = figure.subfigs[2].axes
    lines = {line.get_label(): line.get_ydata() for line in values.lines}
    np.testing.assert_array_equal(lines["function f"], told.profile.target)
    np.testing.assert_array_equal(lines["network g"], told.profile.network)
    assert np.abs(told.profile.error).max() <= told.profile.bound == told.model.certificate.certified_error
    dots = figure.subfigs[0].axes[2].lines[-1].get_ydata()
    np.testing.assert_array_equal(dots, told.model(told.profile.point)[:, 0])
    boxes = [text.get_text() for text in figure.subfigs[1].axes[0].texts]
    assert f"{told.model.network.stages[1].sizes['hidden_size']} ReLU units" in boxes
    assert len(boxes) >= len(told.model.network.stages) + 3


def test_both_files_are_written(tmp_path):
    assert [path.name for path in story.write(tmp_path)] == ["story.svg", "story.png"]
    assert ET.parse(tmp_path / "story.svg").getroot().get("role") == "img"


def test_the_pictures_of_the_page_about_reports_are_there():
    page = (ROOT / "docs" / "report.md").read_text()
    for names in story.SHOWN.values():
        for name in names:
            assert f"(pictures/{name}.svg)" in page
            assert ET.parse(story.PICTURES / f"{name}.svg").getroot().findtext(f"{SVG}desc")
