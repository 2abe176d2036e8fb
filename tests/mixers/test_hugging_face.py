"""Trainer, pipelines, tokenizers and ONNX take it as they take any model."""

import math

import pytest
import torch

pytest.importorskip("transformers", reason="BERT needs transformers: pip install anyformer[bert]")

import transformers

from anyformer import mixers
from tests.mixers.bert_samples import labels, small, words


@pytest.fixture
def tokenizer(tmp_path):
    letters = [*"abcdefghijklmnopqrstuvwxyz", *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")]
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]))
    return transformers.BertTokenizerFast(str(tmp_path / "vocab.txt"))


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


def test_question_answering_learns_an_answer():
    torch.manual_seed(11)
    model, given = mixers.MixerBertForQuestionAnswering(small(num_labels=2)), words()
    outputs = model(**given, start_positions=torch.tensor([1, 2, 3]), end_positions=torch.tensor([4, 3, 5]))
    outputs.loss.backward()
    assert outputs.start_logits.shape == outputs.end_logits.shape == (3, 9)
    assert all(p.grad.isfinite().all() for p in model.bert.encoder.parameters())
