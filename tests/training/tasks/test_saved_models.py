"""What a run leaves can be used by whoever has `transformers`: pipelines, labels, lengths, a card."""

import copy

import pytest
import transformers
from transformers import AutoConfig, AutoTokenizer, pipeline

from anyformer.training import Pairs, RunFolder, Schedule, finetune, pretrain
from tests.training.small import recipe, text

LABELS = ("contradiction", "entailment", "neutral")
LONGEST = 24
TEXT = "the dog sleeps and the cat runs home to the garden and the birds sing in the house of no one " * 3


def pairs(count: int) -> Pairs:
    first = tuple(f"the dog sleeps {number}" for number in range(count))
    return Pairs(first, tuple("a cat runs home" for _ in first), tuple(number % 3 for number in range(count)), LABELS)


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> RunFolder:
    place = tmp_path_factory.mktemp("words")
    return pretrain(recipe(steps=4), text(place / "text"), place / "run")


@pytest.fixture(scope="module")
def entailment(words, tmp_path_factory) -> RunFolder:
    schedule = Schedule(batch=6, evaluate_every=2, save_every=2)
    return finetune(words.model, pairs(12), pairs(6), tmp_path_factory.mktemp("entailment") / "run", 1, schedule)


def test_labels_hold_in_both_directions(entailment):
    config = AutoConfig.from_pretrained(entailment.model)
    assert config.id2label == dict(enumerate(LABELS))
    assert config.label2id == {label: number for number, label in enumerate(LABELS)}


def test_a_model_of_entailment_classifies_without_examples(entailment, caplog):
    """The zero-shot pipeline looks for entailment in label2id, and cuts what is too long."""
    zero_shot = pipeline("zero-shot-classification", model=str(entailment.model), device="cpu")
    assert zero_shot.entailment_id == 1
    with caplog.at_level("WARNING", logger="transformers"):
        found = zero_shot(TEXT, candidate_labels=["animals", "letters"], hypothesis_template="about {}")
    assert sorted(found["labels"]) == ["animals", "letters"]
    assert sum(found["scores"]) == pytest.approx(1)


def test_pipelines_cut_texts_to_what_the_model_takes(words, entailment):
    tokenizer = AutoTokenizer.from_pretrained(words.model)
    assert tokenizer.model_max_length == LONGEST
    assert len(tokenizer(TEXT, truncation=True)["input_ids"]) == LONGEST
    classify = pipeline("text-classification", model=str(entailment.model), device="cpu")
    assert classify(TEXT, truncation=True)[0]["label"] in LABELS
    filled = pipeline("fill-mask", model=str(words.model), device="cpu")
    assert len(filled("the [MASK] sleeps " + TEXT, tokenizer_kwargs={"truncation": True})) == 5


def test_the_tokenizer_of_whoever_trains_stays_as_it_is(tmp_path):
    prepared = text(tmp_path / "text")
    before = copy.deepcopy(prepared.tokenizer.init_kwargs), prepared.tokenizer.model_max_length
    pretrain(recipe(steps=1), prepared, tmp_path / "run")
    assert (prepared.tokenizer.init_kwargs, prepared.tokenizer.model_max_length) == before


def test_the_card_says_what_it_is(words, entailment):
    card = (words.model / "README.md").read_text("utf-8")
    assert card.startswith("---\nlibrary_name: transformers\npipeline_tag: fill-mask\ntags:\n- anyformer\n---\n")
    assert "# MixerBertForMaskedLM" in card
    assert "| 2 | Bilinear\\(max\\_length=24\\) |" in card
    assert "| 4 | Attention" in card
    assert "| longest sequence | 24 tokens |" in card
    model = transformers.AutoModelForMaskedLM.from_pretrained(words.model)
    assert f"| parameters | {sum(one.numel() for one in model.parameters())} |" in card
    assert "after 4 steps" in card
    last = next(row for row in reversed(words.rows()) if "validation_loss" in row)
    assert f"{last['validation_loss']:.6g}".replace(".", "\\.") in card
    assert "auto_map" not in (words.model / "config.json").read_text()
    tuned = (entailment.model / "README.md").read_text("utf-8")
    assert "pipeline_tag: text-classification" in tuned
    assert "| classes | contradiction, entailment, neutral |" in tuned
    assert "AutoModelForSequenceClassification.from_pretrained" in tuned


def test_the_code_on_the_card_runs(words):
    card = (words.model / "README.md").read_text("utf-8")
    code = card.split("```python\n")[1].split("```")[0]
    names: dict = {}
    exec(code.replace("path/to/this/folder", str(words.model)), names)
    assert names["outputs"].logits.shape[0] == 1
