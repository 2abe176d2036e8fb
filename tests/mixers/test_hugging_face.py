"""Trainer, pipelines, tokenizers and ONNX take it as they take any model."""

import math

import numpy as np
import pytest
import torch

pytest.importorskip("transformers", reason="BERT needs transformers: pip install anyformer[bert]")

import transformers

from anyformer import mixers
from anyformer.mixers.mixer import is_traced
from tests.mixers.bert_samples import labels, small, words
from tests.mixers.test_battery import Faulty, leaves_pytorch


@pytest.fixture
def tokenizer(tmp_path):
    letters = [*"abcdefghijklmnopqrstuvwxyz", *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")]
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]))
    return transformers.BertTokenizerFast(str(tmp_path / "vocab.txt"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*pin_memory.*:UserWarning")
def test_trainer_trains_and_evaluates(tmp_path):
    pytest.importorskip("accelerate")
    given = words((9, 4, 6, 8, 3, 7))
    rows = [{name: tensor[row] for name, tensor in {**given, "labels": labels(given)}.items()} for row in range(6)]
    torch.manual_seed(10)
    model = mixers.MixerBertForMaskedLM(small())
    options = transformers.TrainingArguments(
        tmp_path,
        max_steps=12,
        per_device_train_batch_size=3,
        learning_rate=1e-2,
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
        seed=0,
    )
    trainer = transformers.Trainer(model, options, train_dataset=rows, eval_dataset=rows)
    before = trainer.evaluate()["eval_loss"]
    trainer.train()
    assert math.isfinite(before)
    assert trainer.evaluate()["eval_loss"] < before
    predicted = trainer.predict(rows)
    assert predicted.predictions.shape == (*predicted.label_ids.shape, 131) == (6, 9, 131)


@pytest.mark.parametrize(
    ("task", "kind", "asked", "longer"),
    [
        ("fill-mask", mixers.MixerBertForMaskedLM, ["ab [MASK] c"], "abc [MASK] de"),
        ("text-classification", mixers.MixerBertForSequenceClassification, ["a b c"], "abc abc de"),
        ("token-classification", mixers.MixerBertForTokenClassification, ["a b c"], "abc abc de"),
        ("feature-extraction", mixers.MixerBertModel, ["a b c"], "abc abc de"),
    ],
)
def test_pipelines_run_from_a_folder(tmp_path, tokenizer, task, kind, asked, longer):
    folder = tmp_path / "model"
    kind(small(vocab_size=len(tokenizer))).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    pipeline = transformers.pipeline(task, model=str(folder), device="cpu")
    assert type(pipeline.model) is kind
    assert type(pipeline.tokenizer) is type(tokenizer)
    # Batched with padding and one by one it says the same.
    together = pipeline([*asked, longer], batch_size=2)
    assert len(together) == 2
    if task == "text-classification":
        assert together[0]["score"] == pytest.approx(pipeline(asked)[0]["score"], rel=1e-5)


def test_question_answering_has_gradients_everywhere():
    torch.manual_seed(11)
    model, given = mixers.MixerBertForQuestionAnswering(small(num_labels=2)), words()
    outputs = model(**given, start_positions=torch.tensor([1, 2, 3]), end_positions=torch.tensor([4, 3, 5]))
    outputs.loss.backward()
    assert outputs.start_logits.shape == outputs.end_logits.shape == (3, 9)
    assert all(p.grad.isfinite().all() for p in model.bert.encoder.parameters())


def test_question_answering_learns_answers_and_tells_them_from_a_folder(tmp_path, tokenizer):
    """As the question-answering pipeline did, which transformers 5 no longer has: offsets of the best span."""
    asked, contexts, answers = ["who b", "what c d"], ["abc saw de", "a fox ran"], ["abc", "ran"]
    given = tokenizer(asked, contexts, padding=True, return_tensors="pt", return_offsets_mapping=True)
    offsets = given.pop("offset_mapping")
    spans = [
        [given.char_to_token(row, context.index(answer) + shift, sequence_index=1) for shift in (0, len(answer) - 1)]
        for row, (context, answer) in enumerate(zip(contexts, answers, strict=True))
    ]
    starts, ends = torch.tensor(spans).T
    torch.manual_seed(12)
    model = mixers.MixerBertForQuestionAnswering(small(vocab_size=len(tokenizer), num_labels=2))
    steps = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(40):
        steps.zero_grad()
        model(**given, start_positions=starts, end_positions=ends).loss.backward()
        steps.step()
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")

    again = transformers.AutoModelForQuestionAnswering.from_pretrained(tmp_path / "model").eval()
    assert type(again) is mixers.MixerBertForQuestionAnswering
    read = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")
    with torch.no_grad():
        outputs = again(**read(asked, contexts, padding=True, return_tensors="pt"))
    for row, (context, answer) in enumerate(zip(contexts, answers, strict=True)):
        in_context = torch.tensor([number == 1 for number in given.sequence_ids(row)])
        first, last = (
            int(scores[row].masked_fill(~in_context, -torch.inf).argmax())
            for scores in (outputs.start_logits, outputs.end_logits)
        )
        assert context[offsets[row, first, 0] : offsets[row, last, 1]] == answer


HEADS = {
    mixers.MixerBertModel: ["last_hidden_state", "pooler_output"],
    mixers.MixerBertForMaskedLM: ["logits"],
    mixers.MixerBertForPreTraining: ["prediction_logits", "seq_relationship_logits"],
    mixers.MixerBertForSequenceClassification: ["logits"],
    mixers.MixerBertForQuestionAnswering: ["start_logits", "end_logits"],
    mixers.MixerBertForTokenClassification: ["logits"],
    mixers.MixerBertForNextSentencePrediction: ["logits"],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HEADS)
def test_onnx_runtime_gives_what_pytorch_gives(tmp_path, kind):
    """All four mixers, other batches and lengths than it was exported with, padding, both token types."""
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    torch.manual_seed(13)
    # As many labels as the example that the export tries has tokens, or two for the ends of an answer.
    model = kind(small(num_labels=2 if kind is mixers.MixerBertForQuestionAnswering else 5)).eval()
    place = mixers.export_onnx(model, tmp_path / "bert.onnx")
    assert list(tmp_path.iterdir()) == [place]
    session = runtime.InferenceSession(place, providers=["CPUExecutionProvider"])
    assert [one.name for one in session.get_inputs()] == ["input_ids", "attention_mask", "token_type_ids"]
    assert [one.name for one in session.get_outputs()] == HEADS[kind]
    for lengths in ((9, 4, 6), (3, 16, 1, 11)):
        given = words(lengths)
        given["token_type_ids"] = torch.arange(max(lengths)).expand_as(given["input_ids"]) % 2
        found = session.run(None, {name: tensor.numpy() for name, tensor in given.items()})
        with torch.no_grad():
            wanted = model(**given)
        for name, got in zip(HEADS[kind], found, strict=True):
            right = wanted[name].numpy()
            assert got.shape == right.shape
            per_token = right.shape[1] == max(lengths)
            kept = given["attention_mask"].numpy().astype(bool) if per_token else np.ones(len(lengths), dtype=bool)
            # A sum errs by a rounding a product: four layers of a mixer, W_O, W_1, W_2 and two norms, and the ends.
            products = 4 * (max(lengths) + 8 * 24 + 40) + 6 * 24
            rounding = products * np.finfo(np.float32).eps * max(1.0, np.abs(right).max())
            assert np.abs(got - right)[kept].max() <= rounding
            # The tolerance tells: another token type moves the outputs by far more.
            with torch.no_grad():
                other = model(**{**given, "token_type_ids": 1 - given["token_type_ids"]})[name].numpy()
            assert np.abs(other - right)[kept].max() > 10 * rounding


@pytest.mark.slow
def test_what_cannot_be_exported_says_so_and_leaves_what_was_there(tmp_path):
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    place = tmp_path / "bert.onnx"
    place.write_bytes(b"before")
    model = mixers.MixerBertModel(small())
    with pytest.raises(mixers.MixerError, match=r"must be in evaluation mode.*Call model\.eval"):
        mixers.export_onnx(model.train(), place)
    with pytest.raises(mixers.MixerError, match=r"a mixer's module or a BERT of mixers; got Linear"):
        mixers.export_onnx(torch.nn.Linear(2, 3), place)
    model.encoder.layer[2].attention.self = Faulty(24, leaves_pytorch)
    with pytest.raises(mixers.MixerError, match=r"MixerBertModel must be exported.*operations of PyTorch alone"):
        mixers.export_onnx(model.eval(), place)
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [b"before"]


@pytest.mark.slow
def test_what_onnx_runtime_computes_differently_is_not_exported(tmp_path, monkeypatch):
    """A graph in which the example's padding was written down instead of the mask that comes in."""
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    model = mixers.MixerBertForSequenceClassification(small(num_labels=3)).eval()
    monkeypatch.setattr("anyformer.mixers.bert.model._needed", lambda mask: None if is_traced() else mask)
    with pytest.raises(mixers.MixerError, match="must give the same logits by ONNX Runtime as by PyTorch"):
        mixers.export_onnx(model, tmp_path / "bert.onnx")
    assert not list(tmp_path.iterdir())
