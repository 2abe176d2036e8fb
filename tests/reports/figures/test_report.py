"""The report as a whole: all or nothing, true to the checker, and safe for names from anyone."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates import Verdict
from anyformer.errors import UsageError
from anyformer.reports.figures import report as reports
from anyformer.reports.figures.report import NAMES, write_report

LINK = re.compile(r"\]\(([^)]+)\)")
EVIL = 'x](javascript:alert(1)) <script>alert("1")</script> $\\frac{ \x1b[31m `**'


@pytest.fixture
def quick(monkeypatch):
    """Two figures only."""
    monkeypatch.setattr(reports, "FIGURES", (reports.budget.plates, reports.sizes.plates))


@pytest.fixture(scope="session")
def written(softmax, tmp_path_factory) -> reports.Report:
    return write_report(softmax.model, tmp_path_factory.mktemp("reports") / "softmax", formats=["svg"])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_every_figure_is_there_and_shown(written):
    names = [plate.name for plate in written.plates]
    assert names == ["function", "map", "budget", "program", "attention", "sizes", "types"]
    assert {path.name for path in written.folder.iterdir()} == {"report.md", *(f"{name}.svg" for name in names)}
    text = (written.folder / "report.md").read_text()
    assert set(LINK.findall(text)) == {f"{name}.svg" for name in names}
    for name in names:
        assert f"]({name}.svg)\n" in text
        root = ET.fromstring((written.folder / f"{name}.svg").read_bytes())
        assert root.find("{http://www.w3.org/2000/svg}desc").text


def test_the_text_says_what_is_proved(written, softmax):
    text = (written.folder / "report.md").read_text()
    assert written.verification.verdict is Verdict.PROVED
    assert "**Proved**: the checker derived this bound again" in text
    assert "no entry of the output is off by more than 0.0" in text
    assert "for any input with every number in \\[0, 1\\]" in text
    assert softmax.certificate.weights_digest in text
    assert "anyformer verify DIR\n" in text
    assert "traced into steps" in text


def test_the_same_model_gives_the_same_bytes(softmax, quick, tmp_path):
    for name in ("a", "b"):
        write_report(softmax.model, tmp_path / name, formats=["svg", "png", "pdf"])
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert len(contents(tmp_path / "a")) == 7


@pytest.mark.slow
@pytest.mark.parametrize("name", ["power_sums", "running_maximum", "table", "bump", "sparse", "shifts", "interpolant"])
def test_every_kind_of_model_has_a_report(name, request, tmp_path):
    subject = request.getfixturevalue(name)
    found = write_report(subject.model, tmp_path / "report")
    assert found.verification.verdict is Verdict.PROVED
    assert {plate.name for plate in found.plates} <= set(NAMES)
    assert len(contents(found.folder)) == 1 + 2 * len(found.plates)
    assert ("context-ids" in [plate.name for plate in found.plates]) == (subject.certificate.grid is not None)
    assert ("pattern" in [plate.name for plate in found.plates]) == (subject.network.pattern is not None)


def test_a_false_claim_is_called_so(softmax, quick, tmp_path):
    less = replace(softmax.certificate, certified_error=softmax.certificate.certified_error / 2)
    found = write_report(replace(softmax.model, certificate=less), tmp_path / "report", formats=["svg"])
    assert found.verification.verdict is Verdict.UNDECIDED
    text = (tmp_path / "report" / "report.md").read_text()
    assert "**Undecided**: the checker could not derive it" in text
    assert "**Proved**" not in text
    assert "as claimed" in text


def test_other_functions_are_refuted(softmax, quick, tmp_path):
    target = af.target(lambda x: x / 2, tokens=3, name="half")
    broken = replace(softmax.certificate, target=replace(softmax.certificate.target, is_ready_made=False))
    found = write_report(replace(softmax.model, certificate=broken), tmp_path / "report", target)
    assert found.verification.verdict is not Verdict.PROVED
    assert "**Proved**" not in (tmp_path / "report" / "report.md").read_text()


def evil_model() -> af.Model:
    def half(x):
        return np.tanh(x) / 2

    return af.construct(af.target(half, tokens=2, name=EVIL), 0.1, p=np.inf)


def test_hostile_names_are_text(tmp_path):
    model = evil_model()
    evil = replace(
        model.certificate,
        construction={**model.certificate.construction, "method": EVIL, "program": {"steps": {"v1": EVIL}}},
    )
    folder = model.save(tmp_path / "model")
    assert folder.exists()
    found = write_report(replace(model, certificate=evil), tmp_path / "report", formats=["svg"])
    text = (found.folder / "report.md").read_text()
    assert set(LINK.findall(text)) == {f"{plate.name}.svg" for plate in found.plates}
    assert "<script" not in text
    assert "\x1b" not in text
    assert "\\[31m" in text
    for plate in found.plates:
        root = ET.fromstring((found.folder / f"{plate.name}.svg").read_bytes())
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert not tags & {"script", "foreignObject", "a", "iframe"}


def test_without_the_function_the_report_says_so(tmp_path):
    model = evil_model()
    found = write_report(af.load(model.save(tmp_path / "model")), tmp_path / "report", formats=["png"])
    assert found.verification is None
    assert [plate.name for plate in found.plates] == ["budget", "attention", "sizes"] or [
        plate.name for plate in found.plates
    ] == ["budget", "sizes"]
    text = (tmp_path / "report" / "report.md").read_text()
    assert "This was *not* proved for this report" in text
    assert "## Left out" in text
    assert "anyformer verify DIR --target path/to/file.py:function" in text
    assert "**Proved**" not in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tolerance": 0.0}, "'tolerance' must be an error from 0"),
        ({"certified_error": -1.0}, "'certified_error' must be an error from 0"),
        ({"terms": {"x\x1b": 1e300}}, r"'terms.x\\x1b' must be an error from 0 to 1e\+100"),
        ({"tolerance": 5e-324}, "at least 1e-100"),
        ({"p": 0.5}, "p must be at least 1"),
    ],
)
def test_numbers_that_cannot_be_drawn_are_refused(softmax, tmp_path, changes, said):
    model = replace(softmax.model, certificate=replace(softmax.certificate, **changes))
    with pytest.raises(af.AnyformerError, match=said):
        write_report(model, tmp_path / "report")
    assert not list(tmp_path.iterdir())


def test_networks_that_overflow_are_not_drawn(softmax, tmp_path):
    network = replace(softmax.network, W_R=softmax.network.W_R * 1e300, b_R=softmax.network.b_R + 1e307)
    found = write_report(replace(softmax.model, network=network), tmp_path / "report", formats=["svg"])
    assert found.verification.verdict is not Verdict.PROVED
    assert "function" not in [plate.name for plate in found.plates]
    assert "overflows on the inputs shown" in (tmp_path / "report" / "report.md").read_text()


def test_nothing_is_left_of_a_report_that_fails(softmax, tmp_path, monkeypatch):
    place = tmp_path / "report"
    monkeypatch.setattr(reports, "FIGURES", (reports.budget.plates,))
    write_report(softmax.model, place, formats=["svg"])
    before = contents(place)
    monkeypatch.setattr(reports, "picture_bytes", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(softmax.model, place, formats=["svg"], overwrite=True)
    assert contents(place) == before
    with pytest.raises(ZeroDivisionError):
        write_report(softmax.model, tmp_path / "other", formats=["svg"])
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_only_reports_are_overwritten(softmax, quick, tmp_path):
    place = tmp_path / "report"
    write_report(softmax.model, place, formats=["svg", "png"])
    with pytest.raises(UsageError, match=r"it holds a report\. Pass overwrite to replace it"):
        write_report(softmax.model, place)
    write_report(softmax.model, place, formats=["png"], overwrite=True)
    assert sorted(contents(place)) == ["budget.png", "report.md", "sizes.png"]
    (place / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match=r"it also holds thesis\.tex"):
        write_report(softmax.model, place, overwrite=True)
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "map.png").write_text("a map")
    with pytest.raises(UsageError, match=r"it has no report\.md"):
        write_report(softmax.model, tmp_path / "pictures", overwrite=True)
    (tmp_path / "file").write_text("a file")
    with pytest.raises(UsageError, match="it is a file or a link"):
        write_report(softmax.model, tmp_path / "file", overwrite=True)
    assert (place / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize(
    ("formats", "said"), [(["gif"], "got 'gif'"), ([], "got none"), (["svg", "../x"], r"got 'svg', '\.\./x'")]
)
def test_unknown_formats_are_refused(softmax, tmp_path, formats, said):
    with pytest.raises(UsageError, match=said):
        write_report(softmax.model, tmp_path / "report", formats=formats)
    assert not list(tmp_path.iterdir())


def test_matplotlib_is_needed_and_named(softmax, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "anyformer\[plots\]"'):
        write_report(softmax.model, tmp_path / "report")


def test_it_is_in_the_package():
    assert af.write_report is write_report
    assert "write_report" in dir(af)
