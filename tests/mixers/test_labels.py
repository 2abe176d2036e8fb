"""Names of classes and their numbers agree, whichever was given, and wherever."""

import pytest

pytest.importorskip("transformers", reason="BERT needs transformers: pip install anyformer[bert]")

import transformers

from anyformer import mixers
from anyformer.mixers import MixerBertConfig, MixerError
from tests.mixers.bert_samples import small

NAMES = {0: "contradiction", 1: "entailment", 2: "neutral"}
NUMBERS = {name: number for number, name in NAMES.items()}


@pytest.mark.parametrize(
    "given",
    [
        {"id2label": NAMES},
        {"id2label": {str(number): name for number, name in NAMES.items()}},
        {"label2id": NUMBERS},
        {"id2label": NAMES, "label2id": NUMBERS},
        {"id2label": NAMES, "label2id": {"LABEL_0": 0, "LABEL_1": 1}, "num_labels": 3},
    ],
)
def test_either_gives_the_other(given, tmp_path):
    made = small(**given)
    assert (made.id2label, made.label2id, made.num_labels) == (NAMES, NUMBERS, 3)
    made.save_pretrained(tmp_path / "made")
    again = transformers.AutoConfig.from_pretrained(tmp_path / "made")
    assert (again.id2label, again.label2id) == (NAMES, NUMBERS)


@pytest.mark.parametrize("given", [{"id2label": NAMES}, {"label2id": NUMBERS}, {"num_labels": 3, "id2label": NAMES}])
def test_names_that_are_given_when_a_model_is_loaded_replace_its_own(given, tmp_path):
    """As when a pre-trained encoder, with the two labels that every config has, gets a head for three classes."""
    mixers.MixerBertForMaskedLM(small()).save_pretrained(tmp_path)
    auto = transformers.AutoModelForSequenceClassification
    model = auto.from_pretrained(tmp_path, **given)
    assert model.classifier.out_features == 3
    assert (model.config.id2label, model.config.label2id) == (NAMES, NUMBERS)


def test_without_names_nothing_changes():
    stock = transformers.BertConfig(num_labels=4)
    made = MixerBertConfig(num_labels=4)
    assert (made.id2label, made.label2id) == (stock.id2label, stock.label2id)
    assert MixerBertConfig().num_labels == 2


def test_several_names_for_one_class_are_no_contradiction():
    synonyms = {**NUMBERS, "opposite": 0}
    assert small(id2label=NAMES, label2id=synonyms).label2id == synonyms
    twice = {0: "other", 1: "yes", 2: "other"}
    assert small(id2label=twice).id2label == twice


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"id2label": ["a", "b"]}, r"id2label must be a dictionary, such as \{0: 'no', 1: 'yes'\}; got \['a', 'b'\]"),
        ({"label2id": ["a", "b"]}, r"label2id must be a dictionary, such as \{'no': 0, 'yes': 1\}; got \['a', 'b'\]"),
        ({"id2label": "ab"}, "id2label must be a dictionary"),
        ({"id2label": {"a": 0}}, "number of a class must be a whole number; got 'a' in id2label"),
        ({"label2id": {"a": 0.5}}, "number of a class must be a whole number; got 0.5"),
        ({"label2id": {"a": None}}, "number of a class must be a whole number; got None"),
        ({"label2id": {"a": 0, "b": 0}}, r"classes of label2id must have the numbers 0, 1, 2, … once each; got .*anew"),
        ({"label2id": {"a": 0, "b": 7}}, r"classes of label2id must have the numbers .*; got \{'a': 0, 'b': 7\}"),
        ({"id2label": {0: "a", 7: "b"}}, r"classes of id2label must have the numbers .*; got \{0: 'a', 7: 'b'\}"),
        ({"id2label": {1: "a", 2: "b"}}, "classes of id2label must have the numbers"),
        ({"id2label": {0: "a", 1: "b"}, "label2id": {"a": 1, "b": 0}}, "must say the same; .* differ in 'a'. Give one"),
        ({"id2label": {0: "a", 1: "b"}, "label2id": {"a": 0}}, "must say the same; .* differ in 'b'"),
        ({"id2label": {0: "a", 1: "b"}, "label2id": {"a": 0, "b": 1, "c": 2}}, "must say the same; .* differ in 'c'"),
    ],
)
def test_names_that_cannot_be_are_refused(given, message, tmp_path):
    with pytest.raises(MixerError, match=message):
        small(**given)
    if all(isinstance(one, dict) for one in given.values()):
        mixers.MixerBertForMaskedLM(small()).save_pretrained(tmp_path)
        with pytest.raises(MixerError, match=message):
            transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path, **given)


@pytest.mark.parametrize("given", [{}, {"num_labels": 1}, {"num_labels": 4}, {"label2id": {"b": 1, "a": 0}}])
def test_what_was_saved_comes_back(given, tmp_path):
    made = mixers.MixerBertForSequenceClassification(small(**given))
    made.save_pretrained(tmp_path)
    again = mixers.MixerBertForSequenceClassification.from_pretrained(tmp_path)
    for name in ("id2label", "label2id", "num_labels"):
        assert getattr(again.config, name) == getattr(made.config, name)
    assert MixerBertConfig.from_dict(made.config.to_dict()).id2label == made.config.id2label


@pytest.mark.parametrize("ours", [False, True])
def test_another_number_of_classes_leaves_saved_names_behind(ours, tmp_path):
    names = {0: "no", 1: "yes"}
    config = small(id2label=names) if ours else transformers.BertConfig(**TINY, id2label=names)
    kind = mixers.MixerBertForMaskedLM if ours else transformers.BertForMaskedLM
    kind(config).save_pretrained(tmp_path)
    model = mixers.MixerBertForSequenceClassification.from_pretrained(tmp_path, num_labels=5)
    assert model.config.label2id == {f"LABEL_{number}": number for number in range(5)}


TINY = {"vocab_size": 131, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40}


@pytest.mark.parametrize(
    "given",
    [{}, {"num_labels": 3}, {"label2id": {"no": 0, "yes": 1}}, {"id2label": {0: "no", 1: "yes"}}, {"num_labels": 1}],
)
def test_configs_of_stock_models_are_taken(given):
    stock = transformers.BertForSequenceClassification(transformers.BertConfig(**TINY, **given))
    ours = mixers.convert(stock, mixers.Average()).config
    assert ours.num_labels == stock.config.num_labels
    assert {number: name for name, number in ours.label2id.items()} == ours.id2label
    assert ("yes" in ours.label2id) == ("yes" in stock.config.id2label.values())


def test_placeholders_in_either_direction_give_way():
    placeholders = {number: f"LABEL_{number}" for number in NAMES}
    assert small(id2label=placeholders, label2id=NUMBERS).id2label == NAMES
