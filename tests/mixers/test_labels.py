"""Names of classes and their numbers agree, whichever was given, and wherever."""

import pytest

pytest.importorskip("transformers", reason="BERT needs transformers: pip install anyformer[bert]")

import transformers

from anyformer import mixers
from anyformer.mixers import MixerBertConfig
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


def test_what_contradicts_itself_stays_as_it_was_given():
    """Several names for one class are nothing to repair."""
    synonyms = {**NUMBERS, "opposite": 0}
    assert small(id2label=NAMES, label2id=synonyms).label2id == synonyms
