"""What is wrong in a SQuAD JSON is said of the question that has it."""

import json

import pytest

from anyformer.errors import TrainingError
from anyformer.training.data.questions import Question, read_questions, split_questions
from tests.training.data.samples import pack


@pytest.mark.parametrize("text", [None, 3, ["Who?"]])
def test_a_question_that_is_no_text_is_named(tmp_path, text):
    asked = {"id": "q7", "question": text, "answers": [{"text": "dog", "answer_start": 0}]}
    squad = {"data": [{"title": "t", "paragraphs": [{"context": "dog", "qas": [asked]}]}]}
    with pytest.raises(
        TrainingError, match=r"q\.json, question 'q7': question must be a text; got .*Correct or remove"
    ):
        read_questions(pack(tmp_path / "q.json", json.dumps(squad)))


def test_advice_for_a_split_can_be_followed():
    with pytest.raises(TrainingError, match=r"Give more articles, or other questions to measure on by --held-out\."):
        split_questions([Question("q", "t", "dog", "Who?", ("dog",), (0,))], 0.1, 0)
