"""On a terminal of any width: no word is broken, nothing is lost, and what fits keeps within the width."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyformer.reports.layout import LEAST, joined, wrapped
from anyformer.reports.terminal import facts, heading, narrow_table, paragraph, table
from tests.reports.rendering import render

COLUMNS = st.integers(min_value=12, max_value=220)
WORDS = st.text("abc0123456789.,e-×", min_size=1, max_size=24)
CELLS = st.lists(WORDS, max_size=12).map(" ".join)


def words(text):
    return Counter(word for word in text.split() if set(word) != {"─"})


def rows_of(width):
    return st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=4)


@given(rows_of(4), COLUMNS)
def test_a_table_loses_and_breaks_nothing(rows, columns):
    text = render(table(("name", "why", "L", "where"), rows, wrapping=("why", "where"), right=("L",)), columns)
    assert words(" ".join(cell for row in rows for cell in row)) <= words(text)


@given(rows_of(3), COLUMNS)
def test_facts_lose_and_break_nothing(rows, columns):
    assert words(render(facts(rows), columns)) == words(" ".join(cell for row in rows for cell in row))


@given(CELLS, COLUMNS)
def test_paragraphs_lose_and_break_nothing(text, columns):
    assert words(render(paragraph(text), columns)) == words(text)


@given(st.lists(st.lists(WORDS, min_size=3, max_size=3), min_size=1, max_size=4), COLUMNS)
def test_numbers_in_a_narrow_table_are_whole(rows, columns):
    text = render(narrow_table(("method", "para-\nme-\nters", "build\n(s)"), rows), columns)
    assert words(" ".join(cell for row in rows for cell in row[1:])) <= words(text)
    for name, *_ in rows:
        assert name in text.replace(" ", "").replace("\n", "") or "-" in name


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_what_fits_keeps_within_the_width(columns):
    prose = "a long explanation of 123,456.125 things " * 6
    rows = [("first-of-all", "1234567890.125", prose), ("second", "2", "short")]
    for view in (
        table(("name", "value", "why"), rows, wrapping=("why",), right=("value",)),
        narrow_table(("name", "va-\nlue"), [row[:2] for row in rows]),
        facts(rows),
        paragraph(prose),
        heading(prose),
    ):
        assert max(map(len, render(view, columns).splitlines())) <= columns


def test_a_table_that_fits_stands_side_by_side():
    rows = [("mean", "2", "every token times the mean of all"), ("sort", "10", "ascending")]
    text = render(table(("target", "L", "what it is"), rows, wrapping=("what it is",), right=("L",)), 38)
    assert text.splitlines() == [
        "",
        "  target   L  what it is",
        "  ────────────────────────────────────",
        "  mean     2  every token times the",
        "              mean of all",
        "  sort    10  ascending",
        "",
    ]


def test_a_table_that_does_not_fit_is_stacked():
    rows = [("mean", "2", "every token times the mean of all"), ("sort", "10", "")]
    text = render(table(("target", "L", "what it is"), rows, wrapping=("what it is",), right=("L",)), 30)
    assert text.splitlines() == [
        "",
        "target mean",
        "  L           2",
        "  what it is",
        "    every token times the mean",
        "    of all",
        "target sort",
        "  L  10",
        "",
    ]


def test_heads_that_are_broken_in_a_table_are_whole_where_it_is_stacked():
    rows = [("sparse-selective-shift", "1,234", "0.25"), ("1e-05", "7", "")]
    view = narrow_table(("method", "para-\nme-\nters", "build\n(s)"), rows)
    assert render(view, 23).splitlines()[3:] == [
        " method      ters   (s)",
        " ──────────────────────",
        " sparse-    1,234  0.25",
        " selective-",
        " shift",
        " 1e-05          7",
        "",
    ]
    assert render(view, 18).splitlines()[1:] == [
        *("method", "sparse-selective-shift", "  parameters", "    1,234", "  build (s)   0.25"),
        *("method 1e-05", "  parameters  7", ""),
    ]


def test_a_word_wider_than_the_terminal_is_left_to_it():
    digest = "0123456789abcdef" * 4
    lines = render(facts([("weights", digest), ("kind", "unconditional")]), 60).splitlines()
    assert lines == ["  weights", f"    {digest}", "  kind     unconditional"]
    assert render(facts([("-", f"see {digest} there")]), 60).splitlines() == [
        "  -  see",
        f"     {digest}",
        "     there",
    ]


def test_text_is_wrapped_between_words():
    assert wrapped("", 5) == [""]
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("日本語 日本語", 7) == ["日本語", "日本語"]  # each of these letters takes two columns
    assert joined(["se-", "lec-", "tive"], 7, between="") == ["se-lec-", "tive"]
    assert len("explanations") < LEAST
