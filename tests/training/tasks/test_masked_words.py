"""Masked words: what is hidden, what is asked, and that it depends on the step alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyformer.errors import TrainingError
from anyformer.training import Schedule, Text
from anyformer.training.tasks import masked_words
from anyformer.training.tasks.masked_words import EVALUATED, IGNORED, Marks, MaskedWords

PAD, UNKNOWN, START, END, MASK = range(5)
MARKS = Marks(start=START, end=END, mask=MASK, vocabulary=300, special=(PAD, UNKNOWN, START, END, MASK))


def task(text: Text, batch: int = 7, seed: int = 0, tokens: int = 5000) -> MaskedWords:
    random = np.random.default_rng(3)
    train, valid = (random.integers(5, 300, tokens).astype(np.uint16) for _ in range(2))
    train[::11] = END  # ends of lines
    return MaskedWords(train, valid, MARKS, text, Schedule(batch=batch, seed=seed))


@given(tokens=st.integers(8, 40), masked=st.floats(0.13, 0.4), step=st.integers(0, 10**6), following=st.booleans())
def test_every_window_hides_the_same_number_of_words_and_no_marks(tokens, masked, step, following):
    text = Text(tokens=tokens, masked=masked, following=following)
    batch = task(text).batch(step)
    asked = batch["labels"] != IGNORED
    assert batch["input_ids"].shape == (7, tokens)
    assert (asked.sum(dim=1) == text.hidden).all()
    assert (batch["labels"][asked] > MASK).all()
    assert (batch["input_ids"][:, 0] == START).all()
    assert (batch["input_ids"][:, -1] == END).all()


@given(step=st.integers(0, 1000))
def test_what_is_shown_and_asked_together_is_a_piece_of_the_text(step):
    made = task(Text(tokens=20))
    batch = made.batch(step)
    whole = np.where(batch["labels"] == IGNORED, batch["input_ids"], batch["labels"])
    text = made.train.tobytes()
    assert all(row[1:-1].astype(np.uint16).tobytes() in text for row in whole)


def test_of_the_words_asked_most_are_masked_some_are_others_and_some_stay():
    made = task(Text(tokens=40, masked=0.5), batch=64)
    shown, wanted = [], []
    for step in range(40):
        batch = made.batch(step)
        asked = batch["labels"] != IGNORED
        shown.append(batch["input_ids"][asked].numpy())
        wanted.append(batch["labels"][asked].numpy())
    shown, wanted = np.concatenate(shown), np.concatenate(wanted)
    # 51,200 draws: four standard deviations of a share of 0.8 are 0.007; a word drawn may be the one that was there.
    assert np.mean(shown == MASK) == pytest.approx(0.8, abs=0.008)
    assert np.mean(shown == wanted) == pytest.approx(0.1 + 0.1 / 300, abs=0.006)


@given(step=st.integers(0, 1000))
def test_second_halves_follow_or_come_from_elsewhere(step):
    made = task(Text(tokens=24, following=True), batch=6)
    batch = made.batch(step)
    whole = np.where(batch["labels"] == IGNORED, batch["input_ids"], batch["labels"]).astype(np.uint16)
    first, second = whole[:, 1:11], whole[:, 12:23]
    assert (whole[:, 11] == END).all()
    assert batch["token_type_ids"].tolist() == [[0] * 12 + [1] * 12] * 6
    text = made.train.tobytes()
    joined = [(one.tobytes() + two.tobytes()) in text for one, two in zip(first, second, strict=True)]
    follows = [label == 0 for label in batch["next_sentence_label"].tolist()]
    assert follows in ([True, False] * 3, [False, True] * 3)
    assert all(found for found, wanted in zip(joined, follows, strict=True) if wanted)
    # Two random places of 5,000 tokens follow each other once in 5,000 times: step 26 meets one, none meets two.
    assert sum(joined) <= 4


def test_a_batch_depends_on_seed_and_step_alone():
    text = Text(tokens=16)
    first = task(text).batch(5)
    assert all((first[name] == task(text).batch(5)[name]).all() for name in first)
    assert any((first[name] != task(text).batch(6)[name]).any() for name in first)
    assert any((first[name] != task(text, seed=1).batch(5)[name]).any() for name in first)


def test_a_corpus_shorter_than_one_sequence_is_refused():
    with pytest.raises(TrainingError, match=r"at least one sequence of 32 tokens; got 31 tokens"):
        task(Text(tokens=32), tokens=31)
    task(Text(tokens=32), tokens=32).batch(0)


def test_every_window_that_is_evaluated_is_another(monkeypatch):
    seen = []
    nothing = {"loss": 0.0, "right": 0.0, "words": 1.0}
    monkeypatch.setattr(masked_words, "_judged", lambda _, batch: seen.extend(batch["input_ids"].tolist()) or nothing)
    ids = np.random.default_rng(0).integers(5, 300, 5000)
    MaskedWords(ids, ids, MARKS, Text(tokens=64), Schedule()).evaluate(None)
    assert len({tuple(window) for window in seen}) == len(seen) == EVALUATED
