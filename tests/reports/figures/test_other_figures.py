"""The pattern, the float types, and the numbers in captions."""

import math

import pytest

import anyformer as af
from anyformer.parity.runners import Engine
from anyformer.reports.figures import dtypes, sparsity
from anyformer.reports.figures.dtypes import by_type, draw_by_type
from anyformer.reports.figures.numbers import at_most, norm
from anyformer.reports.figures.subject import Subject


def test_the_pattern_is_that_of_the_network(sparse, table):
    assert sparsity.plates(table) == []
    (plate,) = sparsity.plates(sparse)
    assert plate.picture.axes[0].images[0].get_array().sum() == 10
    assert "10 connections a layer, of 16" in plate.caption


def test_long_patterns_are_left_out(sparse, monkeypatch):
    monkeypatch.setattr(sparsity, "MOST_TOKENS", 3)
    (found,) = sparsity.plates(sparse)
    assert "at most 3 tokens" in found.reason


def test_types_are_those_of_parity(softmax):
    shown = by_type(softmax, softmax.target, inputs=16)
    found = af.parity(softmax.model, softmax.target, inputs=16, runners=[Engine()], proofs=False)
    assert [(row.dtype, row.error, row.holds) for row in shown.rows] == [
        (row.dtype, row.distance, row.holds) for row in found.rows
    ]
    (panel,) = draw_by_type(shown).axes
    dots = [line.get_xdata()[0] for line in panel.lines if line.get_marker() in "oX"]
    assert dots == [row.error for row in shown.rows]
    assert panel.get_yticklabels()[0].get_text() == "float64 (certified)"


def test_a_type_that_breaks_the_guarantee_is_marked(table):
    shown = by_type(table, table.target, inputs=64)
    assert [row.holds for row in shown.rows][:2] == [True, False]
    (panel,) = draw_by_type(shown).axes
    assert [line.get_marker() for line in panel.lines if line.get_marker() in "oX"][:2] == ["o", "X"]
    assert any(text.get_text().endswith("beyond ε") for text in panel.texts)


def test_no_error_is_not_an_overflow():
    rows = (dtypes.InType("float64", 0.0, True, ""), dtypes.InType("float16", None, False, "the weights do not fit"))
    (panel,) = draw_by_type(dtypes.ByType(rows, "float64", 0.1, math.inf, 8)).axes
    assert [text.get_text() for text in panel.texts] == ["0", "does not fit, or overflows", "ε = 0.1"]


def test_large_networks_and_unknown_functions_have_none(softmax, monkeypatch):
    (unknown,) = dtypes.plates(Subject(softmax.model, None, None))
    assert "the function is not known" in unknown.reason
    monkeypatch.setattr(dtypes, "MOST_WORK", 1.0)
    (large,) = dtypes.plates(softmax)
    assert "anyformer parity" in large.reason


@pytest.mark.parametrize("value", [0.1, 1 / 3, 6.94444e-5, 123456.0, 1.0, 0.0, 5e-324, 0.0999999])
def test_bounds_are_rounded_up(value):
    assert value <= float(at_most(value)) <= value * 1.01 + 5e-324


def test_words_for_norms_and_infinities():
    assert (norm(2.0), norm(3.0), at_most(math.inf)) == ("L²", "L^3", "inf")
