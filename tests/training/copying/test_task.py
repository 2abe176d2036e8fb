"""The copying task: what is shown, what is asked, and how answers are counted."""

from dataclasses import dataclass

import pytest
import torch

from anyformer.errors import TrainingError
from anyformer.training.copying.task import Alphabet, Copying, sequences

ALPHABET = Alphabet(length=3, symbols=5)
TASK = Copying(ALPHABET, batch_size=4, evaluated=6, seed=2)


def test_a_sequence_is_0s0_and_marks():
    shown = sequences(ALPHABET, torch.tensor([[1, 5, 2]]))
    assert shown.tolist() == [[0, 1, 5, 2, 0, 6, 6, 6]]
    assert ALPHABET.tokens == 8
    assert ALPHABET.vocabulary == 7


def test_a_batch_follows_from_seed_and_step():
    first, again, other = TASK.batch(3), TASK.batch(3), TASK.batch(4)
    assert torch.equal(first["copied"], again["copied"])
    assert not torch.equal(first["copied"], other["copied"])
    assert torch.equal(first["tokens"], sequences(ALPHABET, first["copied"]))
    many = Copying(ALPHABET, batch_size=400, evaluated=1, seed=0).batch(0)["copied"]
    assert sorted(set(many.flatten().tolist())) == [1, 2, 3, 4, 5]


@dataclass
class Answer:
    """What a model returns."""

    scores: object


def copying(wrong: set[tuple[int, int]]):
    """A model that copies all but these symbols of all it has been shown: (sequence, place)."""
    shown = 0

    def model(tokens):
        nonlocal shown
        told = tokens[:, 1 : ALPHABET.half].clone()
        for row, place in wrong:
            if 0 <= row - shown < len(told):
                told[row - shown, place] = ALPHABET.hidden
        shown += len(tokens)
        return Answer(torch.nn.functional.one_hot(told, ALPHABET.vocabulary).float())

    return model


def test_symbols_and_sequences_are_counted_exactly():
    assert TASK.evaluate(copying(set())) == {"symbols": 1.0, "sequences": 1.0}
    assert TASK.evaluate(copying({(0, 0), (0, 2), (5, 1)})) == {"symbols": 15 / 18, "sequences": 4 / 6}
    # More than are evaluated at a time, the last of them wrong.
    assert TASK.measured(copying({(299, 1)}), 300, "any") == {"symbols": 899 / 900, "sequences": 299 / 300}


def test_only_whole_success_ends_the_training():
    assert TASK.is_learned({"symbols": 1.0, "sequences": 1.0})
    assert not TASK.is_learned({"symbols": 0.9999, "sequences": 0.9999})
    assert not TASK.is_learned({"step": 3, "loss": 1.0})


@pytest.mark.parametrize(
    ("sizes", "message"), [((0, 3), "length must be a whole number from 1"), ((3, 1), "at least 2")]
)
def test_tasks_without_anything_to_copy_are_refused(sizes, message):
    with pytest.raises(TrainingError, match=message):
        Alphabet(*sizes)
