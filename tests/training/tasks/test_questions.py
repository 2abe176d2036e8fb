"""Questions: reading, windows, the way back to answers, and their scores."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("transformers", reason="tokenizers need transformers: pip install anyformer[bert]")

from anyformer.errors import TrainingError
from anyformer.training.data.hold_out import held_out
from anyformer.training.data.questions import Question, read_questions, split_questions
from anyformer.training.data.vocabulary import load_tokenizer
from anyformer.training.tasks.answer_scores import best_answers, score_answers
from anyformer.training.tasks.spans import features
from tests.training.data.samples import DATA, needs_data, pack, tokenizer_of

CONTEXT = "In May the red Fox ran from Berlin to Ulm, and the old dog (Rex) slept until June in a small house of stone."
ASKED = {"Where did it run to?": "Ulm", "Who slept?": "the old dog (Rex)", "When?": "May"}


def question(text="Who?", answer="dog", title="Fox", context=CONTEXT):
    starts = (context.index(answer),) if answer else ()
    return Question(text, title, context, text, (answer,) if answer else (), starts)


QUESTIONS = tuple(question(text, answer) for text, answer in ASKED.items())


@pytest.fixture(scope="module")
def tokenizer():
    return tokenizer_of([CONTEXT, *ASKED], 120)


def squad(**changes):
    asked = {"id": "q1", "question": " Who? ", "answers": [{"text": "dog", "answer_start": CONTEXT.index("dog")}]}
    none = {"id": "q2", "question": "Why?", "answers": [], "is_impossible": True, "plausible_answers": [{}]}
    paragraph = {"context": CONTEXT, "qas": [asked | changes, none]}
    return {"version": "x", "data": [{"title": "Fox", "paragraphs": [paragraph]}]}


@pytest.mark.parametrize("name", ["q.json", "q.json.xz", "q.json.gz"])
def test_both_versions_are_read(tmp_path, name):
    first, second = read_questions(pack(tmp_path / name, json.dumps(squad(), indent=1)))
    assert first == Question("q1", "Fox", CONTEXT, "Who?", ("dog",), (CONTEXT.index("dog"),))
    assert (second.id, second.answers, second.starts) == ("q2", (), ())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "must be a SQuAD JSON; it cannot be read"),
        ("[]", "data → paragraphs → qas → answers; it is not: TypeError"),
        ('{"data": [{"title": "x"}]}', "KeyError: 'paragraphs'"),
        ('{"data": []}', "must have questions; it has none"),
        (
            json.dumps(squad(answers=[{"text": "dog", "answer_start": 3}])),
            "question q1: an answer must stand .* 'dog' does not: at 3 there is 'May'",
        ),
        (json.dumps(squad(answers=[{"text": "", "answer_start": 3}])), "question q1: an answer must stand"),
        (json.dumps(squad(answers=[{"text": "dog"}])), "KeyError: 'answer_start'"),
    ],
)
def test_bad_files_are_refused(tmp_path, content, message):
    with pytest.raises(TrainingError, match=message):
        read_questions(pack(tmp_path / "q.json", content))


@given(titles=st.lists(st.integers(0, 9), min_size=1, max_size=30), share=st.floats(0.1, 0.9), seed=st.integers(0, 3))
def test_splits_are_complete_and_disjoint_by_article(titles, share, seed):
    questions = tuple(question(str(place), title=str(title)) for place, title in enumerate(titles))
    sides = {held_out(str(title), share, seed) for title in titles}
    if len(sides) == 1:
        with pytest.raises(TrainingError, match="both sides of a split must have questions"):
            split_questions(questions, share, seed)
        return
    train, held = split_questions(questions, share, seed)
    assert not {one.title for one in train} & {one.title for one in held}
    assert sorted((*train, *held), key=lambda one: int(one.text)) == list(questions)


@pytest.mark.parametrize(("length", "stride"), [(24, 3), (32, 10), (100, 16)])
def test_windows_cover_the_context_and_overlap(tokenizer, length, stride):
    made = features(QUESTIONS, tokenizer, length, stride)
    for place, one in enumerate(QUESTIONS):
        windows = [window for window in made if window.question == place]
        spans = [window.offsets[window.offsets[:, 0] >= 0].tolist() for window in windows]
        whole = tokenizer(CONTEXT, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        assert [tuple(span) for span in {tuple(span): 0 for part in spans for span in part}] == whole
        for before, after in pairwise(spans):
            assert before[-stride:] == after[:stride]
        for window in windows:
            assert len(window.input_ids) <= length
            tokens = tokenizer.convert_ids_to_tokens(window.input_ids.tolist())
            assert tokens[0] == "[CLS]"
            second = tokens.index("[SEP]") + 1
            assert tokens[1 : second - 1] == tokenizer.tokenize(one.text)
            assert window.token_type_ids.tolist() == [0] * second + [1] * (len(tokens) - second)
            assert (window.offsets[:second] == -1).all()
            assert (window.offsets[-1] == -1).all()


@pytest.mark.parametrize(("length", "stride"), [(24, 8), (100, 16)])
def test_answers_are_where_windows_say(tokenizer, length, stride):
    made = features(QUESTIONS, tokenizer, length, stride)
    found = dict.fromkeys(range(len(QUESTIONS)), 0)
    for window in made:
        if window.start:
            text = CONTEXT[window.offsets[window.start, 0] : window.offsets[window.end, 1]]
            assert text == QUESTIONS[window.question].answers[0]
            found[window.question] += 1
        else:
            assert window.end == 0
    assert all(found.values())
    assert length == 100 or min(found.values()) < len(made) / len(QUESTIONS)


def test_questions_keep_their_places_over_batches(tokenizer, monkeypatch):
    monkeypatch.setattr("anyformer.training.tasks.spans._QUESTIONS_AT_ONCE", 2)
    assert [window.question for window in features(QUESTIONS, tokenizer, 100, 16)] == [0, 1, 2]


def test_part_of_an_answer_is_no_answer(tokenizer):
    long = question("Who?", CONTEXT[7:95])
    assert all(window.start == window.end == 0 for window in features([long], tokenizer, 24, 3))


def test_questions_without_answers_point_to_the_first_token(tokenizer):
    (window,) = features([question("Why?", answer="")], tokenizer, 100, 16)
    assert (window.start, window.end) == (0, 0)


def test_long_questions_lose_their_end(tokenizer):
    (window, *rest) = features([question("dog " * 200)], tokenizer, 24, 4)
    assert len(rest) > 3
    assert window.token_type_ids.tolist().count(0) == (24 - 4 - 4) + 2


@pytest.mark.parametrize(("length", "stride"), [(20, 9), (20, -1)])
def test_windows_without_room_are_refused(tokenizer, length, stride):
    with pytest.raises(TrainingError, match=f"got length {length} and stride {stride}"):
        features(QUESTIONS, tokenizer, length, stride)
    assert features(QUESTIONS, tokenizer, 20, 8)


def logits_of(made, length=120, ahead=9.0):
    """Those of a model that is always right, padded with what must not be looked at."""
    start, end = np.full((2, len(made), length), 50.0)
    for row, window in enumerate(made):
        tokens = len(window.input_ids)
        start[row, :tokens] = end[row, :tokens] = 0
        if window.start:
            start[row, window.start] = end[row, window.end] = ahead
    return start, end


@pytest.mark.parametrize(("length", "stride"), [(24, 8), (100, 16)])
def test_a_perfect_model_gets_everything(tokenizer, length, stride):
    made = features(QUESTIONS, tokenizer, length, stride)
    answers = best_answers(made, *logits_of(made), QUESTIONS)
    assert answers == list(ASKED.values())
    assert score_answers(answers, QUESTIONS) == {"exact": 100, "f1": 100}


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_the_best_span_is_the_best_of_all(tokenizer, seed, longest):
    (window,) = features(QUESTIONS[:1], tokenizer, 120, 16)
    start, end = np.random.default_rng(seed).normal(size=(2, len(window.input_ids)))
    inside = np.flatnonzero(window.offsets[:, 0] >= 0)
    spans = [(start[a] + end[b], a, b) for a in inside for b in inside if a <= b < a + longest]
    _, first, last = max(spans)
    wanted = CONTEXT[window.offsets[first, 0] : window.offsets[last, 1]]
    assert best_answers([window], [start], [end], QUESTIONS[:1], longest) == [wanted]


def test_no_answer_is_given_only_where_there_may_be_none(tokenizer):
    questions = [*QUESTIONS, question("Why?", answer="")]
    made = features(questions, tokenizer, 100, 16)
    start, end = logits_of(made)
    start[:, 0] = 3
    assert best_answers(made, start, end, questions) == [*ASKED.values(), ""]
    start[:, 0] = 99
    assert best_answers(made, start, end, questions) == [""] * 4
    assert best_answers(made[:3], start[:3], end[:3], QUESTIONS) == list(ASKED.values())
    start[:, 0] = 3
    assert score_answers([*ASKED.values(), ""], questions)["exact"] == 100
    with pytest.raises(TrainingError, match="must be as many; got \\(4, 3, 4\\)"):
        best_answers(made, start[:3], end, questions)


@pytest.mark.parametrize(
    ("given_answer", "golds", "exact", "f1"),
    [
        ("The  Red-Fox!", ("redfox",), 100, 100),
        ("an apple a day", ("apple day", "x"), 100, 100),
        ("theatre", ("atre",), 0, 0),
        ("red fox", ("x", "fox ran"), 0, 50),
        ("fox fox dog", ("fox",), 0, 50),
        ("", (), 100, 100),
        ("fox", (), 0, 0),
        ("", ("fox",), 0, 0),
    ],
)
def test_scores_are_those_of_squad(given_answer, golds, exact, f1):
    asked = Question("q", "t", "", "?", golds, (0,) * len(golds))
    assert score_answers([given_answer], [asked]) == {"exact": exact, "f1": pytest.approx(f1)}


def test_answers_must_be_as_many_as_questions():
    with pytest.raises(TrainingError, match="got 1 answers to 3"):
        score_answers(["x"], QUESTIONS)
    with pytest.raises(TrainingError, match="got 0 answers to 0"):
        score_answers([], [])


@needs_data
def test_the_real_questions():
    questions = read_questions(DATA / "qa" / "squad_dev-v1.1.json.xz")
    assert len(questions) == 10_570
    assert len({one.title for one in questions}) == 48
    train, held = split_questions(questions, 0.2, seed=0)
    assert len(train) + len(held) == 10_570
    assert score_answers([one.answers[-1] for one in questions], questions) == {"exact": 100, "f1": 100}
    some = questions[:300]
    tokenizer = load_tokenizer(DATA / "vocab" / "bert-base-uncased-vocab.txt.xz")
    made = features(some, tokenizer, 128, 48)
    for answer, one in zip(best_answers(made, *logits_of(made, 128), some), some, strict=True):
        # An answer may be part of a token, like 8 of 18; then it is the whole token.
        first = answer.index(one.answers[0])
        around = answer[:first] + answer[first + len(one.answers[0]) :]
        assert around == "" or (len(tokenizer.tokenize(answer)) <= 2 and len(around) < 5), one
