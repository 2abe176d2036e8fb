"""`pretrain`, `finetune` and `reproduce` on the command line."""

import json
import lzma

import pytest

pytest.importorskip("accelerate", reason="training needs more: pip install anyformer[train]")

SMALL = "[architecture]\nlayers = 2\nwidth = 16\nheads = 2\nvocabulary = 400\nlongest = 32\n[text]\ntokens = 16\n"
ROWS = [("a dog sleeps", "an animal sleeps", "entailment"), ("a dog sleeps", "a dog runs", "contradiction")]


@pytest.fixture
def recipe(tmp_path):
    place = tmp_path / "recipe.toml"
    place.write_text(SMALL + "[schedule]\nsteps = 4\nbatch = 4\n")
    return place


@pytest.fixture
def pairs(tmp_path):
    place = tmp_path / "pairs.tsv.xz"
    rows = [(f"{number} {first}", second, label) for number in range(20) for first, second, label in ROWS]
    lines = ["premise\thypothesis\tlabel", *("\t".join(row) for row in rows)]
    place.write_bytes(lzma.compress("\n".join(lines).encode()))
    return place


def test_from_nothing_to_a_model_that_tells_classes_apart(call, tmp_path, recipe, pairs):
    asked = ("pretrain", "--recipe", recipe, "-o", tmp_path / "words", "--corpus", "synthetic:sentences=200", "--json")
    words = call(*asked)
    assert words.code == 0
    assert (words.data["complete"], words.data["step"]) == (True, 4)
    assert call(*asked).data == words.data, "a second start has nothing to do"
    text = call(*asked[:-1])
    assert "validation loss" in text.out
    assert str(tmp_path / "words" / "model") in text.out.replace("\n", "").replace(" ", "")
    tuned = call(
        *("finetune", tmp_path / "words" / "model", "--pairs", pairs, "--epochs", 1, "--batch", 6),
        *("-o", tmp_path / "classes", "--json"),
    )
    assert tuned.code == 0
    assert 0 <= tuned.data["accuracy"] <= 1
    config = json.loads((tmp_path / "classes" / "model" / "config.json").read_text())
    assert config["id2label"] == {"0": "contradiction", "1": "entailment"}


def test_mixers_can_be_named_one_for_each_layer(call, tmp_path, recipe):
    mixers = ("--mixer", "convolution:kernel=3,filters=4", "--mixer", "average")
    made = call("pretrain", "--recipe", recipe, "-o", tmp_path / "run", "--corpus", "synthetic:sentences=200", *mixers)
    assert made.code == 0
    config = json.loads((tmp_path / "run" / "model" / "config.json").read_text())
    assert config["mixers"] == [{"kind": "convolution", "kernel": 3, "filters": 4}, {"kind": "average"}]


def test_a_language_model_is_trained_and_not_fine_tuned(call, tmp_path, recipe, pairs):
    asked = ("pretrain", "--recipe", recipe, "-o", tmp_path / "run", "--corpus", "synthetic:sentences=200", "--json")
    made = call(*asked, "--task", "next-words", "--mixer", "convolution:kernel=3,filters=4")
    assert made.code == 0
    assert 0 <= made.data["validation_accuracy"] <= 1
    config = json.loads((tmp_path / "run" / "model" / "config.json").read_text())
    assert (config["architectures"], config["is_decoder"]) == (["MixerBertForCausalLM"], True)
    assert call(*asked).code == 2, "the same folder is not for masked words"
    tuned = call("finetune", tmp_path / "run" / "model", "--pairs", pairs, "-o", tmp_path / "classes")
    assert tuned.code == 2
    assert "must see all words" in tuned.err


@pytest.fixture
def entailment(tmp_path):
    """Pairs that share no text, from two sources."""
    places = []
    for source in ("near", "far"):
        places.append(tmp_path / f"{source}_dev.tsv")
        labels = ("entailment", "neutral", "contradiction")
        rows = [f"{source}{k} runs {k * 7}\tit{k} walks {source}\t{labels[k % 3]}" for k in range(60)]
        places[-1].write_text("\n".join(["premise\thypothesis\tlabel", *rows]))
    return tuple(part for place in places for part in ("--nli", place))


@pytest.mark.slow
def test_the_comparison_is_complete_and_goes_on(call, tmp_path, entailment):
    unseen = tmp_path / "unseen.txt"
    unseen.write_text("the same line again and again\n" * 200)
    text = ("--corpus", "synthetic:sentences=400", "--held-out", unseen, "--measured", "synthetic:sentences=200,seed=1")
    asked = ("reproduce", "mixers", *entailment, "-o", tmp_path / "all", *text, "--json")
    made = call(*asked)
    assert made.code == 0
    assert list(made.data["words"]) == ["convolution", "attention"]
    baselines = ["majority", "hypothesis words", "pair words", "overlap"]
    assert list(made.data["entailment"])[:6] == [*baselines, "convolution", "attention"]
    assert set(made.data["entailment"]["attention"]["by_source"]) == {"near", "far"}
    report = tmp_path / "all" / "report"
    assert sorted(file.name for file in report.iterdir()) == [
        *("curves.png", "entailment.png", "results.json", "tables.md"),
    ]
    tables = (report / "tables.md").read_text()
    assert "| attention | yes |" in tables
    assert "78.2" in tables
    before = json.loads((report / "results.json").read_text())
    assert before == made.data
    assert before["configuration"]["recipes"]["attention"]["schedule"]["precision"] == "fp32"
    assert before["configuration"]["text"]["held_out"] == "unseen.txt", "a report names no folders"
    again = call(*asked[:-1])
    assert "pair words" in again.out
    assert "complete" not in again.err, "nothing is done again"
    after = json.loads((report / "results.json").read_text())
    assert after["entailment"] == before["entailment"]


@pytest.mark.slow
def test_ones_own_mixers_are_compared(call, tmp_path, entailment):
    """One from the catalogue with its sizes, and one that a file of the user's brings."""
    plugin = tmp_path / "alone.py"
    plugin.write_text(
        "from dataclasses import dataclass\nfrom torch import nn\nfrom anyformer.mixers import register_mixer\n"
        "class Same(nn.Module):\n    def forward(self, hidden, keep):\n        return hidden * keep[..., None]\n"
        "@register_mixer('alone')\n@dataclass(frozen=True)\nclass Alone:\n"
        "    def build(self, width, dropout=0.0):\n        return Same()\n"
    )
    own = ("--plugin", plugin, "--mixer", "convolution:kernel=5,filters=4", "--mixer", "alone")
    text = ("--corpus", "synthetic:sentences=400")
    made = call("reproduce", "mixers", *entailment, "-o", tmp_path / "all", *text, *own, "--json")
    assert made.code == 0
    assert list(made.data["words"]) == ["convolution-kernel-5-filters-4", "alone"]


@pytest.mark.slow
def test_copying_is_complete_and_goes_on(call, tmp_path):
    asked = ("reproduce", "copying", "--budget", "smoke", "-o", tmp_path / "all", "--json")
    made = call(*asked)
    assert made.code == 0
    report = tmp_path / "all" / "report"
    names = ["capacity.png", "depths.png", "details.md", "results.json", "table.md"]
    assert sorted(file.name for file in report.iterdir()) == names
    before = json.loads((report / "results.json").read_text())
    assert before == made.data
    assert [one["symbols"] for one in before["outcomes"]] != []
    assert all(len(one["symbols"]) == 1 for one in before["outcomes"])
    again = call(*asked[:-1])
    assert "fixed-multihead" in again.out
    assert "steps" not in again.err, "nothing is trained again"
    assert json.loads((report / "results.json").read_text()) == before
    more = call(*asked, "--seeds", 2)
    after = more.data["outcomes"]
    assert [one["symbols"][0] for one in after] == [one["symbols"][0] for one in before["outcomes"]]
    assert all(len(one["symbols"]) == 2 for one in after)


@pytest.mark.slow
def test_recall_is_complete_and_goes_on(call, tmp_path):
    asked = ("reproduce", "recall", "--budget", "smoke", "-o", tmp_path / "all", "--mixer", "average", "--json")
    made = call(*asked)
    assert made.code == 0
    report = tmp_path / "all" / "report"
    names = ["content.md", "place.md", "recall.png", "results.json"]
    assert sorted(file.name for file in report.iterdir()) == names
    before = json.loads((report / "results.json").read_text())
    assert before == made.data
    assert [(one["name"], one["question"]) for one in before["outcomes"]] == [
        ("average", "content"),
        ("average", "place"),
    ]
    again = call(*asked[:-1])
    assert "average" in again.out
    assert "steps" not in again.err, "nothing is trained again"
    more = call(*asked, "--mixer", "convolution:kernel=3,filters=2", "--seeds", 2)
    after = {one["name"]: one for one in more.data["outcomes"] if one["question"] == "place"}
    assert [shares[0] for shares in after["average"]["shares"]] == [one[0] for one in before["outcomes"][1]["shares"]]
    assert all(len(shares) == 2 for shares in after["convolution:kernel=3,filters=2"]["shares"])


@pytest.mark.slow
def test_sparse_language_models_are_complete_and_go_on(call, tmp_path):
    place, text = tmp_path / "all", ("--corpus", "synthetic:sentences=600")
    asked = ("reproduce", "sparse-lm", "--budget", "smoke", "-o", place, *text, "--json")
    made = call(*asked)
    assert made.code == 0
    assert sorted(file.name for file in (place / "report").iterdir()) == ["losses.png", "results.json", "table.md"]
    before = json.loads((place / "report" / "results.json").read_text())
    assert [one["name"] for one in before["outcomes"]][-1] == "dense"
    assert call(*asked).code == 0
    after = json.loads((place / "report" / "results.json").read_text())
    assert [one["curves"] for one in after["outcomes"]] == [one["curves"] for one in before["outcomes"]]
    kept = {file: file.read_bytes() for file in place.rglob("*") if file.is_file()}
    wrong = call(*asked[:-2], "synthetic:sentences=601")
    assert wrong.code == 2
    assert "a run must continue as it began" in wrong.err
    assert {file: file.read_bytes() for file in place.rglob("*") if file.is_file()} == kept


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pretrain", "--size", "tiny", "--recipe", "x.toml"), "--size and --recipe must not both"),
        (("pretrain", "--size", "huge"), "size must be one of tiny"),
        (("pretrain", "--task", "poems"), "task must be one of masked-words, next-words; got 'poems'"),
        (("pretrain", "--task", "next-words", "--mixer", "bilinear"), "Bilinear(max_length=128) has none"),
        (("pretrain", "--mixer", "magic"), "a mixer must be one of"),
        (("pretrain", "--recipe", "missing.toml"), "missing.toml"),
        (("pretrain", "--corpus", "missing.txt"), "missing.txt"),
        (("pretrain", "--corpus", "empty.txt"), "empty.txt"),
        (("pretrain", "--corpus", "latin.txt"), "UTF-8"),
        (("pretrain", "--corpus", "short.txt"), "at least one sequence of 128 tokens"),
        (("pretrain", "--tokenizer", "missing"), "missing"),
        (("finetune", "nowhere"), "exactly one of --pairs and --questions"),
        (("finetune", "nowhere", "--pairs", "good.tsv"), r"config.json"),
        (
            ("finetune", "nowhere", "--pairs", "good.tsv", "--held-out", "bad.tsv"),
            "a label must be one of no, yes; got 'maybe'",
        ),
        (("finetune", "nowhere", "--questions", "good.tsv"), "SQuAD"),
        (("reproduce", "mixers", "--nli", "good.tsv", "--budget", "none"), "--budget must be one of smoke"),
        (("reproduce", "copying", "--budget", "none"), "--budget must be one of smoke, hour, paper; got 'none'"),
        (
            ("reproduce", "recall", "--budget", "none"),
            "--budget must be one of smoke, minutes, hour, day; got 'none'",
        ),
        (("reproduce", "recall", "--mixer", "attention:heads=7"), "heads must divide the width"),
        (("reproduce", "sparse-lm", "--budget", "none"), "--budget must be one of smoke, half-hour, days; got 'none'"),
        (("reproduce", "sparse-lm", "--corpus", "missing.txt"), "missing.txt"),
    ],
)
def test_mistakes_are_told_before_any_training(call, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").write_text("\n\n")
    (tmp_path / "latin.txt").write_bytes("gr\xfc\xdfe\n".encode("latin-1"))
    (tmp_path / "short.txt").write_text("just a few words\n")
    (tmp_path / "good.tsv").write_text(
        "premise\thypothesis\tlabel\n" + "".join(f"a{i}\tb\t{'yes' if i % 2 else 'no'}\n" for i in range(40))
    )
    (tmp_path / "bad.tsv").write_text("premise\thypothesis\tlabel\na\tb\tmaybe\n")
    outcome = call(*arguments, "-o", "out")
    assert outcome.code == 2
    assert message in outcome.err
    assert not (tmp_path / "out" / "run.json").exists()


def test_somebody_elses_folder_is_left_alone(call, tmp_path):
    (tmp_path / "thesis.tex").write_text("dear")
    outcome = call("pretrain", "-o", tmp_path)
    assert outcome.code == 2
    assert "thesis.tex" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
