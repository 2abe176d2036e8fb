"""Pre-training and fine-tuning from end to end, on runs of a second."""

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain

import pytest
import torch
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    DistilBertConfig,
    DistilBertModel,
)

from anyformer.cli.main import main
from anyformer.errors import MixerError, TrainingError
from anyformer.mixers import Attention, Average, register_mixer, trial
from anyformer.training import (
    Pairs,
    Question,
    RunFolder,
    Schedule,
    SyntheticLanguage,
    finetune,
    parse_mixers,
    prepare,
    pretrain,
)
from anyformer.training.tasks.examples import padded, rows_of_similar_length, rows_of_step
from anyformer.training.tasks.pretrain import prepare_run, require_possible
from anyformer.training.tasks.spans import features
from tests.mixers.conftest import shipped  # noqa: F401
from tests.training.small import recipe, text

SENTENCES = ("the dog sleeps", "a cat runs home", "birds sing", "no one reads the long letter today")


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> RunFolder:
    place = tmp_path_factory.mktemp("trained")
    return pretrain(recipe(steps=20), text(place / "text"), place / "run")


def pairs(count: int, labels: int = 2, names: tuple[str, ...] = ("apart", "same")) -> Pairs:
    """Whether two texts are the same: to be seen from the words alone."""
    first = tuple(SENTENCES[number % 4] for number in range(count))
    same = tuple(number // 4 % labels for number in range(count))
    second = tuple(
        one if is_same else SENTENCES[(number + 1) % 4]
        for number, (one, is_same) in enumerate(zip(first, same, strict=True))
    )
    return Pairs(first, second, same, names)


def questions(count: int) -> tuple[Question, ...]:
    context = "the dog sleeps in the house and the cat runs in the garden"
    return tuple(
        Question(str(number), f"article {number}", context, f"where is the {who}", (where,), (context.index(where),))
        for number, (who, where) in zip(range(count), [("dog", "house"), ("cat", "garden")] * count, strict=False)
    )


def test_what_pretraining_leaves_is_a_model_of_hugging_face(trained):
    model = AutoModelForMaskedLM.from_pretrained(trained.model)
    tokenizer = AutoTokenizer.from_pretrained(trained.model)
    logits = model(**tokenizer("a few words", return_tensors="pt")).logits
    assert logits.shape[-1] == len(tokenizer)
    assert not trained.checkpoints.exists(), "a complete run needs no checkpoints"


def test_everything_is_measured(trained):
    rows = trained.rows()
    assert [row["step"] for row in rows if "loss" in row] == list(range(1, 21))
    assert [row["step"] for row in rows if "validation_loss" in row] == [0, 5, 10, 15, 20]
    assert all(row["seconds"] > 0 for row in rows if "loss" in row)
    assert list((trained.place / "tensorboard").glob("events.*"))


def test_training_lowers_the_loss(tmp_path):
    run = pretrain(recipe(steps=60, learning_rate=5e-3), text(tmp_path / "text"), tmp_path / "run")
    measured = [row["validation_loss"] for row in run.rows() if "validation_loss" in row]
    assert measured[-1] < measured[0] - 0.5


@pytest.mark.slow
def test_attention_over_a_pattern_is_trained_too(tmp_path):
    """With dropout, and with a pattern that takes turns over the layers."""
    mixers = parse_mixers(["sparse-attention:heads=2,pattern=strided:stride=4"])
    asked = recipe(steps=40, learning_rate=5e-3).changed(architecture={"mixers": mixers})
    run = pretrain(asked, text(tmp_path / "text"), tmp_path / "run")
    losses = [row["validation_loss"] for row in run.rows() if "validation_loss" in row]
    assert losses[-1] < losses[0] - 0.1
    model = AutoModelForMaskedLM.from_pretrained(run.model)
    assert model.config.layer_mixers == mixers * 4
    tuned = finetune(run.model, pairs(24), pairs(8), tmp_path / "tuned", epochs=1)
    assert tuned.is_complete


def test_a_complete_run_is_not_done_again(trained):
    before = (trained.model / "model.safetensors").stat().st_mtime_ns
    pretrain(recipe(steps=20), text(trained.place.parent / "text"), trained.place)
    assert (trained.model / "model.safetensors").stat().st_mtime_ns == before


def test_another_recipe_does_not_go_on_in_the_same_folder(trained):
    with pytest.raises(TrainingError, match=r"recipe\.schedule\.steps = 20, and 21 is asked for"):
        pretrain(recipe(steps=21), text(trained.place.parent / "text"), trained.place)


def test_the_size_of_the_parts_does_not_matter(tmp_path):
    prepared = text(tmp_path / "text")
    plain = recipe(steps=4).changed(architecture={"dropout": 0.0})
    runs = [
        pretrain(plain.changed(schedule={"at_once": size}), prepared, tmp_path / f"run-{size}") for size in (None, 4, 1)
    ]
    losses = [[row["loss"] for row in run.rows() if "loss" in row] for run in runs]
    # float32 sums in another order, and four steps of Adam on top.
    assert losses[1] == pytest.approx(losses[0], abs=1e-3)
    assert losses[2] == pytest.approx(losses[0], abs=1e-3)


def test_pairs_are_learned(trained, tmp_path):
    schedule = Schedule(batch=8, learning_rate=5e-3, evaluate_every=40, save_every=40)
    run = finetune(trained.model, pairs(64), pairs(16), tmp_path / "run", 10, schedule)
    assert run.rows()[-1]["step"] == 80
    assert run.rows()[-1]["accuracy"] > 0.9
    model = AutoModelForSequenceClassification.from_pretrained(run.model)
    assert model.config.id2label == {0: "apart", 1: "same"}


def test_answers_are_learned(trained, tmp_path):
    schedule = Schedule(batch=8, learning_rate=1e-2, evaluate_every=500, save_every=500)
    tokenizer = AutoTokenizer.from_pretrained(trained.model)
    windows = len(features(questions(16), tokenizer, length=24, stride=8))
    run = finetune(trained.model, questions(16), questions(4), tmp_path / "run", 15, schedule)
    first, last = (row for row in run.rows() if "f1" in row)
    assert last["f1"] > max(first["f1"], 45.0)
    assert last["step"] == math.ceil(15 * windows / 8)
    assert windows > 16, "epochs are counted in windows, of which a question has several"


@pytest.mark.parametrize(
    ("training", "held_out", "message"),
    [
        (pairs(8), pairs(8, names=("apart", "alike")), r"labels \('apart', 'same'\); got \('apart', 'alike'\)"),
        (pairs(8), questions(2), "of the same kind"),
    ],
)
def test_what_is_held_out_must_fit(trained, tmp_path, training, held_out, message):
    with pytest.raises(TrainingError, match=message):
        finetune(trained.model, training, held_out, tmp_path / "run", 1)
    assert not (tmp_path / "run").exists()


def test_only_models_can_be_fine_tuned(tmp_path):
    with pytest.raises(TrainingError, match=r"a folder with config\.json"):
        finetune(tmp_path, pairs(8), pairs(8), tmp_path / "run")
    other = DistilBertModel(DistilBertConfig(vocab_size=50, dim=8, n_layers=1, n_heads=1, hidden_dim=16))
    other.save_pretrained(tmp_path / "distil")
    with pytest.raises(
        TrainingError, match=r"of one of the types mixer-bert, bert, mixer-roberta, roberta; .* is of 'distilbert'"
    ):
        finetune(tmp_path / "distil", pairs(8), pairs(8), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def with_mixer(layer: int, **mixer) -> Callable[[bytes], bytes]:
    def changed(text: bytes) -> bytes:
        config = json.loads(text)
        config["mixers"][layer] = mixer
        return json.dumps(config).encode()

    return changed


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("config.json", with_mixer(2, kind="attention", heads=2), r"differ in bert\.encoder\.layer\.2\."),
        ("config.json", with_mixer(1, kind="average"), r"differ in bert\.encoder\.layer\.1\..*W_P"),
        (
            "config.json",
            lambda text: text.replace(b'"hidden_size": 16', b'"hidden_size": 32'),
            "asks for 41140, and there",
        ),
        ("config.json", lambda text: text[: len(text) // 2], "config.json must be JSON"),
        ("model.safetensors", lambda text: text[: len(text) // 2], "must be a whole safetensors"),
    ],
)
def test_a_model_of_another_architecture_than_it_says_is_refused(trained, tmp_path, file, change, message):
    shutil.copytree(trained.model, tmp_path / "model")
    place = tmp_path / "model" / file
    place.write_bytes(change(place.read_bytes()))
    with pytest.raises(TrainingError, match=message):
        finetune(tmp_path / "model", pairs(8), pairs(8), tmp_path / "run", 1)


def test_a_stock_bert_can_be_fine_tuned(trained, tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(trained.model)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(tmp_path / "stock")
    tokenizer.save_pretrained(tmp_path / "stock")
    assert finetune(tmp_path / "stock", pairs(8), pairs(8), tmp_path / "run", 1).is_complete


def test_one_label_is_nothing_to_learn(trained, tmp_path):
    alone = Pairs(("a", "b"), ("c", "d"), (0, 0), ("yes",))
    with pytest.raises(TrainingError, match="labels must be at least two; got yes alone"):
        finetune(trained.model, alone, alone, tmp_path / "run")


def test_somebody_elses_folder_is_left_alone(trained, tmp_path):
    (tmp_path / "model").mkdir()
    with pytest.raises(TrainingError, match="has model in it"):
        finetune(trained.model, pairs(8), pairs(8), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_loss_that_is_not_finite_ends_the_run_at_its_last_checkpoint(tmp_path):
    wild = recipe(steps=40, learning_rate=1e30, save_every=1)
    with pytest.raises(TrainingError, match="the loss must be finite; in step"):
        pretrain(wild, text(tmp_path / "text"), tmp_path / "run")
    assert all(row["loss"] < float("inf") for row in RunFolder(tmp_path / "run").rows() if "loss" in row)


def test_a_mistake_in_the_model_leaves_no_run_behind(tmp_path):
    wrong = recipe().changed(architecture={"mixers": (Attention(heads=3),)})
    with pytest.raises(MixerError, match="heads must divide the width"):
        pretrain(wrong, text(tmp_path / "text"), tmp_path / "run")
    pretrain(recipe(steps=1), text(tmp_path / "text"), tmp_path / "run")


def test_another_corpus_has_another_tokenizer(tmp_path):
    first = prepare(SyntheticLanguage(sentences=100), tmp_path, vocabulary=400)
    again = prepare(SyntheticLanguage(sentences=100), tmp_path, vocabulary=400)
    assert again.origins == first.origins
    assert len(prepare(SyntheticLanguage(sentences=100), tmp_path, vocabulary=300).tokenizer) == 300
    other = prepare(SyntheticLanguage(sentences=100, seed=1), tmp_path, vocabulary=400)
    assert other.origins[0].tokenizer_digest != first.origins[0].tokenizer_digest


@pytest.mark.parametrize("name", ["tokens.json", "tokens.npy"])
def test_tokens_that_a_killed_process_left_are_made_anew(tmp_path, name):
    first = prepare(SyntheticLanguage(sentences=100), tmp_path, vocabulary=400)
    kept = first.train.copy()
    (tmp_path / name).unlink()
    assert (prepare(SyntheticLanguage(sentences=100), tmp_path, vocabulary=400).train == kept).all()


def test_what_is_saved_names_its_classes_in_both_directions(trained, tmp_path):
    """Zero-shot pipelines look up "entailment" in label2id."""
    three = ("contradiction", "entailment", "neutral")
    tuned = finetune(trained.model, pairs(12, 3, three), pairs(6, 3, three), tmp_path / "run", 1, Schedule(batch=4))
    config = AutoModelForSequenceClassification.from_pretrained(tuned.model).config
    assert config.label2id == {"contradiction": 0, "entailment": 1, "neutral": 2}
    assert config.id2label == dict(enumerate(three))
    measured = next(row for row in tuned.rows() if "accuracy" in row)
    assert {"accuracy", "macro_f1", "matthews"} < set(measured)


def test_numbers_are_regression_whatever_the_model_was_before(trained, tmp_path):
    scored = replace(pairs(10), labels=tuple(n / 4 for n in range(10)), names=())
    classes = finetune(trained.model, pairs(8), pairs(8), tmp_path / "classes", 1, Schedule(batch=4))
    numbers = finetune(classes.model, scored, scored, tmp_path / "numbers", 1, Schedule(batch=3))
    model = AutoModelForSequenceClassification.from_pretrained(numbers.model)
    assert (model.config.problem_type, model.config.num_labels) == ("regression", 1)
    measured = next(row for row in numbers.rows() if "pearson" in row)
    assert {"pearson", "spearman", "mean_squared_error"} < set(measured)
    # Before the first step the loss is the squared error of what is held out, seen in batches here.
    assert measured["mean_squared_error"] == pytest.approx(sum((n / 4) ** 2 for n in range(10)) / 10, rel=0.5)
    again = finetune(numbers.model, pairs(8), pairs(8), tmp_path / "again", 1, Schedule(batch=4))
    config = AutoModelForSequenceClassification.from_pretrained(again.model).config
    assert (config.problem_type, config.num_labels) == ("single_label_classification", 2)


def test_numbers_and_classes_do_not_mix(trained, tmp_path):
    scored = replace(pairs(8), labels=(0.5,) * 8, names=())
    with pytest.raises(TrainingError, match=r"must have the labels numbers; got \('apart', 'same'\)"):
        finetune(trained.model, scored, pairs(8), tmp_path / "run")


def test_a_batch_is_of_examples_that_there_are(trained, tmp_path):
    with pytest.raises(TrainingError, match=r"at most the 40 examples to train on, or 32; got 41"):
        finetune(trained.model, pairs(40), pairs(8), tmp_path / "run", 1, Schedule(batch=41))
    for kind, count in ((pairs, 40), (questions, 9)):
        with pytest.raises(TrainingError, match=r"a batch must be at most the \d+ examples .* got 1000000"):
            finetune(trained.model, kind(count), kind(8), tmp_path / "run", 1, Schedule(batch=1_000_000))
    assert not (tmp_path / "run").exists()
    assert finetune(trained.model, pairs(12), pairs(8), tmp_path / "run", 1, Schedule(batch=32)).is_complete


def test_rows_without_a_label_are_counted_for_the_user(trained, tmp_path, capsys):
    rows = [f"{text}\t{label}" for text in SENTENCES for label in ("yes", "no", "-")]
    for name, kept in (("train", rows), ("held", rows[:-1])):
        (tmp_path / f"{name}.tsv").write_text("\n".join(["text\tlabel", *kept]))
    given = ["finetune", str(trained.model), "--pairs", str(tmp_path / "train.tsv"), "-o", str(tmp_path / "run")]
    assert main([*given, "--held-out", str(tmp_path / "held.tsv"), "--epochs", "1", "--batch", "4"]) == 0
    assert "note: rows without a label, left out: 7\n" in capsys.readouterr().err


def test_other_weights_are_another_run(trained, tmp_path):
    place, schedule = tmp_path / "run", Schedule(batch=4)
    finetune(trained.model, pairs(8), pairs(8), place, 1, schedule)
    other = pretrain(recipe(steps=2, seed=1), text(tmp_path / "text"), tmp_path / "other")
    with pytest.raises(TrainingError, match="has model = "):
        finetune(other.model, pairs(8), pairs(8), place, 1, schedule)


def test_each_epoch_has_every_example_once_in_its_own_order():
    rows = [row for step in range(10) for row in rows_of_step(count=10, batch=3, seed=2, step=step)]
    epochs = [rows[start : start + 10] for start in (0, 10, 20)]
    assert all(sorted(epoch) == list(range(10)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]


def test_steps_of_similar_lengths_have_the_same_examples_and_less_padding():
    class Example:
        def __init__(self, length: int) -> None:
            self.input_ids = self.token_type_ids = (1,) * length

    examples = [Example(3 + number * number % 41) for number in range(500)]

    def padding(batches) -> int:
        lengths = [[len(examples[row].input_ids) for row in rows] for rows in batches]
        return sum(max(each) - length for each in lengths for length in each)

    for steps in (40, 37, 16, 5):
        schedule = Schedule(steps=steps, batch=4, seed=3)
        alike = [rows_of_similar_length(examples, schedule, step) for step in range(steps)]
        mixed = [rows_of_step(500, 4, 3, step) for step in range(steps)]
        assert all(len(rows) == 4 for rows in alike)
        for first in range(0, steps, 15):  # an eighth of an epoch
            one, other = (sorted(chain(*rows[first : first + 15])) for rows in (alike, mixed))
            assert one == other
        assert padding(alike) < padding(mixed) / 2
        longest = [max(len(examples[row].input_ids) for row in rows) for rows in alike]
        assert longest != sorted(longest), "steps are not in the order of their lengths"


def test_few_examples_are_not_sorted():
    class Example:
        input_ids = token_type_ids = (1,)

    schedule = Schedule(steps=9, batch=4, seed=3)
    for step in range(9):
        assert rows_of_similar_length([Example()] * 63, schedule, step) == rows_of_step(63, 4, 3, step)


def test_padding_is_masked():
    class Example:
        def __init__(self, length: int) -> None:
            self.input_ids, self.token_type_ids = (7,) * length, (1,) * length

    made = padded([Example(2), Example(4)], padding=9)
    assert made["input_ids"].tolist() == [[7, 7, 9, 9], [7, 7, 7, 7]]
    assert made["attention_mask"].tolist() == [[1, 1, 0, 0], [1, 1, 1, 1]]
    assert made["token_type_ids"].dtype == torch.int64


class _Tampers(torch.nn.Module):
    """Gives what its function makes of its input."""

    def __init__(self, does):
        super().__init__()
        self.does = does

    def forward(self, hidden, keep):
        return self.does(hidden * keep[..., None])


def _tampering(does):
    """A recipe for next words with a mixer of somebody else's, which says that it is causal."""

    @register_mixer("tampering")
    @dataclass(frozen=True)
    class Tampering:
        def build(self, width, dropout=0.0):
            return _Tampers(does)

        def causal(self):
            return self

    given = recipe(steps=1)
    architecture = replace(given.architecture, mixers=(Average(), Tampering(), Average(), Tampering()))
    return replace(given, architecture=architecture, text=replace(given.text, task="next-words"))


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize(
    ("does", "fact"),
    [
        (lambda hidden: hidden[..., 1:], "must give a tensor of hidden's shape and type; for .* it gave"),
        (lambda hidden: hidden[:1], r"it gave \(1, 20, 16\)"),
        (lambda hidden: hidden.double(), "it gave .* of torch.float64"),
        (lambda hidden: {}["mine"], "it raised KeyError: 'mine'"),
        (lambda hidden: hidden.roll(-1, dims=1), "must let no token see a later one"),
    ],
)
def test_faults_of_a_mixer_are_told_before_anything_is_written(tmp_path, does, fact):
    place = tmp_path / "run"
    with pytest.raises(MixerError, match=rf"the mixer 'tampering', .*Tampering\(\), .*{fact}"):
        prepare_run(_tampering(does), SyntheticLanguage(sentences=300), place)
    assert not place.exists()


@pytest.mark.usefixtures("shipped")
def test_a_mixer_may_look_ahead_where_words_are_hidden(tmp_path):
    given = _tampering(lambda hidden: hidden.roll(-1, dims=1))
    require_possible(replace(given, text=replace(given.text, task="masked-words")))
    require_possible(_tampering(lambda hidden: hidden.cumsum(dim=1)))


def test_mixers_of_this_package_are_not_tried(monkeypatch):
    monkeypatch.setattr(trial, "Trial", None)
    require_possible(recipe())
