import dataclasses
import inspect
import json
import warnings

import pytest

import anyformer as af
from anyformer import comparison
from anyformer.certificates import Claim, Evidence
from anyformer.certificates.checker import Verdict, Verification
from anyformer.certificates.claims.declaration import Declaration
from anyformer.cli.verbs import comparing
from anyformer.comparison import attempt, compare, curve
from anyformer.construction import Averaging, Request
from anyformer.reports.comparisons import curve_pictures
from anyformer.reports.comparisons.comparison import comparison_data, comparison_view
from anyformer.reports.comparisons.curve_pictures import write_picture
from anyformer.reports.comparisons.curves import curve_data, curve_view
from tests.reports.rendering import render

MEAN = af.targets.mean_scale(tokens=2)


def asked(tolerance, **others):
    return Request(target=MEAN, tolerance=tolerance, **others)


@pytest.fixture(scope="module")
def tried():
    return compare(asked(0.3))


def test_a_refusal_is_shown_with_its_reason_and_what_would_fit_as_data():
    request = asked(0.1, max_layers=10)
    refused = compare(request, methods=[Averaging()])
    text = " ".join(render(comparison_view(request, refused)).split())
    assert "refused: it needs at least 4 cells per token, and so 17 layers where 10 are allowed" in text
    assert "What would fit" not in text
    (row,) = json.loads(json.dumps(comparison_data(request, refused)))["methods"]
    assert (row["needed"], row["layers"]) == ("17 layers", None)
    assert (row["refusal"]["resource"], row["refusal"]["needed"], row["refusal"]["allowed"]) == ("layers", 17, 10)
    would_fit = row["refusal"]["would_fit"]["tolerance"]
    assert af.plan(MEAN, would_fit, method="averaging", max_layers=10).layers <= 10


def test_a_model_that_is_not_verified_is_shown_as_refused(tried):
    claim = Claim(Declaration.of(MEAN), 2.0, 0.3, Evidence.UNCONDITIONAL, "0" * 64)
    verdict = Verification(claim, Verdict.UNDECIDED, "the bound is 0.4", None)
    unsure = dataclasses.replace(tried[0], verification=verdict)
    assert comparison_data(asked(0.3), [unsure])["methods"][0]["refused"] == "built, but not verified: the bound is 0.4"
    assert "refused" in render(comparison_view(asked(0.3), [unsure]))


def test_what_takes_too_long_is_shown_as_skipped():
    request = asked(0.1)
    skipped = compare(request, methods=[Averaging()], patience=1e-3)
    (row,) = comparison_data(request, skipped)["methods"]
    assert row["skipped"].startswith("not built: about ")
    assert (row["certified_error"], row["refused"]) == (None, None)
    assert row["skipped"] in render(comparison_view(request, skipped))


@pytest.mark.parametrize("verb", [comparing.compare, comparing.curve])
def test_the_command_line_is_as_patient_as_the_functions(verb):
    assert inspect.signature(verb).parameters["patience"].default == comparison.PATIENCE


def test_the_table_fits_80_columns(tried):
    text = render(comparison_view(asked(0.3), tried))
    for row, one in zip(comparison_data(asked(0.3), tried)["methods"], tried, strict=True):
        (line,) = (line for line in text.splitlines() if row["method"] in line)
        sizes = ("layers", "attention_layers", "connections", "parameters", "id_bits")
        errors = (f"{row['certified_error']:.4g}", f"{row['measured_error']:.4g}")
        times = (f"{one.build_seconds:.2f}", f"{one.verify_seconds:.2f}")
        # A program has neither cells nor ids.
        numbers = [row[name] for name in sizes if row[name] is not None]
        shown = [row["method"], *map(str, row["cells_per_axis"] or ()), *map(str, numbers), *errors, *times]
        assert line.split() == shown
    assert max(map(len, text.splitlines())) <= 80


@pytest.fixture(scope="module")
def mixed():
    """A curve of tables with points of every kind: refused, certified and skipped."""
    request = asked(0.05, max_layers=20, method=Averaging())
    return request, (*curve(request, [0.05, 0.1, 0.4]), attempt(asked(0.5), patience=1e-9))


def test_curve_as_text(mixed):
    text = render(curve_view(*mixed, "a.svg"))
    for shown in ("refused", "skipped", "not built", "written to", "a.svg", "0.05", "mean-scale on 2 tokens"):
        assert shown in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_pictures_replace_in_one_step(mixed, tmp_path, suffix, start):
    pytest.importorskip("matplotlib")
    place = tmp_path / f"curve{suffix}"
    place.write_bytes(b"old")
    assert write_picture(*mixed, place) == place
    assert place.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [place]


def test_a_picture_that_fails_leaves_the_old_one(mixed, tmp_path, monkeypatch):
    place = tmp_path / "curve.png"
    place.write_bytes(b"old")
    monkeypatch.setattr(curve_pictures, "picture", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_picture(*mixed, place)
    assert place.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [place]


def test_what_is_drawn(mixed):
    pytest.importorskip("matplotlib")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure = curve_pictures.picture(*mixed)
    errors, times, layers = figure.axes
    drawn = {line.get_label(): line for panel in figure.axes for line in panel.lines}
    points = curve_data(*mixed, None)["points"]
    certified = [point for point in points if point["certified_error"] is not None]
    for label, values in {
        "error = ε": [point["epsilon"] for point in certified],
        "certified error": [point["certified_error"] for point in certified],
        "measured error": [point["measured_error"] for point in certified],
        "layers (right)": [point["layers"] for point in certified],
        "seconds": [point["build_seconds"] for point in certified],
    }.items():
        assert list(drawn[label].get_ydata()) == values
        assert list(drawn[label].get_xdata()) == [point["epsilon"] for point in certified]
    assert len([line for line in times.lines if line.get_linestyle() == ":"]) == 2
    assert {panel.get_xscale() for panel in (errors, times)} == {"log"} == {panel.get_yscale() for panel in figure.axes}
    assert (errors.get_xlabel(), times.get_ylabel(), layers.get_ylabel()) == ("tolerance ε", "seconds", "layers")
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {*drawn} - {*(n for n in drawn if n.startswith("_"))}


def test_names_cannot_play_tricks_on_a_picture(mixed, tmp_path):
    pytest.importorskip("matplotlib")
    _, points = mixed

    def evil(x):
        return x / 2

    evil.__name__ = "a $\\frac{ \x1b[31m \U0001f600"
    tricky = Request(target=af.target(evil, tokens=2, lipschitz=1.0), tolerance=0.5)
    assert write_picture(tricky, points, tmp_path / "evil.png").stat().st_size > 0
