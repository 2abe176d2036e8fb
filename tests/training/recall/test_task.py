"""Associative recall: every label is right by brute force, chance levels are true, and planted leaks are caught."""

import itertools
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from anyformer.errors import TrainingError
from anyformer.mixers.bert.language import IGNORED
from anyformer.training.recall.guessing import best_rule, by_chance, without_matching
from anyformer.training.recall.task import FILLER, Layout, Question, Recall, answered, draw
from anyformer.training.run import seeds

LAYOUT = Layout(half=7, keys=5, values=4)
COUNT = 2000


def drawn(pairs: int = 3, question: Question = Question.CONTENT, count: int = 300, layout: Layout = LAYOUT):
    return draw(layout, pairs, count, question, seeds.generator("test", pairs))


def kinds(layout: Layout, token: int) -> str:
    return "filler" if token == FILLER else "key" if token <= layout.keys else "value"


@pytest.mark.parametrize("question", Question)
@pytest.mark.parametrize("pairs", [2, 3])
def test_every_label_is_what_a_reader_finds(question, pairs):
    batch = drawn(pairs, question)
    for tokens, labels in zip(batch["input_ids"].tolist(), batch["labels"].tolist(), strict=True):
        first, second = tokens[:7], tokens[7:]
        starts = [place for place in range(6) if kinds(LAYOUT, first[place]) == "key"]
        found = {first[place]: first[place + 1] for place in starts}
        assert len(found) == pairs
        assert len(set(found.values())) == pairs
        assert {kinds(LAYOUT, value) for value in found.values()} == {"value"}
        assert sum(token != FILLER for token in first) == 2 * pairs
        asked = [place for place, token in enumerate(second) if token != FILLER]
        assert sorted(second[place] for place in asked) == sorted(found)
        wanted = {7 + place: found[second[place]] if question is Question.CONTENT else first[place] for place in asked}
        assert {place: label for place, label in enumerate(labels) if label != IGNORED} == wanted


def test_both_questions_are_asked_of_the_same_sequences():
    by_content, by_place = (drawn(3, question) for question in Question)
    assert torch.equal(by_content["input_ids"], by_place["input_ids"])
    assert not torch.equal(by_content["labels"], by_place["labels"])


def test_every_sequence_has_the_same_chance():
    # 2 pairs in a half of 5: 3 places, 3·2 keys, 2·1 values, 2 orders.
    layout = Layout(half=5, keys=3, values=2)
    batch = drawn(2, count=7200, layout=layout)
    seen = Counter(map(tuple, batch["input_ids"].tolist()))
    assert len(seen) == 3 * 6 * 2 * 2
    # 100 of each: a count is off by more than 60, six standard deviations, with a chance below 1e-6 for all 72.
    assert all(40 < count < 160 for count in seen.values())


def test_without_comparing_keys_one_pair_is_as_likely_as_another():
    """By enumeration: whatever is seen besides which key stands where, the value asked is uniform over the pairs."""
    for pairs in (2, 3):
        told = Counter()
        for keys, order in itertools.product(
            itertools.permutations(range(4), pairs), itertools.permutations(range(pairs))
        ):
            queries = [keys[number] for number in order]
            told.update((tuple(sorted(queries)), query, order[query]) for query in range(pairs))
        for (shown, query, _), count in told.items():
            same = sum(told[shown, query, pair] for pair in range(pairs))
            assert count / same == without_matching(pairs) == 1 / pairs
    assert by_chance(LAYOUT) == 1 / 4


def tolerance(pairs: int) -> float:
    """Five standard deviations of a share measured on half of the sequences, each counted once."""
    return 5 * (without_matching(pairs) * (1 - without_matching(pairs)) / (COUNT / 2)) ** 0.5


@pytest.mark.parametrize("pairs", [2, 3])
def test_no_simple_rule_answers_by_content(pairs):
    _, share = best_rule(LAYOUT, drawn(pairs, count=COUNT))
    assert share <= without_matching(pairs) + tolerance(pairs)


def test_the_rule_of_places_answers_by_place():
    assert best_rule(LAYOUT, drawn(3, Question.PLACE, COUNT)) == ("for query n the value of pair n + 0", 1.0)


def in_order(batch):
    """Queries in the order of the pairs."""
    return drawn(3, Question.PLACE, COUNT)["labels"], "for query n the value of pair n + 0"


def fixed_values(batch):
    """The same value for a key in every sequence."""
    labels, tokens = batch["labels"].clone(), batch["input_ids"]
    asked = labels != IGNORED
    labels[asked] = LAYOUT.keys + 1 + tokens[asked] % LAYOUT.values
    return labels, "always the same value for a key"


def one_value(batch):
    """One value in nine tenths of the queries."""
    labels = batch["labels"].clone()
    asked = (labels != IGNORED) & (torch.from_numpy(np.random.default_rng(0).random(labels.shape)) < 0.9)
    labels[asked] = LAYOUT.keys + 2
    return labels, "always the same value"


@pytest.mark.parametrize("plant", [in_order, fixed_values, one_value], ids=lambda plant: plant.__name__)
def test_a_planted_leak_is_caught(plant):
    batch = drawn(3, count=COUNT)
    labels, rule = plant(batch)
    found, share = best_rule(LAYOUT, {**batch, "labels": labels})
    assert found == rule
    assert share > without_matching(3) + tolerance(3)


def test_an_answer_beside_its_query_is_caught():
    batch = drawn(2, count=COUNT)
    places = (batch["labels"] != IGNORED).nonzero()
    second = places[1::2]  # the later query of each sequence; its answer goes to the token before it
    for row, place in second.tolist():
        batch["labels"][row] = torch.where(torch.arange(14) == place, batch["labels"][row], IGNORED)
        values = [at for at in range(14) if batch["input_ids"][row, at] > LAYOUT.keys]
        moved = next(at for at in values if batch["input_ids"][row, at] == batch["labels"][row, place])
        batch["input_ids"][row, moved], batch["input_ids"][row, place - 1] = (
            batch["input_ids"][row, place - 1].clone(),
            batch["input_ids"][row, moved].clone(),
        )
    rule, share = best_rule(LAYOUT, batch)
    assert share == 1.0
    assert rule in ("the value 1 tokens before", "for query n the value of pair n + 1")


@dataclass
class Answer:
    logits: object


def reader(right: int):
    """A model that looks each value up, and is wrong in all sequences but the first so many."""
    shown = 0

    def model(input_ids):
        nonlocal shown
        guesses = torch.zeros_like(input_ids)
        for row, tokens in enumerate(input_ids.tolist()):
            found = {tokens[place]: tokens[place + 1] for place in range(6) if kinds(LAYOUT, tokens[place]) == "key"}
            for place in range(7, 14):
                good = shown + row < right
                guesses[row, place] = found.get(tokens[place], 0) if good else 0
        shown += len(input_ids)
        return Answer(torch.nn.functional.one_hot(guesses, LAYOUT.vocabulary).float())

    return model


def test_queries_are_counted_exactly():
    batch = drawn(3, count=150)  # more than are evaluated at a time
    assert answered(reader(150), batch) == 1.0
    assert answered(reader(149), batch) == 149 / 150
    assert answered(reader(0), batch) == 0.0


def test_a_batch_follows_from_seed_and_step_and_takes_all_numbers_of_pairs():
    task = Recall(LAYOUT, (2, 3), Question.CONTENT, batch_size=4, evaluated=6, seed=2)
    assert torch.equal(task.batch(3)["input_ids"], task.batch(3)["input_ids"])
    assert not torch.equal(task.batch(3)["input_ids"], task.batch(5)["input_ids"])
    asked = [(task.batch(step)["labels"] != IGNORED).sum(dim=1).tolist() for step in range(4)]
    assert asked == [[2] * 4, [3] * 4, [2] * 4, [3] * 4]
    assert not torch.equal(task.sequences(2, 9, "validation")["input_ids"], task.sequences(2, 9, "test")["input_ids"])


def test_training_ends_only_when_all_is_answered():
    task = Recall(LAYOUT, (2, 3), Question.CONTENT, batch_size=4, evaluated=6, seed=2)
    assert task.evaluate(reader(18)) == {"pairs_2": 1.0, "pairs_3": 1.0}
    assert task.is_learned({"pairs_2": 1.0, "pairs_3": 1.0})
    assert not task.is_learned({"pairs_2": 1.0, "pairs_3": 0.999})
    assert not task.is_learned({"loss": 1.0})


@pytest.mark.parametrize("pairs", [1, 4])
def test_pairs_without_room_are_refused(pairs):
    with pytest.raises(TrainingError, match=rf"pairs must be from 2 to 3, .* have room; got {pairs}\. Ask for fewer"):
        drawn(pairs)


def test_layouts_without_anything_are_refused():
    with pytest.raises(TrainingError, match="values must be a whole number from 1"):
        Layout(4, 3, 0)


def test_the_best_of_many_rules_is_not_flattered_by_few_sequences():
    layout = Layout(20, 32, 32)
    draws = [draw(layout, 8, 4, Question.CONTENT, np.random.default_rng(number)) for number in range(200)]
    shares = [best_rule(layout, one)[1] for one in draws]
    # 16 queries are measured a draw, each right with 1/8 at most; four deviations of their mean.
    assert np.mean(shares) <= 1 / 8 + 4 * np.sqrt(1 / 8 * 7 / 8 / (200 * 16))
