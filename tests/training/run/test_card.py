"""The card of a trained model, of every kind of run."""

import json
from dataclasses import dataclass

import pytest

pytest.importorskip("accelerate", reason="training needs: pip install anyformer[train]")

from anyformer.mixers import (
    CATALOGUE,
    Attention,
    Average,
    Mixer,
    MixerBertConfig,
    MixerBertForSequenceClassification,
    MixerBertModel,
    register_mixer,
)
from anyformer.training import RunFolder
from anyformer.training.run.card import model_card

SIZES = {"vocab_size": 61, "hidden_size": 24, "num_hidden_layers": 5, "num_attention_heads": 3, "intermediate_size": 40}
STACK = [Average()] * 3 + [Attention(heads=3), Average()]


def card(about=None, rows=(), kind=MixerBertModel, **changes) -> str:
    return model_card(kind(MixerBertConfig(**SIZES, mixers=STACK, **changes)), 17, about or {}, rows)


def test_layers_of_one_mixer_are_on_one_line():
    lines = card().splitlines()
    start = lines.index("| layers | mixer |")
    attention = "| 4 | Attention\\(heads=3\\) |"
    assert lines[start + 2 : start + 5] == ["| 1 to 3 | Average\\(\\) |", attention, "| 5 | Average\\(\\) |"]


def test_what_is_not_known_is_not_made_up():
    assert "It is not known." in card()
    assert "Nothing was measured." in card()
    assert "pipeline_tag" not in card()


def test_names_and_sizes_of_the_data_are_told_and_digests_are_not():
    told = card({"text": {"corpus": "wiki.txt", "tokens": 1234, "held_out": None}, "sources": ["a.tsv", "b.tsv"]})
    assert "| text corpus | wiki\\.txt |" in told
    assert "| text tokens | 1234 |" in told
    assert "| sources 2 | b\\.tsv |" in told
    assert "held out |" not in told
    assert "abc" not in card({"text": [{"corpus_digest": "abc"}]})


def test_the_last_evaluation_is_told():
    rows = [
        {"step": 0, "accuracy": 0.25},
        {"step": 8, "accuracy": 0.75, "f1": None},
        {"step": 9, "loss": 0.1, "learning_rate": 1e-3},
    ]
    told = card(rows=rows)
    assert "after 8 steps" in told
    assert "| accuracy | 0\\.75 |" in told
    assert "| f1 | not finite |" in told
    assert "0\\.25" not in told


def test_no_name_becomes_markdown():
    told = card(
        {"pairs": "[click](http://x) | <script>\n# title"},
        kind=MixerBertForSequenceClassification,
        id2label={0: "a|b\n", 1: "![p](q)"},
    )
    assert "<script>" not in told
    assert "\n# title" not in told
    assert "](http" not in told
    assert "![p]" not in told
    assert "| classes | a\\|b , \\!\\[p\\]\\(q\\) |" in told


def test_a_run_says_what_it_was_made_from(tmp_path):
    folder = RunFolder(tmp_path)
    assert not any(folder.about().values())
    folder.identity_file.write_text(json.dumps({"identity": {"seed": 1}, "about": {"text": {"corpus": "wiki"}}}))
    assert folder.about() == {"text": {"corpus": "wiki"}}


@pytest.mark.parametrize("path", ["/home/somebody/secret/mnli.tsv.xz?split=dev", r"C:\Users\somebody\secret\mnli.tsv"])
def test_a_published_card_does_not_say_where_files_lie(path):
    made = card({"training": {"sources": [path]}, "model": {"path": "runs/model"}})
    assert "secret" not in made
    assert "mnli" in made
    assert "runs/model" in made


def test_mixers_of_others_must_be_registered_first():
    @register_mixer("outer-one")
    @dataclass(frozen=True)
    class Outer(Mixer):
        inner: Mixer = Attention(3)  # noqa: RUF009  (it is frozen)

        def build(self, width, dropout=0.0):
            return self.inner.build(width)

    @register_mixer("inner-one")
    @dataclass(frozen=True)
    class Inner(Mixer):
        def build(self, width, dropout=0.0):
            return Average().build(width)

    try:
        told = model_card(MixerBertModel(MixerBertConfig(**SIZES, mixers=[*STACK[:4], Outer(Inner())])), 17, {}, ())
    finally:
        for name in ("outer-one", "inner-one"):
            del CATALOGUE.constructors.registered[name]
    assert "does not have: `inner-one`, `outer-one`. Each must be registered first: import the file that calls" in told
    example = told.split("```python\n")[1].splitlines()
    assert example[1] == "# import the_file_that_registers_it  # first: inner-one, outer-one; its code is not here"
    assert example[2].startswith("from transformers import")


def test_nothing_is_to_be_registered_for_mixers_of_this_package():
    told = card()
    assert "register" not in told
    assert "no code comes from this folder\nfrom transformers import AutoModel, AutoTokenizer\n" in told
