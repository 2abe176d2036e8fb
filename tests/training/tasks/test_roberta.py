"""RoBERTa, stock or with other mixers, is fine-tuned and evaluated as BERT is."""

import json
from dataclasses import replace

import pytest
import torch
from transformers import AutoConfig, AutoTokenizer, RobertaConfig, RobertaForMaskedLM

from anyformer.errors import TrainingError
from anyformer.mixers import Attention, Average, convert
from anyformer.training import Pairs, Question, Schedule, finetune
from anyformer.training.evaluation.evaluating import evaluate, evaluate_questions
from anyformer.training.tasks.spans import windows_of
from tests.training.data.samples import roberta_tokenizer

WORDS = ["the", "dog", "cat", "sleeps", "runs", "in", "house", "garden", "where", "is", "and", "?"]
POSITIONS, PADDING = 26, 1
LONGEST = POSITIONS - PADDING - 1
SHORT = Schedule(batch=4, learning_rate=5e-3, evaluate_every=50, save_every=50)


def encoder(place, mixed):
    sizes = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40}
    config = RobertaConfig(
        vocab_size=5 + len(WORDS), max_position_embeddings=POSITIONS, type_vocab_size=1, pad_token_id=PADDING, **sizes
    )
    torch.manual_seed(2)
    stock = RobertaForMaskedLM(config)
    (convert(stock, [Average(), Attention(3)]) if mixed else stock).save_pretrained(place)
    roberta_tokenizer(*WORDS).save_pretrained(place)
    return place


def pairs(count):
    rows = range(count)
    first = tuple("the dog sleeps" if row % 2 else "the cat runs in the garden " * 9 for row in rows)
    second = tuple("the dog sleeps" if row % 3 else "is the cat in the house" for row in rows)
    return Pairs(first, second, tuple(row % 2 for row in rows), ("no", "yes"))


def questions(count):
    context = "the dog sleeps in the house and the cat runs in the garden"
    asked = [("dog", "house"), ("cat", "garden")] * count
    return tuple(
        Question(str(row), f"a {row}", context, f"where is the {who} ?", (place,), (context.index(place),))
        for row, (who, place) in enumerate(asked[:count])
    )


@pytest.mark.parametrize("mixed", [False, True])
def test_pairs_are_learned_and_evaluated(tmp_path, mixed):
    run = finetune(encoder(tmp_path / "stock", mixed), pairs(24), pairs(8), tmp_path / "run", 8, SHORT)
    assert run.rows()[-1]["accuracy"] == 1.0
    config = AutoConfig.from_pretrained(run.model)
    assert (config.model_type, config.longest_input) == ("mixer-roberta", LONGEST)
    assert config.layer_mixers == (Average() if mixed else Attention(3), Attention(3))
    assert AutoTokenizer.from_pretrained(run.model).model_max_length == LONGEST
    rows = [json.dumps({"text": text, "label": "no"}) for text in ("the cat runs in the garden " * 20, "the cat runs")]
    (tmp_path / "p.jsonl").write_text("\n".join(rows))
    assert evaluate(run.model, str(tmp_path / "p.jsonl"), tmp_path / "out").provenance.rows == 2


def test_answers_are_learned_and_evaluated(tmp_path):
    run = finetune(encoder(tmp_path / "mixed", True), questions(8), questions(4), tmp_path / "run", 20, SHORT)
    first, last = (row["f1"] for row in run.rows() if "f1" in row)
    assert last > max(first, 45.0)
    asked = [
        {"id": one.id, "question": one.text, "answers": [{"text": one.answers[0], "answer_start": one.starts[0]}]}
        for one in questions(4)
    ]
    paragraphs = [{"context": questions(1)[0].context, "qas": asked}]
    (tmp_path / "q.json").write_text(json.dumps({"data": [{"title": "t", "paragraphs": paragraphs}]}))
    assert evaluate_questions(run.model, tmp_path / "q.json", tmp_path / "out").scores["f1"] == pytest.approx(last)


def test_windows_have_the_marks_of_roberta_and_one_type(tmp_path):
    config = AutoConfig.from_pretrained(encoder(tmp_path / "mixed", True))
    twice = [replace(one, context=f"{one.context} and {one.context}") for one in questions(2)]
    made = windows_of(twice, roberta_tokenizer(*WORDS), config)
    assert len(made) > 2, "a context takes several windows"
    for window in made:
        ids = window.input_ids.tolist()
        assert (ids[0], ids[-1], ids.count(2)) == (0, 2, 3)
        assert len(ids) <= LONGEST
        assert not window.token_type_ids.any()


def test_another_padding_than_the_config_s_is_refused(tmp_path):
    place = encoder(tmp_path / "m", True)
    roberta_tokenizer(*WORDS, pad="<mask>").save_pretrained(place)
    with pytest.raises(
        TrainingError, match=r"must pad with pad_token_id, 1, .* pads with 4\. Give the folder as it was"
    ):
        finetune(place, pairs(8), pairs(8), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_model_without_a_trained_head_is_not_evaluated(tmp_path):
    (tmp_path / "p.csv").write_text("text,label\nthe dog,no\n")
    with pytest.raises(TrainingError, match=r"must have been trained for the task.* has no classifier\..*weight"):
        evaluate(encoder(tmp_path / "m", True), str(tmp_path / "p.csv"), tmp_path / "out")
