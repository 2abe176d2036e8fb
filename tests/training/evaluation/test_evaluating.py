"""Models of other kinds than ours, and real data where it is at hand."""

import json
from pathlib import Path

import pytest
import torch
from transformers import (
    BertConfig,
    BertForPreTraining,
    BertForSequenceClassification,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaForSequenceClassification,
)

from anyformer.errors import TrainingError
from anyformer.training import Text
from anyformer.training.evaluation.evaluating import evaluate, evaluate_words, predict_rows
from anyformer.training.tasks.masked_words import IGNORED, hidden
from tests.training.data.samples import DATA, needs_data, roberta_tokenizer, tokenizer_of
from tests.training.evaluation.test_predicting import LINES, model_of

ROOT = Path(__file__).parents[3]
SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
PAIRS = "premise\thypothesis\tlabel\nthe dog\tsleeps\tneutral\nthe\tcat\tentailment\n"
THREE = {"id2label": {0: "ENTAILMENT", 1: "NEUTRAL", 2: "CONTRADICTION"}}


def saved(model, place):
    torch.manual_seed(4)
    model.save_pretrained(place)
    tokenizer_of(LINES).save_pretrained(place)
    return place


def test_a_stock_bert_is_evaluated(tmp_path):
    model = saved(BertForSequenceClassification(BertConfig(vocab_size=200, **SIZES, **THREE)), tmp_path / "m")
    (tmp_path / "p.csv").write_text("premise,hypothesis,label\nthe dog,sleeps,neutral\na cat,runs,Entailment\n")
    found = evaluate(model, str(tmp_path / "p.csv"), tmp_path / "out")
    assert found.found.names == ("entailment", "neutral", "contradiction")
    assert sum(map(sum, found.found.confusion)) == 2


def test_a_roberta_is_evaluated_up_to_its_longest_text(tmp_path):
    """Its positions start after the padding: of 20 there are 18 for tokens."""
    config = RobertaConfig(
        vocab_size=8, max_position_embeddings=20, type_vocab_size=1, pad_token_id=1, **SIZES, **THREE
    )
    torch.manual_seed(3)
    RobertaForSequenceClassification(config).save_pretrained(tmp_path / "m")
    roberta_tokenizer("the", "dog", "sleeps").save_pretrained(tmp_path / "m")
    rows = ["premise\thypothesis\tlabel", f"{'the dog ' * 30}\tsleeps\tneutral", "the dog\tsleeps\tentailment"]
    (tmp_path / "p.tsv").write_text("\n".join(rows))
    found = evaluate(tmp_path / "m", str(tmp_path / "p.tsv"), tmp_path / "out")
    assert found.provenance.rows == 2
    alone = RobertaForSequenceClassification.from_pretrained(tmp_path / "m").eval()
    ids = [0, 5, 6, 2, 2, 7, 2]
    with torch.no_grad():
        wanted = alone(torch.tensor([ids])).logits.softmax(dim=1)[0].tolist()
    rows = [json.loads(line) for line in (tmp_path / "out" / "predictions.jsonl").read_text().splitlines()]
    assert list(rows[1]["probabilities"].values()) == pytest.approx(wanted, abs=2e-6)


def test_labels_that_the_model_does_not_predict_are_only_kept_beside(tmp_path):
    numbers = BertForSequenceClassification(BertConfig(vocab_size=200, num_labels=1, **SIZES))
    (tmp_path / "p.tsv").write_text(PAIRS)
    made, _ = predict_rows(saved(numbers, tmp_path / "m"), str(tmp_path / "p.tsv"), tmp_path / "out.jsonl")
    assert made.labels == ("neutral", "entailment")
    assert all(isinstance(said, float) for said in made.predicted)


def words_of_stock_bert(place, **changed):
    torch.manual_seed(5)
    bert = BertForPreTraining(BertConfig(vocab_size=200, max_position_embeddings=20, **SIZES))
    with torch.no_grad():
        for name, value in changed.items():
            bert.get_parameter(name.replace("__", ".")).fill_(value)
    return saved(bert, place)


def test_masked_words_of_a_stock_bert_are_those_of_transformers(tmp_path, monkeypatch):
    model = words_of_stock_bert(tmp_path / "m")
    (tmp_path / "text.txt").write_text("the dog sleeps\n" * 40)
    asked = []
    monkeypatch.setattr(
        "anyformer.training.evaluation.words.hidden", lambda *given: asked.append(hidden(*given)) or asked[-1]
    )
    scores = evaluate_words(model, str(tmp_path / "text.txt"), tmp_path / "out").scores
    alone = BertForPreTraining.from_pretrained(model).eval()
    for window, batch in enumerate(asked):
        chosen = batch["labels"] != IGNORED
        with torch.no_grad():
            logits = alone(batch["input_ids"]).prediction_logits[chosen]
        wanted = torch.nn.functional.cross_entropy(logits, batch["labels"][chosen])
        assert scores.losses[window] == pytest.approx(float(wanted), rel=1e-5)
    assert len(asked) == len(scores.losses) > 5


def test_models_whose_masked_words_cannot_be_measured_are_refused(tmp_path):
    (tmp_path / "text.txt").write_text("the dog sleeps\n" * 40)
    sizes = {"vocab_size": 8, "max_position_embeddings": 20, "type_vocab_size": 1, "pad_token_id": 1}
    RobertaForMaskedLM(RobertaConfig(**sizes, **SIZES)).save_pretrained(tmp_path / "roberta")
    with pytest.raises(TrainingError, match=r"must be a BERT, .* is of 'roberta'"):
        evaluate_words(tmp_path / "roberta", str(tmp_path / "text.txt"), tmp_path / "out")
    broken = words_of_stock_bert(tmp_path / "broken", cls__predictions__bias=float("nan"))
    with pytest.raises(TrainingError, match="losses must be finite"):
        evaluate_words(broken, str(tmp_path / "text.txt"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_rows_keep_the_names_that_the_data_gives_them(tmp_path):
    model = saved(model_of(), tmp_path / "m")
    (tmp_path / "p.csv").write_text("text,label,id\nthe dog,neutral,x7\na cat,,x2\n")
    made, _ = predict_rows(model, str(tmp_path / "p.csv"), tmp_path / "p.jsonl")
    assert (made.ids, made.labels) == (("x7", "x2"), ("neutral", None))
    (tmp_path / "q.csv").write_text("text,label,id\nthe dog,neutral,x7\na cat,,x7\n")
    assert predict_rows(model, str(tmp_path / "q.csv"), tmp_path / "q.jsonl")[0].ids == ("0", "1"), "not unique"


def test_the_digest_of_the_weights_is_that_of_the_model(tmp_path):
    (tmp_path / "p.csv").write_text("text,label\nthe dog,neutral\n")
    model = model_of()
    one = evaluate(saved(model, tmp_path / "m"), str(tmp_path / "p.csv"), tmp_path / "out")
    model.classifier.bias.data[0] += 1
    other = evaluate(saved(model, tmp_path / "n"), str(tmp_path / "p.csv"), tmp_path / "out")
    assert one.provenance.weights != other.provenance.weights


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    from types import SimpleNamespace

    from tests.training.evaluation.test_words import IDS
    from tests.training.evaluation.test_words import model_of as language_model

    monkeypatch.chdir(tmp_path)
    saved(model_of(), tmp_path / "runs" / "nli" / "model")
    (tmp_path / "mnli_dev.tsv").write_text(
        "premise\thypothesis\tlabel\nthe dog\tsleeps\tneutral\nthe\tcat\tentailment\n"
    )
    first, second = (ROOT / "docs" / "how_to" / "evaluate.md").read_text().split("```python\n")[1:]
    exec(first.split("```")[0], {})
    digest, _, _ = capsys.readouterr().out.partition(" ")
    assert len(digest) == 64
    tokenizer = tokenizer_of([*LINES, *map(str, range(300))], 300)
    given = {
        "model": language_model(),
        "text": SimpleNamespace(valid=IDS[len(tokenizer) > IDS], tokenizer=tokenizer),
        "recipe": SimpleNamespace(text=Text(tokens=20)),
    }
    exec(second.split("```")[0], given)
    assert given["scores"].words == given["scores"].hidden * len(given["scores"].losses)


@needs_data
def test_hans_is_measured_by_heuristic(tmp_path):
    model = saved(model_of(), tmp_path / "m")
    chosen = f"{DATA}/nli/hans_eval_nopunct.tsv.xz?subcase=ln_subject/object_swap,sn_NP/S,cn_after_if_clause,ce_adverb"
    found = evaluate(model, chosen, tmp_path / "out", by=("heuristic",)).found
    assert {name: one.rows for name, one in found.groups["heuristic"].items()} == {
        "constituent": 2000,
        "lexical_overlap": 1000,
        "subsequence": 1000,
    }
    assert set(found.names) == {"entailment", "non-entailment"}
    assert found.groups["heuristic"]["constituent"].by_label["entailment"].rows == 1000
