"""The report of the copying task: tables and pictures from made-up results."""

import json

import pytest

from anyformer.reports.copying.outcomes import Copied, ceiling
from anyformer.reports.copying.pictures import DASHES, KINDS
from anyformer.reports.copying.report import show_results
from anyformer.reports.copying.tables import detail_table, markdown_table
from anyformer.training.copying.budgets import BUDGETS, entrants


def made(kind: str, layers: int, how: str | None = None, **given) -> Copied:
    facts = {"links": 0.25, "within_reach": 1.0, "capacity": 3, "symbols": (0.5, 0.75), "sequences": (0.0, 0.25)}
    name = kind if how is None else f"{kind}-{how}"
    return Copied(name, kind, how, layers, **{**facts, "steps": (2000, 900), "seconds": (60.0, 31.5), **given})


def test_what_is_out_of_reach_is_guessed():
    assert ceiling(made("window", 2, within_reach=0.0), symbols=5) == 0.2
    assert ceiling(made("random", 2, within_reach=0.75), symbols=5) == pytest.approx(0.8)


def test_the_tables_show_every_seed_that_differs():
    rows = [made("dense", 1, symbols=(1.0, 1.0)), made("dense", 2), made("fixed", 2, "union", symbols=(0.25,))]
    assert markdown_table(rows).splitlines() == [
        "| pattern | links (%) | 1 layer | 2 layers | paper |",
        "| --- | --- | --- | --- | --- |",
        "| dense | 25 | 100.0 | 62.5 (50.0, 75.0) |  |",
        "| fixed-union | 25 |  | 25.0 | 100 % by 2 to 4 layers |",
    ]
    assert detail_table(rows[1:2], 6).splitlines()[2] == (
        "| dense | 2 | 3 | 100.0 | 62.5 (50.0, 75.0) | 12.5 (0.0, 25.0) | 2,000, 900 |"
    )


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
def test_every_entrant_has_a_look_of_its_own(budget):
    compared = entrants(budget.window)
    assert {entrant.kind for entrant in compared} == set(KINDS)
    assert {entrant.arrangement and entrant.arrangement.value for entrant in compared} == set(DASHES)
    assert len({entrant.name for entrant in compared}) == len(compared)
    assert len(set(KINDS.values())) == len(KINDS)


def test_the_report_is_made_from_the_file_alone(tmp_path):
    outcomes = [
        vars(made(entrant.kind, layers, how, capacity=layers + place, within_reach=layers / 2))
        for place, entrant in enumerate(entrants(4))
        for how in [entrant.arrangement and entrant.arrangement.value]
        for layers in (1, 2)
    ]
    data = {"budget": {"alphabet": {"length": 7, "symbols": 7}}, "outcomes": outcomes}
    shown = show_results(json.loads(json.dumps(data)), tmp_path)
    assert shown == [Copied(**outcome) for outcome in outcomes]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["capacity.png", "depths.png", "details.md", "table.md"]
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    show_results(data, tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
