"""The report of sparse language models, from made-up results."""

import json

from anyformer.reports.sparse_lm import Learned, markdown_table, show_results
from anyformer.training.sparse_lm import ENTRANTS


def made(name: str, place: int, **given) -> Learned:
    facts = {"losses": (5.5 - 0.1 * place, 5.25), "accuracies": (0.125, 0.25), "curves": (((0, 8.3), (4, 5.25)),)}
    return Learned(name, 0.01 * (place + 1), 20.0 + place, **{**facts, **given})


def test_the_table_has_means_and_standard_errors():
    assert markdown_table([made("star", 0), made("dense", 1, losses=(5.0,), accuracies=(0.5,))]).splitlines()[2:] == [
        "| star | 1.0 | 20 | 5.375 ± 0.125 | 18.8 ± 6.2 |",
        "| dense | 2.0 | 21 | 5.000 | 50.0 |",
    ]


def test_the_report_is_made_from_the_file_alone(tmp_path):
    rows = [made(entrant.name, place) for place, entrant in enumerate(ENTRANTS)]
    data = {"unigram_loss": 5.6, "outcomes": [vars(row) for row in rows]}
    assert show_results(json.loads(json.dumps(data)), tmp_path) == rows
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert sorted(before) == ["losses.png", "table.md"]
    show_results(data, tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
