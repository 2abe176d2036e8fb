"""`context`: a table of layers, JSON, a page and a picture; wrong options are refused before anything is measured."""

import pytest

MODEL = """
import numpy as np
TABLE = np.random.default_rng(0).normal(size=(8, 3))

def layers(x):
    return [x, x + 2 * x.sum(axis=1, keepdims=True)]
"""


def test_a_table_is_measured_on_its_cells(call, folders, tmp_path):
    outcome = call("context", folders["sort"], "--json", "--changes", "1", "-o", tmp_path / "page.html")
    assert outcome.code == 0
    assert outcome.data["ids"]["agree"]
    assert outcome.data["ids"]["is_contextual"]
    assert outcome.data["contextual_layers"]
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    text = call("context", folders["sort"], "--changes", "1")
    for words in ("not contextual", "every id is the one that the labels give", "contextual mappings on these"):
        assert words in " ".join(text.out.split())
    again = call("context", folders["sort"], "-o", tmp_path / "page.html")
    assert again.code == 2
    assert "must be a new file" in again.err


def test_a_picture_is_written(call, folders, tmp_path):
    pytest.importorskip("matplotlib")
    assert call("context", folders["sort"], "--changes", "1", "--figure", tmp_path / "a.svg", "--json").code == 0
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--changes", "one"), "whole numbers"),
        (("--figure", "a.gif"), "must end in one of"),
        (("--figure", "no/such/a.svg"), "must exist"),
        (("-o", "no/such/page.html"), "must exist"),
        (("--layers", "a"), "has no names"),
        (("--margin", "-1"), "margin"),
    ],
)
def test_wrong_options_are_refused(call, folders, arguments, says):
    outcome = call("context", folders["sort"], *arguments)
    assert outcome.code == 2
    assert says in " ".join(outcome.err.split())


def test_a_function_needs_sequences(call, tmp_path):
    (tmp_path / "own.py").write_text(MODEL)
    outcome = call("context", f"{tmp_path / 'own.py'}:layers")
    assert outcome.code == 2
    assert "sequences must be given" in outcome.err
