"""Predictions: one answer a row, in the rows' order, whatever is taken at once."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification

from anyformer.errors import TrainingError
from anyformer.mixers import Attention, Average, Bilinear, Convolution
from anyformer.mixers.bert import MixerBertConfig, MixerBertForSequenceClassification
from anyformer.training import Pairs
from anyformer.training.data.tables import Table
from anyformer.training.evaluation.predicting import Predictions, class_names, predict, save_predictions
from tests.training.data.samples import tokenizer_of

WORDS = ["the", "dog", "sleeps", "while", "a", "cat", "runs", "home", "and", "birds", "sing"]
LINES = [" ".join(WORDS)] * 3
NAMES = ("contradiction", "entailment", "neutral")


def pairs(count: int) -> Pairs:
    """Pairs of many lengths, not in their order."""
    first = tuple(" ".join(WORDS[: 1 + 7 * number % 10]) for number in range(count))
    second = tuple(" ".join(WORDS[-1 - 3 * number % 5 :]) for number in range(count))
    return Pairs(first, second, tuple(number % 3 for number in range(count)), NAMES)


def model_of(labels: int = 3, **options):
    torch.manual_seed(5)
    names = {"id2label": dict(enumerate(NAMES))} if labels == 3 else {"num_labels": labels}
    config = MixerBertConfig(
        vocab_size=200,
        hidden_size=16,
        num_hidden_layers=4,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=40,
        mixers=(Convolution(kernel=5, filters=4), Bilinear(max_length=24), Average(), Attention(heads=2)),
        initializer_range=0.4,
        **{**names, **options},
    )
    return MixerBertForSequenceClassification(config)


@pytest.fixture(scope="module")
def tokenizer():
    return tokenizer_of(LINES)


def test_every_row_gets_the_answer_it_gets_alone(tokenizer):
    model, data = model_of(), pairs(23)
    made = predict(model, tokenizer, data)
    assert len(set(made.predicted)) > 1, "a model that always says the same would hide a wrong order"
    model.eval()
    for row in range(23):
        given = tokenizer(data.first[row], data.second[row], return_tensors="pt", truncation=True, max_length=24)
        with torch.no_grad():
            alone = model(**given).logits[0].numpy()
        np.testing.assert_allclose(made.logits[row], alone, atol=2e-5)
    assert made.labels == tuple(NAMES[label] for label in data.labels)
    assert made.ids[22] == "22"


@pytest.mark.parametrize("at_once", [1, 2, 7, 23, 100])
def test_how_many_are_taken_at_once_changes_nothing(tokenizer, at_once):
    model = model_of()
    one, other = predict(model, tokenizer, pairs(23)), predict(model, tokenizer, pairs(23), at_once)
    np.testing.assert_allclose(one.logits, other.logits, atol=2e-5)
    assert (one.predicted, one.digest()) == (other.predicted, other.digest())


def test_prediction_is_without_dropout_and_leaves_the_model_in_its_mode(tokenizer):
    model = model_of().train()
    first = predict(model, tokenizer, pairs(9)).logits
    assert model.training
    np.testing.assert_array_equal(first, predict(model, tokenizer, pairs(9)).logits)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_digests_tell_other_answers_and_other_rows_apart():
    logits = np.array([[0.1, 0.2], [0.5, 0.4], [3, -1]], np.float32)
    made = Predictions(("a", "b", "c"), ("no", "yes"), logits, ("no", "no", None))
    assert made.predicted == ("yes", "no", "no")
    assert made.digest() == replace(made, logits=logits + 1e-7).digest()
    assert made.digest() != replace(made, logits=-logits).digest()
    assert made.digest() != replace(made, ids=("a", "b", "d")).digest()
    numbers = replace(made, names=(), logits=logits[:, :1])
    assert numbers.digest() == replace(numbers, logits=numbers.logits + 1e-6).digest()
    assert numbers.digest() != replace(numbers, logits=numbers.logits + 0.01).digest()


def test_saved_predictions_are_a_line_of_json_each(tmp_path):
    made = Predictions(("ä", "b"), ("no", "yes"), np.array([[0, 1], [2, 2]], np.float32), ("yes", None))
    digest = save_predictions(made, tmp_path / "p.jsonl")
    raw = (tmp_path / "p.jsonl").read_bytes()
    assert hashlib.sha256(raw).hexdigest() == digest
    first, second = map(json.loads, raw.decode().splitlines())
    assert first == {
        "id": "ä",
        "label": "yes",
        "predicted": "yes",
        "probabilities": {"no": 0.268941, "yes": 0.731059},
    }
    assert (second["label"], second["predicted"], second["probabilities"]) == (None, "no", {"no": 0.5, "yes": 0.5})
    assert [place.name for place in tmp_path.iterdir()] == ["p.jsonl"]


def test_numbers_are_predicted_as_they_are(tokenizer, tmp_path):
    table = Table(("x", "y"), ("the dog", "a cat"), None, (2.5, None))
    made = predict(model_of(labels=1), tokenizer, table)
    assert made.names == ()
    assert made.predicted == tuple(made.logits[:, 0].tolist())
    save_predictions(made, tmp_path / "p.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [set(row) for row in rows] == [{"id", "label", "predicted"}] * 2
    assert rows[0]["predicted"] == round(made.predicted[0], 6)


def test_the_stock_bert_is_asked_in_the_same_way(tokenizer):
    torch.manual_seed(1)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    model = BertForSequenceClassification(BertConfig(vocab_size=200, id2label={0: "No", 1: " YES"}, **sizes))
    made = predict(model, tokenizer, pairs(5))
    assert made.names == ("no", "yes")
    assert made.probabilities.sum(axis=1) == pytest.approx(1)


def test_models_that_cannot_be_asked_are_refused(tokenizer):
    several = model_of(problem_type="multi_label_classification")
    with pytest.raises(TrainingError, match="must choose one class a text"):
        class_names(several)
    with pytest.raises(TrainingError, match="differ in more than case; got yes, yes"):
        class_names(model_of(id2label={0: "Yes", 1: "yes"}, labels=2))
    with pytest.raises(TrainingError, match="must be a row to predict for"):
        predict(model_of(), tokenizer, Table((), (), None, ()))
    broken = model_of()
    broken.classifier.bias.data[1] = float("nan")
    with pytest.raises(TrainingError, match="must be finite"):
        predict(broken, tokenizer, pairs(2))
