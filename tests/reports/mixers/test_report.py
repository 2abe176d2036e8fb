"""The comparison's tables and pictures, from results that are made up: every number is where it should be."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("torch")

from anyformer.mixers import Attention, Average
from anyformer.reports.mixers import tables
from anyformer.reports.mixers.outcomes import (
    BASELINE,
    PRETRAINED,
    UNTRAINED,
    LearnedEntailment,
    LearnedWords,
    Outcomes,
    _entailment_compared,
    _words_compared,
)
from anyformer.reports.mixers.pictures import draw_curves, draw_entailment
from anyformer.training.comparison.entrants import Entrant
from anyformer.training.comparison.results import TestResult as Said
from anyformer.training.comparison.results import WordsResult
from anyformer.training.comparison.statistics import Interval, Over, Verdict
from anyformer.training.evaluation.words import WordScores

SOURCES = np.array(["mnli"] * 30 + ["snli"] * 70)


def words(name: str, loss: float, seeds: int = 3) -> LearnedWords:
    """Losses around a value: 40 windows of which all are a little different, the same for every name."""
    noise = np.random.default_rng(0).normal(0, 0.3, (seeds, 40))
    results = tuple(
        WordsResult(
            {"schedule": {"learning_rate": 0.002}},
            {"0.001": loss + 0.2, "0.002": loss + 0.1},
            1234,
            ((0, 6.0), (50, loss + 0.5), (100, loss)),
            WordScores(loss + row, np.full(40, 0.25), 19),
        )
        for row in noise
    )
    mixers = (Average(),) if name == "convolution" else (Attention(2),)
    return LearnedWords(Entrant(name, mixers, "neighbours"), results, 12.0)


def system(name: str, what: str, share: float, seeds: int = 1) -> LearnedEntailment:
    right = (np.arange(100) % 10 < 10 * share).astype(float)
    answer = Said("digest", {"0.001": share}, 0.001, ("neutral",) * 100, "answers")
    return LearnedEntailment(name, what, (answer,) * seeds, np.stack([right] * seeds))


@pytest.fixture(scope="module")
def outcomes() -> Outcomes:
    learned = (words("convolution", 3.5), words("attention", 3.0))
    ablation = words("attention-bert-start", 4.0, seeds=1)
    systems = (
        *(system("majority", BASELINE, 0.3), system("pair words", BASELINE, 0.5), system("overlap", BASELINE, 0.6)),
        *(system("attention", PRETRAINED, 0.8, 3), system("attention", UNTRAINED, 0.5, 3)),
    )
    over = Over.EXAMPLES_AND_SEEDS
    return Outcomes(
        learned,
        (ablation,),
        systems,
        SOURCES,
        _words_compared(learned, over),
        _entailment_compared(systems, tuple(range(100)), over),
        over,
    )


def test_words_have_their_means_with_the_factor_of_three_seeds(outcomes):
    heads, _convolution, attention = tables.words_rows(outcomes)
    assert attention[: heads.index("loss (nats)")] == ("attention", "1,234", "0.002", "12")
    losses = [result.scores.loss for result in outcomes.words[1].results]
    half = 4.3027 * np.std(losses, ddof=1) / np.sqrt(3)
    assert attention[heads.index("loss (nats)")] == f"{np.mean(losses):.3f} ± {half:.3f}"
    assert attention[-2:] == ("110M", "63.0")


def test_a_paired_difference_is_seen_where_two_separate_ones_overlap(outcomes):
    """Both have the same noise, so their difference is certain although each of them alone is not."""
    (one,) = outcomes.words_compared
    assert (one.first, one.second, one.verdict) == ("convolution", "attention", Verdict.ABOVE)
    assert one.difference.value == pytest.approx(0.5)
    _, row = tables.comparison_rows(outcomes.words_compared, 1.0, 3)
    assert row[2] == "+0.500"
    assert row[4] == "first is above"


def test_entailment_has_a_column_for_each_source_and_says_who_is_pretrained(outcomes):
    heads, *rows = tables.entailment_rows(outcomes)
    assert heads[4:6] == ("MNLI (%)", "SNLI (%)")
    assert [row[:2] for row in rows[-2:]] == [("attention", "yes"), ("attention", "no")]
    assert rows[-2][-1] == "78.2"
    assert rows[-1][-1] == ""
    assert rows[0][1:3] == ("", "")
    assert rows[1][3].startswith("50.0 ± ")


def test_only_the_questions_asked_before_are_compared(outcomes):
    assert [(one.first, one.second) for one in outcomes.entailment_compared] == [
        ("attention", "attention, not pre-trained"),
        ("attention", "pair words"),
        ("attention", "overlap"),
    ]


def test_the_start_is_compared_with_the_first_seed(outcomes):
    _, neighbours, bert = tables.ablation_rows(outcomes)
    assert neighbours[:2] == ("attention", "neighbours")
    assert neighbours[3] == f"{outcomes.words[1].results[0].scores.loss:.3f}"
    assert bert[:2] == ("attention", "BERT's")


def test_markdown_and_unknown_intervals():
    assert tables.markdown([("a", "b"), ("1", "2")]) == "| a | b |\n| --- | --- |\n| 1 | 2 |\n"
    assert tables.spread(Interval(0.5, -np.inf, np.inf), 1, 100.0) == "50.0"


def test_pictures_are_written(outcomes, tmp_path):
    draw_curves(outcomes.words, 4096, 6.7, tmp_path / "curves.svg")
    draw_entailment(outcomes.entailment, tmp_path / "entailment.png")
    text = (tmp_path / "curves.svg").read_text()
    assert "<title>Pre-training with different token mixers</title>" in text
    assert "million tokens seen" in text
    assert (tmp_path / "entailment.png").stat().st_size > 1000


def test_results_come_back_as_they_were(tmp_path):
    made = words("attention", 3.0).results[0]
    made.save(tmp_path / "words.json")
    back = WordsResult.load(tmp_path / "words.json")
    assert (back.recipe, back.rates, back.parameters, back.curve) == (
        *(made.recipe, made.rates, made.parameters, made.curve),
    )
    assert np.abs(back.scores.losses - made.scores.losses).max() <= 0.5e-6 + 1e-12
    said = system("attention", PRETRAINED, 0.8).results[0]
    said.save(tmp_path / "said.json")
    assert Said.load(tmp_path / "said.json") == said


def width(one):
    return one.difference.high - one.difference.low


def test_pairs_that_share_texts_are_resampled_together():
    right = np.repeat(np.arange(20) % 2, 10).astype(float)
    systems = tuple(
        LearnedEntailment(name, what, (), np.stack([scores]))
        for name, what, scores in (
            ("pair words", BASELINE, 1 - right),
            *(("overlap", BASELINE, 0 * right), ("a", PRETRAINED, right), ("a", UNTRAINED, 0 * right)),
        )
    )
    groups = (tuple(range(200)), tuple(np.repeat(range(20), 10).tolist()))
    apart, together = (_entailment_compared(systems, those, Over.EXAMPLES) for those in groups)
    # Twenty groups of ten equal pairs: an interval wider by √10.
    assert all(width(wide) > 2 * width(one) for one, wide in zip(apart, together, strict=True))


def test_neighbouring_windows_are_resampled_together():
    runs = np.repeat(np.random.default_rng(0).normal(0, 1, 20), 8)
    mixed = np.random.default_rng(1).permutation(runs)

    def compared(losses):
        first, second = words("convolution", 3.5, seeds=1), words("attention", 3.0, seeds=1)
        scored = [
            replace(one, results=(replace(one.results[0], scores=WordScores(row, row, 19)),))
            for one, row in ((first, losses), (second, 0 * losses))
        ]
        (found,) = _words_compared(tuple(scored), Over.EXAMPLES)
        return width(found)

    assert compared(runs) > 2 * compared(mixed)
