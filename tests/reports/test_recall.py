"""The report of associative recall: verdicts, tables and the picture from made-up results."""

import json
import math

import pytest

from anyformer.pictures import LOOKS as HOUSE
from anyformer.reports.recall.outcomes import Recalled, Verdict, interval, recalled, verdict
from anyformer.reports.recall.pictures import LOOKS, OTHER
from anyformer.reports.recall.report import guessing, show_results
from anyformer.reports.recall.tables import markdown_table
from anyformer.training.recall.budgets import BUDGETS
from anyformer.training.recall.runs import begin, choosing, learn
from anyformer.training.recall.task import Question
from tests.training.recall.small import budget


def made(name: str, question: str = "content", **given) -> Recalled:
    facts = {
        "mixers": ({"kind": "average"},),
        "rate": 0.003,
        "validation": {"0.003": 0.5},
        "parameters": 1234,
        "pairs": (2, 4),
        "shares": ((0.5, 0.6, 0.7), (0.25, 0.25, 0.25)),
        "steps": (9, 9, 6),
        "seconds": (1.0, 2.0, 1.5),
    }
    return Recalled(name=name, question=question, **{**facts, **given})


def test_intervals_have_the_factor_for_few_seeds():
    # Student's 0.975 quantiles from a table: 12.706 for 1 degree of freedom, 4.303 for 2.
    assert interval([0.2, 0.4]) == pytest.approx(12.706 * 0.1, rel=1e-4)
    assert interval([0.5, 0.6, 0.7]) == pytest.approx(4.303 * 0.1 / math.sqrt(3), rel=1e-3)
    assert math.isnan(interval([0.5]))


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ((1.0, 0.99, 0.995), Verdict.SOLVED),
        ((1.0, 1.0, 0.98), Verdict.ABOVE),
        ((0.5, 0.52, 0.51), Verdict.ABOVE),
        ((0.25, 1.0, 0.26), Verdict.MIXED),
        # The line is 0.25 and one standard deviation of 300 sequences 0.025: 0.32 is within three, 0.33 is not.
        ((0.25, 0.32, 0.26), Verdict.NOT),
        ((0.25, 0.33, 0.26), Verdict.MIXED),
        ((0.02, 0.03, 0.01), Verdict.NOT),
        ((0.6,), Verdict.MIXED),
        ((1.0,), Verdict.SOLVED),
    ],
)
def test_a_verdict_says_no_more_than_the_seeds_do(shares, said):
    assert verdict(shares, 4, 300) is said


def test_the_table_shows_every_seed_and_the_line():
    rows = [made("hybrid", shares=((1.0,) * 3, (0.995, 1.0, 1.0))), made("average"), made("bilinear", "place")]
    assert markdown_table(rows, "content", 300).splitlines() == [
        "| mixer | parameters | rate | seeds | 2 pairs | 4 pairs | with most pairs |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| hybrid | 1,234 | 0.003 | 3 | 100.0 | 99.8 ± 0.7 (99.5, 100.0, 100.0) | solved |",
        "| average | 1,234 | 0.003 | 3 | 60.0 ± 24.8 (50.0, 60.0, 70.0) | 25.0 | not above the line |",
        "| *without matching* |  |  |  | 50.0 | 25.0 |  |",
    ]
    assert [line.split(" | ")[0] for line in markdown_table(rows, "place", 300).splitlines()[2:]] == ["| bilinear"]


@pytest.mark.parametrize("size", BUDGETS.values(), ids=BUDGETS)
def test_every_entrant_has_a_look_of_its_own(size):
    assert {entrant.name for entrant in size.entrants} <= set(LOOKS)
    looks = [*LOOKS.values(), OTHER]
    assert len({look.marker for look in looks}) == len({look.colour for look in looks}) == len(looks)
    assert {type(look) for look in looks} == {type(HOUSE[0])}


def test_the_report_is_made_from_the_file_alone(tmp_path):
    outcomes = [vars(made(name, question.value)) for question in Question for name in (*LOOKS, "own:size=$1")]
    data = {"budget": {"judged": 300}, "guessing": {"chance": 0.1}, "outcomes": outcomes}
    shown = show_results(json.loads(json.dumps(data)), tmp_path)
    assert shown == [Recalled(**outcome) for outcome in outcomes]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["content.md", "place.md", "recall.png"]
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    show_results(data, tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_runs_are_gathered_once_their_rate_is_chosen(tmp_path):
    asked = budget("average", rates=(1e-3,))
    begin(asked, tmp_path)
    assert recalled(asked, tmp_path) == []
    learn(asked, choosing(asked, tmp_path)[0])
    (one,) = recalled(asked, tmp_path)
    assert (one.name, one.question, one.rate, one.pairs) == ("average", "content", 1e-3, (2, 3))
    assert [len(shares) for shares in one.shares] == [1, 1]
    assert list(one.validation) == ["0.001"]


def test_what_is_reached_without_mixing_is_stated():
    told = guessing(budget())
    assert told["chance"] == 0.25
    assert told["without_matching"] == {"2": 0.5, "3": 1 / 3}
    assert set(told["best_rule"]) == {"2", "3"}
