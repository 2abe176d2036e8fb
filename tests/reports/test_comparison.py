import inspect
import warnings

import pytest

import anyformer as af
from anyformer.certificates import Claim, Evidence
from anyformer.certificates.checker import Verdict, Verification
from anyformer.certificates.declaration import Declaration
from anyformer.cli import comparing
from anyformer.construction.select import methods_for
from anyformer.errors import CertificateError, PlanError, TargetError
from anyformer.reports import comparison, curves
from anyformer.reports.comparison import Asked, compare, comparison_view, first_sentence, in_short, size_named
from anyformer.reports.curves import CurvePoint, curve, curve_view, tolerances, write_picture

from .rendering import render

MEAN = af.targets.mean_scale(tokens=2)


@pytest.fixture(scope="module")
def rows():
    return compare(MEAN, 0.3)


def test_every_method_builds_what_construct_builds(rows):
    assert [row.method for row in rows] == methods_for(None)
    for row in rows:
        built = af.construct(MEAN, 0.3, method=row.method)
        planned = built.construction.plan
        assert row.is_certified
        assert row.cells_per_axis == planned.lattice.counts
        assert (row.layers, row.attention_layers) == (built.network.layer_count, built.network.attention_layer_count)
        assert (row.parameters, row.id_bits) == (built.network.parameter_count, planned.id_bits)
        assert row.certified_error == built.certificate.certified_error
        assert row.measured_error == built.certificate.measured.error
        assert row.kind == built.certificate.kind.value
        assert row.build_seconds > 0
        assert row.verify_seconds > 0
        assert (row.refused, row.needed, row.skipped) == (None, None, None)


def test_a_refusal_is_a_row_with_the_size_that_was_too_large():
    with pytest.raises(PlanError) as raised:
        af.plan(MEAN, 0.1, method="averaging", max_layers=10)
    (row,) = compare(MEAN, 0.1, methods=["averaging"], max_layers=10)
    assert row.refused == str(raised.value)
    assert row.needed == "17 layers"
    assert (row.layers, row.certified_error, row.build_seconds) == (None, None, None)
    assert not row.is_certified
    text = " ".join(render(comparison_view(MEAN, 0.1, 2.0, [row])).split())
    assert "refused: it needs at least 4 cells per token, and that means 17 layers where 10 are allowed" in text
    assert "What would fit" not in text


def test_the_size_is_found_in_bits_too():
    with pytest.raises(PlanError) as raised:
        af.plan(MEAN, 0.01, method="selective-shift", max_layers=10**12)
    assert size_named(str(raised.value)).startswith("ids of ")


def test_a_proof_that_fails_is_a_row(monkeypatch):
    def failing(*_):
        raise CertificateError("the proof reaches 0.31, not 0.3; nothing is returned. Ask for 0.31 or more.")

    monkeypatch.setattr(comparison, "construct", failing)
    for row in compare(MEAN, 0.3):
        assert row.refused.endswith("or more.")
        assert (row.needed, row.layers) == (None, None)
        assert in_short(row.refused) == "the proof reaches 0.31, not 0.3"


def test_a_model_that_is_not_verified_is_not_certified(monkeypatch):
    claim = Claim(Declaration.of(MEAN), 2.0, 0.3, Evidence.UNCONDITIONAL, "0" * 64)
    verdict = Verification(claim, Verdict.UNDECIDED, "the bound is 0.4", None)
    monkeypatch.setattr(af.Model, "verify", lambda self, **_: verdict)
    (row,) = compare(MEAN, 0.3, methods=["averaging"])
    assert row.refused == "built, but not verified: the bound is 0.4"
    assert not row.is_certified
    assert "refused" in render(comparison_view(MEAN, 0.3, 2.0, [row]))


def test_a_target_that_is_not_as_declared_is_no_row():
    with pytest.raises(TargetError):
        compare(af.target(lambda x: x * [[1], [2]], tokens=2, lipschitz=2.0), 0.3)


def test_patience_leaves_the_planned_sizes():
    (row,) = compare(MEAN, 0.1, methods=["selective-shift"], patience=1e-3)
    planned = af.plan(MEAN, 0.1, method="selective-shift")
    assert (row.layers, row.parameters, row.id_bits) == (planned.layers, planned.parameters, planned.id_bits)
    assert row.skipped.startswith("not built: about ")
    assert (row.certified_error, row.refused, row.is_certified) == (None, None, False)
    assert row.skipped in render(comparison_view(MEAN, 0.1, 2.0, [row]))


@pytest.mark.parametrize("verb", [comparing.compare, comparing.curve])
def test_the_command_line_is_as_patient_as_the_functions(verb):
    assert inspect.signature(verb).parameters["patience"].default == comparison.PATIENCE


def test_the_table_fits_80_columns(rows):
    text = render(comparison_view(MEAN, 0.3, 2.0, rows))
    for row in rows:
        (line,) = (line for line in text.splitlines() if row.method in line)
        sizes = (row.cells_per_axis[0], row.layers, row.attention_layers, row.connections, row.parameters, row.id_bits)
        errors = (f"{row.certified_error:.4g}", f"{row.measured_error:.4g}")
        times = (f"{row.build_seconds:.2f}", f"{row.verify_seconds:.2f}")
        assert line.split() == [row.method, *map(str, sizes), *errors, *times]
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("message", "sentence"),
    [("an error of 0.25 is much. More.", "an error of 0.25 is much"), ("one.\nTwo", "one"), ("none", "none")],
)
def test_first_sentences(message, sentence):
    assert first_sentence(message) == sentence


def test_tolerances_keep_both_ends():
    assert tolerances(0.1, 0.4, 3) == pytest.approx((0.1, 0.2, 0.4))
    made = tolerances(0.07, 0.9, 5)
    assert (made[0], made[-1]) == (0.07, 0.9)


@pytest.fixture(scope="module")
def mixed():
    """A curve with points of every kind: refused, skipped and certified."""
    asked = Asked(MEAN, max_layers=20)
    return asked, (*curve(asked, [0.05, 0.1, 0.4]), CurvePoint(0.5, "averaging", layers=6, skipped="not built"))


def test_curve_points_are_what_construct_builds(mixed):
    _, (refused, one, other, _) = mixed
    assert "layers where 20 are allowed" in refused.refused
    assert not refused.is_certified
    for point in (one, other):
        built = af.construct(MEAN, point.epsilon)
        assert point.method == built.construction.plan.method
        assert point.certified_error == built.certificate.certified_error <= point.epsilon
        assert point.measured_error == built.certificate.measured.error
        assert (point.layers, point.parameters) == (built.network.layer_count, built.network.parameter_count)
        assert point.cells_per_axis == built.construction.plan.lattice.counts
        assert point.build_seconds > 0


def test_curve_skips_what_takes_too_long():
    (point,) = curve(Asked(MEAN, patience=1e-9), [0.3])
    assert point.layers == af.plan(MEAN, 0.3).layers
    assert point.skipped.startswith("not built: about ")
    assert not point.is_certified


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
    monkeypatch.setattr(curves, "picture", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_picture(*mixed, place)
    assert place.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [place]


def test_what_is_drawn(mixed):
    pytest.importorskip("matplotlib")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure = curves.picture(*mixed)
    errors, times, layers = figure.axes
    drawn = {line.get_label(): line for panel in figure.axes for line in panel.lines}
    certified = [point for point in mixed[1] if point.is_certified]
    for label, values in {
        "error = ε": [point.epsilon for point in certified],
        "certified error": [point.certified_error for point in certified],
        "measured error": [point.measured_error for point in certified],
        "layers (right)": [point.layers for point in certified],
        "seconds": [point.build_seconds for point in certified],
    }.items():
        assert list(drawn[label].get_ydata()) == values
        assert list(drawn[label].get_xdata()) == [point.epsilon for point in certified]
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
    tricky = Asked(af.target(evil, tokens=2, lipschitz=1.0))
    assert write_picture(tricky, points, tmp_path / "evil.png").stat().st_size > 0
