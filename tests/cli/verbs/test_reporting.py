"""`report` on the command line."""

import sys

import pytest

pytest.importorskip("matplotlib")


def test_figures_and_a_text_are_written(call, folders, tmp_path):
    outcome = call("report", folders["softmax"], "-o", tmp_path / "report", "--format", "svg", "--json")
    assert outcome.code == 0
    data = outcome.data
    assert (data["verdict"], data["output"], data["left_out"]) == ("proved", str(tmp_path / "report"), [])
    files = {name for figure in data["figures"] for name in figure["files"]}
    assert {path.name for path in (tmp_path / "report").iterdir()} == {"report.md", *files}
    assert {"function.svg", "budget.svg", "program.svg"} <= files


@pytest.mark.slow
def test_the_text_lists_them(call, folders, tmp_path):
    outcome = call("report", folders["mean-scale"], "-o", tmp_path / "report", "--format", "svg,png")
    assert outcome.code == 0
    assert "figures and report.md written to" in outcome.out
    assert "proved: the error is at most the tolerance" in outcome.out
    assert "context-ids.{svg,png}" in outcome.out


@pytest.mark.slow
def test_own_functions_are_named_again(call, own, tmp_path):
    built = call("build", "own.py:halve", "--tokens", 2, "--epsilon", 0.3, "--p", "inf", "-o", "model")
    assert built.code == 0
    unknown = call("report", "model", "-o", "unknown", "--format", "svg", "--json")
    assert (unknown.code, unknown.data["verdict"]) == (0, None)
    assert {one["title"] for one in unknown.data["left_out"]} >= {"The program", "Float types"}
    assert "not checked" in call("report", "model", "-o", "again", "--format", "svg").out
    named = call("report", "model", "-o", "named", "--format", "svg", "--target", "own.py:halve", "--json")
    assert (named.code, named.data["verdict"], named.data["left_out"]) == (0, "proved", [])


def test_a_refutation_is_written_and_has_a_code(call, own):
    call("build", "own.py:halve", "--tokens", 2, "--epsilon", 0.3, "--p", "inf", "-o", "model")
    wrong = call("report", "model", "-o", "wrong", "--format", "svg", "--target", "own.py:third", "--json")
    assert wrong.code == 1
    assert wrong.data["verdict"] in ("refuted", "undecided")
    assert "**Proved**" not in (own / "wrong" / "report.md").read_text()


def test_bad_places_and_formats_are_refused_before_any_work(refused, folders, tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    assert "it also holds thesis.tex" in refused("report", folders["softmax"], "-o", tmp_path)
    assert "must be some of svg, png, pdf; got 'gif'" in refused(
        "report", folders["softmax"], "-o", tmp_path / "r", "--format", "gif"
    )
    assert "--one-by-one must come with --target" in refused(
        "report", folders["softmax"], "-o", tmp_path / "r", "--one-by-one"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_without_matplotlib(refused, folders, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said = refused("report", folders["softmax"], "-o", tmp_path / "r", kind="MissingPackageError")
    assert 'pip install "anyformer[plots]"' in said
