"""A wrong command in a used folder touches nothing, and none leaves a folder that was not there before."""

import json
import os
from types import SimpleNamespace

import pytest

pytest.importorskip("accelerate", reason="training needs more: pip install anyformer[train]")

from anyformer.training import RunFolder

RECIPE = "[architecture]\nlayers = 2\nwidth = 16\nheads = 2\nvocabulary = 400\nlongest = 32\n[text]\ntokens = 16\n"
TEXT = "synthetic:sentences=200"


def snapshot(place):
    """Names, sizes, times and contents of all that is in a folder."""
    paths = sorted([place, *place.rglob("*")])
    return [
        (str(path), path.stat().st_mtime_ns, path.stat().st_size, path.read_bytes() if path.is_file() else None)
        for path in paths
    ]


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """A folder to work in: with recipes, texts and pairs, and a run of each kind."""
    from anyformer.cli.main import main

    root = tmp_path_factory.mktemp("used")
    before = os.getcwd()
    os.chdir(root)
    try:
        (root / "recipe.toml").write_text(RECIPE + "[schedule]\nsteps = 2\nbatch = 4\n")
        (root / "words.toml").write_text(RECIPE.replace("400", "410") + "[schedule]\nsteps = 2\nbatch = 4\n")
        lines = [f"a{number} dog\tit sleeps {number}\t{'yes' if number % 2 else 'no'}" for number in range(40)]
        (root / "pairs.tsv").write_text("\n".join(["premise\thypothesis\tlabel", *lines]))
        (root / "other.tsv").write_text("\n".join(["premise\thypothesis\tlabel", *lines[:30]]))
        asked = ("pretrain", "--recipe", "recipe.toml", "--corpus", TEXT)
        assert main([*asked, "-o", "run"]) == 0
        assert main([*asked, "-o", "apart", "--corpus", "synthetic:sentences=300"]) == 0
        assert main([*asked, "-o", "given", "--tokenizer", "apart/text/tokenizer"]) == 0
        (root / "tokenizer").symlink_to(root / "apart" / "text" / "tokenizer")
        tune = ("finetune", "run/model", "--pairs", "pairs.tsv", "--epochs", "0.1", "-o", "tuned")
        assert main([*tune]) == 0
    finally:
        os.chdir(before)
    return root


SAME = ("pretrain", "--recipe", "recipe.toml", "--corpus", TEXT, "-o", "run")
TUNE = ("finetune", "run/model", "--pairs", "pairs.tsv", "--epochs", "0.1", "-o", "tuned")
CONTINUE = "a run must continue as it began"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*SAME, "--steps", "3"), f"{CONTINUE}; the one in run has recipe.schedule.steps = 2"),
        ((*SAME, "--mixer", "average"), f"{CONTINUE}; the one in run has recipe.architecture.mixers"),
        ((*SAME, "--corpus", "synthetic:sentences=201"), f"{CONTINUE}; the one in run has text.0.corpus_digest"),
        ((*SAME, "--held-out", "synthetic:sentences=50"), f"{CONTINUE}; the one in run has text.1.corpus_digest"),
        ((*SAME, "--tokenizer", "tokenizer"), f"{CONTINUE}; the one in run has text.0.tokenizer_digest"),
        ((*SAME, "--recipe", "words.toml"), f"{CONTINUE}; the one in run has recipe.architecture.vocabulary"),
        ((*SAME, "-o", "given"), f"{CONTINUE}; the one in given has text.0.tokenizer_digest"),
        ((*SAME, "-o", "tuned"), f"{CONTINUE}; the one in tuned has"),
        ((*SAME, "--tokens", "33"), "windows must fit the model's longest sequence"),
        ((*SAME, "--mixer", "attention:heads=3"), "heads must divide the width"),
        ((*SAME, "--learning-rate", "-1"), "learning_rate must be positive"),
        ((*SAME, "--corpus", "missing.txt"), "missing.txt"),
        ((*SAME, "--tokenizer", "missing"), "missing"),
        ((*TUNE, "--pairs", "other.tsv"), f"{CONTINUE}; the one in tuned has training"),
        ((*TUNE, "--held-out", "other.tsv"), f"{CONTINUE}; the one in tuned has training"),
        ((*TUNE, "--seed", "1"), f"{CONTINUE}; the one in tuned has"),
        ((*TUNE, "--epochs", "2"), f"{CONTINUE}; the one in tuned has schedule.steps"),
        (("finetune", "apart/model", *TUNE[2:]), f"{CONTINUE}; the one in tuned has model"),
        ((*TUNE, "-o", "run"), f"{CONTINUE}; the one in run has"),
        (("reproduce", "mixers", "--nli", "pairs.tsv", "-o", "run"), "the output must be a new or empty folder"),
        (("reproduce", "sparse-lm", "-o", "run"), "the output must be a new or empty folder"),
        (("reproduce", "copying", "-o", "run"), "the output must be a new or empty folder"),
    ],
)
def test_a_wrong_command_in_a_used_folder_touches_nothing(call, monkeypatch, used, arguments, message):
    monkeypatch.chdir(used)
    before = snapshot(used)
    outcome = call(*arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert snapshot(used) == before


def test_a_text_is_not_prepared_again_for_the_same_run(call, monkeypatch, used):
    monkeypatch.chdir(used)
    before = snapshot(used / "run" / "text" / "tokenizer"), (used / "run" / "text" / "tokens.npy").stat().st_mtime_ns
    assert call(*SAME).code == 0
    assert (
        snapshot(used / "run" / "text" / "tokenizer"),
        (used / "run" / "text" / "tokens.npy").stat().st_mtime_ns,
    ) == before


@pytest.mark.parametrize("experiment", ["mixers", "sparse-lm"])
def test_a_wrong_command_in_the_folder_of_an_experiment_touches_nothing(call, monkeypatch, used, tmp_path, experiment):
    """The experiment is stopped when all is prepared, before the first run: its text must survive wrong commands."""
    from anyformer.reports.mixers import report
    from anyformer.training import sparse_lm
    from anyformer.training.comparison import runs

    monkeypatch.chdir(used)
    for module, name in ((runs, "compare"), (sparse_lm, "learn_all")):
        monkeypatch.setattr(module, name, lambda *given: iter(()))
    monkeypatch.setattr(report, "write_report", lambda *given: SimpleNamespace(data={}, view=""))
    place = tmp_path / "all"
    pairs = ("--nli", "pairs.tsv") if experiment == "mixers" else ()
    asked = ("reproduce", experiment, "--budget", "smoke", "--corpus", "synthetic:sentences=600", "-o", place)
    assert call(*asked, *pairs).code == 0
    before = snapshot(place)
    wrong = [("--corpus", "synthetic:sentences=601"), ("--held-out", "synthetic:sentences=300")]
    wrong += [("--budget", {"mixers": "hours", "sparse-lm": "half-hour"}[experiment])]
    for more in wrong:
        outcome = call(*asked, *pairs, *more)
        assert outcome.code == 2
        assert CONTINUE in outcome.err
        assert snapshot(place) == before
    if experiment == "mixers":
        assert f"{CONTINUE}; the one in {place} has entailment" in call(*asked, "--nli", "other.tsv").err
        assert snapshot(place) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pretrain", "--mixer", "magic"), "a mixer must be one of"),
        (("pretrain", "--mixer", "attention:heads=12"), "Choose 8, for example"),
        (("pretrain", "--mixer", "convolution:kernel=1000000000"), "kernel must be at most"),
        (("pretrain", "--mixer", "bilinear:max_length=40000"), "max_length must be at most"),
        (("pretrain", "--mixer", "convolution:filters=7"), "filters must divide the width"),
        (("pretrain", "--learning-rate", "-1"), "learning_rate must be positive"),
        (("pretrain", "--learning-rate", "nan"), "learning_rate must be positive"),
        (("pretrain", "--steps", "-5"), "steps must be a whole number from 1"),
        (("pretrain", "--batch", "0"), "batch must be a whole number from 1"),
        (("pretrain", "--tokens", "129"), "longest sequence, 128 tokens; got 129"),
        (("pretrain", "--recipe", "recipe.toml", "--corpus", "empty.txt"), "must have words"),
        (("pretrain", "--recipe", "recipe.toml", "--corpus", "latin.txt"), "UTF-8"),
        (("pretrain", "--recipe", "recipe.toml", "--corpus", "short.txt"), "at least one sequence of 16 tokens"),
        (("pretrain", "--tokenizer", "empty.txt"), "a tokenizer must have the tokens"),
        (("pretrain", "--corpus", ""), "got an empty name"),
        (("pretrain", "--held-out", "missing.txt"), "missing.txt"),
        (("finetune", "run/model", "--pairs", "empty.txt"), "empty.txt must have rows with labels"),
        (("finetune", "run/model", "--pairs", "missing.tsv"), "missing.tsv must be a file"),
        (("finetune", "run/model", "--pairs", "one.tsv"), "labels must be at least two; got no alone"),
        (("finetune", "run/model", "--pairs", "pairs.tsv", "--epochs", "0"), "epochs must be positive"),
        (("finetune", "run/model", "--pairs", "pairs.tsv", "--epochs", "-1"), "epochs must be positive"),
        (("finetune", "run/model", "--pairs", "pairs.tsv", "--learning-rate", "0"), "learning_rate must be positive"),
        (("finetune", "run", "--pairs", "pairs.tsv"), "config.json"),
        (("finetune", "run/model", "--questions", "empty.txt"), "empty.txt"),
        (("reproduce", "mixers", "--nli", "one.tsv"), "labels must be at least two; got no alone"),
        (("reproduce", "mixers", "--nli", "pairs.tsv", "--corpus", "latin.txt"), "UTF-8"),
        (("reproduce", "mixers", "--nli", "pairs.tsv", "--corpus", "short.txt"), "at least one sequence of 32"),
        (("reproduce", "sparse-lm", "--corpus", "latin.txt"), "UTF-8"),
        (("reproduce", "sparse-lm", "--corpus", "empty.txt"), "must have words"),
    ],
)
def test_a_wrong_command_leaves_no_folder_behind(call, monkeypatch, used, tmp_path, arguments, message):
    (used / "empty.txt").write_text("\n\n")
    (used / "latin.txt").write_bytes("gr\xfc\xdfe\n".encode("latin-1"))
    (used / "short.txt").write_text("just a few words\n")
    (used / "one.tsv").write_text("premise\thypothesis\tlabel\n" + "".join(f"a{i}\tb{i}\tno\n" for i in range(20)))
    monkeypatch.chdir(used)
    outcome = call(*arguments, "-o", tmp_path / "new")
    assert outcome.code == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_stays_after_a_mistake(call, tmp_path):
    place = tmp_path / "new"
    place.mkdir()
    (tmp_path / "short.txt").write_text("just a few words\n")
    assert call("pretrain", "--corpus", tmp_path / "short.txt", "-o", place).code == 2
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("verb", ["pretrain", "finetune", "mixers", "sparse-lm", "copying"])
def test_a_file_is_no_output(call, monkeypatch, used, tmp_path, verb):
    monkeypatch.chdir(used)
    (tmp_path / "file").write_text("mine")
    arguments = {
        "pretrain": ("pretrain",),
        "finetune": ("finetune", "run/model", "--pairs", "pairs.tsv"),
        "mixers": ("reproduce", "mixers", "--nli", "pairs.tsv"),
    }.get(verb, ("reproduce", verb))
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        outcome = call(*arguments, "-o", place)
        assert outcome.code == 2
        assert "is a file. Name another" in outcome.err
    assert (tmp_path / "file").read_text() == "mine"


def test_the_same_data_under_another_path_is_the_same_run(call, monkeypatch, used, tmp_path):
    monkeypatch.chdir(tmp_path)
    lines = "".join(f"the dog number {number} sleeps in the old house\n" for number in range(200))
    (tmp_path / "first.txt").write_text(lines)
    (tmp_path / "second.txt").write_text(lines)
    asked = ("pretrain", "--recipe", used / "recipe.toml", "-o", "run", "--json", "--corpus")
    first = call(*asked, tmp_path / "first.txt")
    assert first.code == 0
    assert call(*asked, "second.txt").data == first.data
    told = json.loads((tmp_path / "run" / "run.json").read_text())
    assert told["about"]["text"]["corpus"] == str(tmp_path / "first.txt")
    assert "first.txt" not in json.dumps(told["identity"])


def test_run_json_names_model_and_data(used):
    words = json.loads((used / "run" / "run.json").read_text())["about"]
    assert words["text"] == {
        "corpus": "synthetic:sentences=200,seed=0",
        "held_out": "the end of the corpus",
        "tokenizer": "learned",
        "vocabulary": 400,
        "tokens": words["text"]["tokens"],
        "held_out_tokens": words["text"]["held_out_tokens"],
    }
    assert words["text"]["tokens"] > 40 * words["text"]["held_out_tokens"] > 0
    given = json.loads((used / "given" / "run.json").read_text())["about"]
    assert given["text"]["tokenizer"] == "apart/text/tokenizer"
    tuned = json.loads((used / "tuned" / "run.json").read_text())["about"]
    assert tuned["model"]["path"] == "run/model"
    assert tuned["model"]["weights"] > 1000
    assert tuned["training"]["sources"] == ["pairs.tsv"]
    assert tuned["held_out"]["sources"] == ["a tenth of the training data"]
    assert tuned["training"]["examples"] + tuned["held_out"]["examples"] == 40
    assert tuned["epochs"] == 0.1


def test_folders_of_the_former_kind_go_on(call, monkeypatch, used, tmp_path):
    """run.json had the names among what decides, and nothing else."""
    import shutil

    monkeypatch.chdir(used)
    shutil.copytree(used / "run", tmp_path / "run")
    file = RunFolder(tmp_path / "run").identity_file
    told = json.loads(file.read_text())["identity"]
    told["text"] = [{**text, "corpus": "named", "tokens": 6348, "utf8_bytes": 1} for text in told["text"]]
    file.write_text(json.dumps(told))
    assert call(*SAME[:-1], tmp_path / "run").code == 0
    refused = call(*SAME[:-1], tmp_path / "run", "--steps", 3)
    assert refused.code == 2
    assert "recipe.schedule.steps = 2" in refused.err
