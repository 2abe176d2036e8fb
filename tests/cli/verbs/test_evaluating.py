"""`evaluate` and `predict` on the command line, with models that finetune made."""

import hashlib
import json
import lzma
import os

import pytest

pytest.importorskip("accelerate", reason="training needs more: pip install anyformer[train]")

WORDS = ("dog", "cat", "bird", "child")
THREE = ("entailment", "contradiction", "neutral")


def rows(count: int, labels=THREE):
    """Pairs whose second text says the label."""
    for number in range(count):
        label = labels[number % len(labels)]
        yield f"a {WORDS[number % 4]} sleeps", label, label


def table(place, header, lines):
    text = "\n".join(["\t".join(header), *("\t".join(map(str, line)) for line in lines)])
    place.write_bytes(lzma.compress(text.encode()) if place.suffix == ".xz" else text.encode())
    return place


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """A pre-trained model of a second."""
    from anyformer.cli.main import main

    place = tmp_path_factory.mktemp("words")
    recipe = place / "recipe.toml"
    recipe.write_text(
        "[architecture]\nlayers = 1\nwidth = 32\nheads = 2\nvocabulary = 300\nlongest = 64\ndropout = 0.0\n"
        "[text]\ntokens = 16\n[schedule]\nsteps = 2\nbatch = 4\n"
    )
    corpus = place / "corpus.txt"
    corpus.write_text("\n".join(f"{first} {second}" for first, second, _ in rows(200)))
    assert main(["pretrain", "--recipe", str(recipe), "--corpus", str(corpus), "-o", str(place / "run")]) == 0
    return place / "run" / "model"


@pytest.fixture(scope="module")
def classifier(words, tmp_path_factory):
    """Fine-tuned to tell three classes apart, which one word says."""
    from anyformer.cli.main import main

    place = tmp_path_factory.mktemp("classes")
    data = table(place / "train.tsv", ("premise", "hypothesis", "label"), rows(120))
    asked = ["finetune", words, "--pairs", data, "--held-out", data, "-o", place / "run", "--epochs", 14]
    assert main([*map(str, asked), "--learning-rate", "0.01", "--batch", "12"]) == 0
    return place / "run" / "model"


def test_a_model_is_measured_and_its_predictions_are_kept(call, classifier, tmp_path):
    lines = [(*row, "odd" if number % 3 else "even") for number, row in enumerate(rows(18))]
    data = table(tmp_path / "dev.tsv.xz", ("premise", "hypothesis", "label", "kind"), [*lines, ("a", "b", "-", "even")])
    asked = ("evaluate", classifier, "--pairs", data, "--by", "kind", "--by", "label", "-o", tmp_path / "out")
    made = call(*asked, "--json")
    assert made.code == 0, made.err
    assert made.data["accuracy"] == 1, "one word says the class"
    assert (made.data["rows"], made.data["unlabelled"], made.data["majority"]) == (18, 1, pytest.approx(1 / 3))
    assert made.data["confusion"] == [[6, 0, 0], [0, 6, 0], [0, 0, 6]]
    assert made.data["accuracy_interval"][0] < 0.9 < made.data["accuracy_interval"][1]
    assert {value: one["rows"] for value, one in made.data["groups"]["kind"].items()} == {"even": 6, "odd": 12}
    assert set(made.data["groups"]["label"]) == set(THREE)
    raw = (tmp_path / "out" / "predictions.jsonl").read_bytes()
    assert hashlib.sha256(raw).hexdigest() == made.data["file"]
    predicted = [json.loads(line) for line in raw.splitlines()]
    assert [row["id"] for row in predicted] == [str(number) for number in range(18)]
    assert all(row["predicted"] == row["label"] for row in predicted)
    kept = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    assert {"output": str(tmp_path / "out"), **kept} == made.data
    assert call(*asked, "--json").data == made.data, "nothing is drawn"
    text = call(*asked).out
    for shown in ("accuracy", "matthews", "95 % of accuracy", "commonest label", "by kind", "odd", "as neutral"):
        assert shown in text


def test_two_way_data_and_a_three_way_model(call, classifier, tmp_path):
    """As HANS: what is not entailment is one label, and rows are measured by heuristic."""
    lines = [
        (first, second, label if label == "entailment" else "non-entailment", ("overlap", "subsequence")[number % 2])
        for number, (first, second, label) in enumerate(rows(12))
    ]
    data = table(tmp_path / "hans.tsv", ("premise", "hypothesis", "label", "heuristic"), lines)
    asked = ("evaluate", classifier, "--pairs", data, "--by", "heuristic", "-o", tmp_path / "out")
    made = call(*asked, "--json")
    assert made.data["accuracy"] == 1
    assert made.data["classes"] == ["non-entailment", "entailment"]
    assert "neutral as non-entailment" in made.data["mapped"]
    assert made.data["groups"]["heuristic"]["overlap"]["by_label"]["non-entailment"]["rows"] == 4
    assert "neutral as non-entailment" in " ".join(call(*asked).out.split())


def test_foreign_labels_are_mapped_where_asked(call, refused, classifier, tmp_path):
    lines = [(first, second, THREE.index(label)) for first, second, label in rows(6)]
    data = table(tmp_path / "p.tsv", ("premise", "hypothesis", "label"), lines)
    asked = ("evaluate", classifier, "--pairs", data, "-o", tmp_path / "out")
    assert "the data has 0, 1, 2" in refused(*asked, kind="TrainingError")
    assert not (tmp_path / "out").exists()
    mapped = [part for place, label in enumerate(THREE) for part in ("--map", f"{place}={label.upper()}")]
    assert call(*asked, *mapped, "--json").data["accuracy"] == 1


@pytest.mark.parametrize("header", [("premise", "hypothesis"), ("premise", "hypothesis", "label")])
def test_rows_without_labels_are_predicted(call, classifier, tmp_path, header):
    lines = [(*row[:2], "-")[: len(header)] for row in rows(7)]
    data = table(tmp_path / "test.tsv", header, lines)
    made = call("predict", classifier, "--pairs", data, "-o", tmp_path / "new" / "p.jsonl", "--json")
    assert made.code == 0, made.err
    predicted = [json.loads(line) for line in (tmp_path / "new" / "p.jsonl").read_text().splitlines()]
    assert [row["predicted"] for row in predicted] == [label for _, _, label in rows(7)]
    assert all(row["label"] is None for row in predicted)
    assert all(sum(row["probabilities"].values()) == pytest.approx(1, abs=1e-5) for row in predicted)
    assert made.data["rows"] == 7
    assert made.data["predictions"] in call("predict", classifier, "--pairs", data, "-o", tmp_path / "p.jsonl").out


@pytest.mark.slow
def test_numbers_are_learned_and_measured(call, words, tmp_path):
    lines = [(first, WORDS[n % 4], n % 4 + 0.5 * (n % 2)) for n, (first, _, _) in enumerate(rows(80))]
    data = table(tmp_path / "sts.tsv", ("sentence1", "sentence2", "score"), lines)
    tuned = call(
        *("finetune", words, "--pairs", data, "--held-out", data, "-o", tmp_path / "run", "--epochs", 15),
        *("--learning-rate", 0.003, "--batch", 8, "--json"),
    )
    assert tuned.code == 0, tuned.err
    assert tuned.data["pearson"] > 0.9
    assert "accuracy" not in tuned.data
    config = json.loads((tmp_path / "run" / "model" / "config.json").read_text())
    assert config["problem_type"] == "regression"
    made = call("evaluate", tmp_path / "run" / "model", "--pairs", data, "-o", tmp_path / "out", "--json")
    assert made.data["pearson"] == pytest.approx(tuned.data["pearson"], abs=1e-3)
    assert made.data["mean_squared_error"] == pytest.approx(tuned.data["mean_squared_error"], abs=1e-3)
    assert made.data["reported"] == ["pearson", "spearman", "mean_squared_error"]
    text = call("evaluate", tmp_path / "run" / "model", "--pairs", data, "--task", "stsb", "-o", tmp_path / "out").out
    assert "also" in text
    assert "mean squared error" in text


@pytest.mark.slow
def test_answers_are_measured(call, words, tmp_path):
    context = "the dog sleeps in the house"
    asked = {"id": "q1", "question": "who sleeps", "answers": [{"text": "the dog", "answer_start": 0}]}
    paragraphs = [{"context": context, "qas": [asked]}]
    data = tmp_path / "squad.json"
    data.write_text(json.dumps({"data": [{"title": "one", "paragraphs": paragraphs}]}))
    tuned = call(
        *("finetune", words, "--questions", data, "--held-out", data, "-o", tmp_path / "run", "--epochs", 40),
        *("--batch", 1, "--learning-rate", 0.003, "--json"),
    )
    assert tuned.code == 0, tuned.err
    out = tmp_path / "out"
    made = call("evaluate", tmp_path / "run" / "model", "--questions", data, "-o", out, "--json")
    assert (made.data["exact"], made.data["f1"]) == (tuned.data["exact"], tuned.data["f1"])
    row = json.loads((out / "predictions.jsonl").read_text())
    assert (row["id"], row["answers"]) == ("q1", ["the dog"])
    assert row["predicted"] in context
    assert "exact" in call("evaluate", tmp_path / "run" / "model", "--questions", data, "-o", out).out


def test_masked_words_of_a_text_are_measured_window_by_window(call, words, tmp_path):
    from anyformer.training.data.vocabulary import load_tokenizer

    text = [f"{first} {second}" for first, second, _ in rows(150)]
    (tmp_path / "text.txt").write_text("\n".join(text))
    asked = ("evaluate", words, "--corpus", tmp_path / "text.txt", "-o", tmp_path / "out")
    told = call(*asked, "--tokens", 16, "--json").data
    coded = load_tokenizer(words)(text, add_special_tokens=False)["input_ids"]
    windows = sum(len(line) + 1 for line in coded) // 14  # each line ends in a mark; each window has two more
    assert (told["words"], told["tokens"]) == (2 * windows, 16)
    kept = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    assert {**told, "windows": kept["windows"]} == {**kept, "output": str(tmp_path / "out")}
    assert len(kept["windows"]["losses"]) == windows
    assert told["loss"] == pytest.approx(sum(kept["windows"]["losses"]) / windows, abs=1e-6)
    shown = call(*asked).out
    assert "of 64 tokens" in shown
    assert "nats, perplexity" in shown


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ("evaluate M -o out", "UsageError", "exactly one of --pairs, --questions and --corpus must be given"),
        ("evaluate M -o out --pairs p.tsv --questions q.json", "UsageError", "got --pairs and --questions"),
        ("evaluate M -o out --corpus p.tsv --task cola", "UsageError", "--task and --map must go with --pairs"),
        ("evaluate M -o out --pairs p.tsv --tokens 32", "UsageError", "--tokens must go with --corpus"),
        ("evaluate M -o out --corpus p.tsv", "TrainingError", "of pretrain;"),
        ("evaluate W -o out --corpus p.tsv", "TrainingError", "must fill at least one sequence of 64 tokens"),
        ("evaluate W -o out --corpus p.tsv --tokens 65", "TrainingError", "at most the 64 tokens that the model takes"),
        ("evaluate W -o out --corpus p.tsv --tokens 7", "TrainingError", "tokens must be at least 8"),
        ("evaluate W -o out --corpus p.tsv --tokens 0", "TrainingError", "tokens must be a whole number from 1"),
        ("evaluate M -o out --questions q.json --by kind", "UsageError", "--by, --task and --map must go with --pairs"),
        ("evaluate M -o out --pairs p.tsv --map neutral", "UsageError", "must read OLD=NEW, such as"),
        (
            "evaluate M -o out --pairs p.tsv --by kind",
            "TrainingError",
            "a column to group by must be one of",
        ),
        ("evaluate M -o out --pairs p.tsv --task squad", "TrainingError", "a task of GLUE must be one of cola"),
        ("evaluate M -o out --pairs bare.tsv", "TrainingError", "must have rows with labels; it has none. Use predict"),
        ("evaluate M -o out --questions q.json", "TrainingError", "there is nothing"),
        ("predict M -o out --pairs empty.tsv", "TrainingError", "must have rows; it has none"),
        ("evaluate nowhere -o out --pairs p.tsv", "FolderError", "a folder with config.json"),
    ],
)
def test_bad_requests_leave_nothing_behind(refused, classifier, words, tmp_path, monkeypatch, arguments, kind, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.tsv").write_text("text\tlabel\na\tneutral\n")
    (tmp_path / "bare.tsv").write_text("text\na\n")
    (tmp_path / "empty.tsv").write_text("text\n")
    if "--questions q.json" in arguments and kind == "TrainingError":
        message = "has no qa_outputs"  # the model is looked at first
    told = refused(*arguments.replace("M", str(classifier)).replace("W", str(words)).split(), kind=kind)
    assert message in told
    assert not (tmp_path / "out").exists()


def test_nothing_but_earlier_results_is_replaced(call, refused, classifier, tmp_path, monkeypatch):
    data = table(tmp_path / "p.tsv", ("text", "label"), [("a dog", "neutral")])
    before = data.read_bytes()
    assert "must not replace the data" in refused(*predicting(classifier, data, data), kind="TrainingError")
    inside = classifier / "config.json"
    assert "the folder of the model" in refused(*predicting(classifier, data, inside), kind="TrainingError")
    monkeypatch.chdir(classifier.parent)
    assert "the folder of the model" in refused(*predicting(classifier.name, data, inside), kind="TrainingError")
    (tmp_path / "mine.txt").write_text('{"id": 3, "text": "mine"}\n')
    for verb in ("evaluate", "predict"):
        place = tmp_path / "mine.txt" if verb == "predict" else tmp_path
        (tmp_path / "evaluation.json").write_text('{"model": "mine"}')
        told = refused(verb, classifier, "--pairs", data, "-o", place, kind="TrainingError")
        assert "only earlier results are replaced" in told
    assert "is a folder" in refused(*predicting(classifier, data, tmp_path), kind="TrainingError")
    os.mkfifo(tmp_path / "pipe")  # to read it would wait for ever
    assert "something else" in refused(*predicting(classifier, data, tmp_path / "pipe"), kind="TrainingError")
    assert "is a file" in refused("evaluate", classifier, "--pairs", data, "-o", data, kind="TrainingError")
    assert data.read_bytes() == before
    assert json.loads(inside.read_text())["model_type"] == "mixer-bert"
    for _ in range(2):  # the second time its own results are there
        assert call("evaluate", classifier, "--pairs", data, "-o", tmp_path / "new").code == 0
        assert call(*predicting(classifier, data, tmp_path / "new.jsonl")).code == 0


def predicting(model, data, place):
    return "predict", model, "--pairs", data, "-o", place


def test_wrong_questions_are_refused_before_anything_is_predicted(refused, classifier, tmp_path, monkeypatch):
    monkeypatch.setattr("anyformer.training.evaluation.evaluating.predict", lambda *_: 1 / 0)
    data = table(tmp_path / "p.tsv", ("text", "label"), [("a dog", "neutral"), ("a cat", "bright")])
    asked = ("evaluate", classifier, "--pairs", data, "-o", tmp_path / "out")
    assert "the data has bright" in refused(*asked, kind="TrainingError")
    fitting = (*asked, "--map", "bright=neutral")
    for more, message in (
        (("--task", "nosuch"), "must be one of cola"),
        (("--task", "stsb"), "measured by pearson and spearman, and this model predicts classes"),
        (("--map", "dull=neutral"), "must be a class of the model"),
    ):
        assert message in refused(*fitting, *more, kind="TrainingError")
    twice = ("--map", "Neutral=entailment", "--map", "neutral=contradiction")
    assert "neutral is there more than once" in refused(*asked, *twice, kind="UsageError")
    asked = ("evaluate", classifier, "--pairs", f"{data}?task=regression", "-o", tmp_path / "out")
    assert "which is task=classes; got task=regression" in refused(*asked, kind="TrainingError")


def test_one_class_alone_is_measured_without_a_warning(call, classifier, tmp_path):
    data = table(tmp_path / "p.tsv", ("text", "label"), [("a dog", "yes"), ("a cat", "yes")])
    mapped = [part for name in THREE for part in ("--map", f"{name}=yes")]
    told = call("evaluate", classifier, "--pairs", data, "-o", tmp_path / "out", "--json", *mapped)
    assert (told.data["accuracy"], told.data["confusion"]) == (1, [[2]])
    assert "Warning" not in told.err


def test_a_model_without_a_trained_head_is_refused(refused, words, tmp_path):
    (tmp_path / "p.tsv").write_text("text\tlabel\na\tneutral\n")
    told = refused("evaluate", words, "-o", tmp_path / "o", "--pairs", tmp_path / "p.tsv", kind="TrainingError")
    assert "must have been trained for the task, as OUTPUT/model of finetune" in told
    assert "has no classifier." in told
