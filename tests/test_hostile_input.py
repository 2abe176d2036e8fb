"""Whatever is in a file, it is taken or refused in words: no traceback, no hang, no memory to speak of.

The damage is drawn from seeds, so that what fails once fails always.
"""

import contextlib
import gzip
import io
import json
import lzma
import random
import shutil
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from anyformer import construct
from anyformer.cli.main import main
from anyformer.cli.sequences import read_sequences
from anyformer.errors import AnyformerError, ModelFileError, PatternError, TargetError
from anyformer.exports import load_folder, save_folder
from anyformer.patterns import CATALOGUE, Ring, SlidingWindow, SparsityPattern, Union, named, parse
from anyformer.patterns.exchange.json_form import from_json, to_json
from anyformer.patterns.exchange.notation import in_short
from anyformer.targets import mean_scale, softmax
from anyformer.targets.domains import CompactSupport, domain_from_json
from anyformer.targets.moduli import Lipschitz, Tightest, modulus_from_json, same_coordinate
from tests.fuzzing import damaged, damaged_bytes, damaged_json
from tests.random_networks import embedded_network

MOST_BYTES, MOST_SECONDS = 2**27, 20.0
"""Far above what any of these files needs, and far below what they ask for."""


@contextlib.contextmanager
def bounded():
    """Without much memory or time, and with no error but ours."""
    tracemalloc.start()
    start = time.monotonic()
    try:
        with contextlib.suppress(AnyformerError):
            yield
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
        assert time.monotonic() - start < MOST_SECONDS
    finally:
        tracemalloc.stop()


def seeded(count: int):
    return pytest.mark.parametrize("draw", [random.Random(seed) for seed in range(count)], ids=range(count))


@pytest.fixture(scope="module")
def folder(small_models, tmp_path_factory):
    return small_models[1].save(tmp_path_factory.mktemp("hostile") / "model")


@pytest.fixture(scope="module")
def compiled_folder(tmp_path_factory):
    """Of two tokens, as the inputs below."""
    model = construct(softmax(tokens=2), 0.2, method="compile")
    return model.save(tmp_path_factory.mktemp("hostile") / "compiled")


@pytest.fixture
def model(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "model")


def changed(file, change):
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))


# Folders of models.

VERBS = {
    "describe": (),
    "run": ("{input}",),
    "trace": ("--input", "0.1,0.2"),
    "verify": ("--workers", "1"),
}


def called(verb, model, capsys):
    """The exit code; what is printed plays no tricks on a terminal, and an error is one line."""
    rows = model.parent / "rows.csv"
    rows.write_text("0.1,0.2\n")
    code = main([verb, str(model), *(argument.format(input=rows) for argument in VERBS[verb])])
    out, err = capsys.readouterr()
    assert not set("\x1b\u202e\r") & set(out + err)
    if code == 2:
        assert err.startswith("error: ")
        assert err.count("\n") == 1
    return code, err


@seeded(60)
def test_a_model_of_strange_json(model, capsys, draw):
    name = draw.choice(("config.json", "certificate.json"))
    (model / name).write_text(damaged_json((model / name).read_text(), draw))
    with bounded():
        if called("describe", model, capsys)[0] == 0:
            for verb in ("run", "trace", "verify"):
                assert called(verb, model, capsys)[0] in (0, 1, 2)


@seeded(60)
def test_a_compiled_model_of_strange_json(compiled_folder, tmp_path, capsys, draw):
    model = shutil.copytree(compiled_folder, tmp_path / "model")
    name = draw.choice(("config.json", "certificate.json", "certificate.json"))
    (model / name).write_text(damaged_json((model / name).read_text(), draw))
    with bounded():
        if called("describe", model, capsys)[0] == 0:
            for verb in ("run", "trace", "verify"):
                assert called(verb, model, capsys)[0] in (0, 1, 2)


@seeded(30)
def test_the_hints_of_a_compiled_model_may_be_anything(compiled_folder, tmp_path, capsys, draw):
    """Exchanged, doubled or left out, they are taken or refused in words."""
    model = shutil.copytree(compiled_folder, tmp_path / "model")
    changed(model / "certificate.json", lambda data: data.update(hints=_shuffled(data["hints"], draw)))
    with bounded():
        assert called("describe", model, capsys)[0] in (0, 2)
        assert called("verify", model, capsys)[0] in (0, 1, 2)


def _shuffled(hints, draw):
    """Fields exchanged between hints, hints doubled and left out."""
    hints = [dict(hint) for hint in hints]
    for _ in range(draw.choice((1, 2, 5))):
        one, other = draw.choice(hints), draw.choice(hints)
        name = draw.choice(sorted(one))
        if name in other:
            one[name], other[name] = other[name], one[name]
    return [draw.choice(hints) for _ in hints] if draw.randrange(3) == 0 else hints


@pytest.fixture(scope="module")
def embedded_folder(small_models, tmp_path_factory):
    place = tmp_path_factory.mktemp("hostile") / "embedded"
    return save_folder(place, embedded_network(0, tokens=2, width=1, stream=5), small_models[1].certificate)


@seeded(40)
def test_a_model_with_an_embedding_of_strange_json(embedded_folder, tmp_path, capsys, draw):
    model = shutil.copytree(embedded_folder, tmp_path / "model")
    (model / "config.json").write_text(damaged_json((model / "config.json").read_text(), draw))
    with bounded():
        if called("describe", model, capsys)[0] == 0:
            for verb in ("run", "trace", "verify"):
                assert called(verb, model, capsys)[0] in (0, 1, 2)


def test_what_the_verbs_say_of_an_embedding(embedded_folder, capsys):
    assert [called(verb, embedded_folder, capsys)[0] for verb in VERBS] == [0, 0, 2, 1]
    assert "only networks without an embedding are traced" in called("trace", embedded_folder, capsys)[1]
    assert "cells are proved for networks without an embedding" in called("verify", embedded_folder, capsys)[1]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("positions", [True, False])
def test_a_model_without_stages(model, capsys, verb, positions):
    from safetensors.numpy import save_file

    changed(model / "config.json", lambda data: data.update(stages=[], positional_encoding=positions))
    save_file({"positional_encoding": np.zeros((2, 1))} if positions else {}, model / "model.safetensors")
    code, err = called(verb, model, capsys)
    assert code == 2
    assert "stages must be a list of at least one stage; got []" in err


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("size", ["tokens", "width", "heads", "hidden_size"])
@pytest.mark.parametrize("kind", ["table", "program"])
def test_sizes_beyond_all_memory(small_models, compiled_models, tmp_path, capsys, verb, size, kind):
    """Of a model without positions: no tensor has the tokens for an axis."""
    model = (small_models if kind == "table" else compiled_models)[0].save(tmp_path / "model")
    changed(model / "config.json", lambda data: data.update({size: 2**40}))
    changed(model / "certificate.json", lambda data: data["target"].update({size: 2**40}))
    with bounded():
        code, err = called(verb, model, capsys)
        assert code == 2
        assert "must" in err


def test_as_many_layers_as_there_are_bytes_for(model, capsys):
    changed(model / "config.json", lambda data: data["stages"][0].update(layers=2**40))
    with bounded():
        assert called("verify", model, capsys)[0] == 2


@pytest.mark.parametrize("name", ["config.json", "certificate.json"])
def test_a_key_twice_in_a_model(model, name):
    text = (model / name).read_text()
    (model / name).write_text(text.replace('"tokens"', '"tokens": 2, "tokens"'))
    with pytest.raises(ModelFileError, match=rf"{name}.*the key 'tokens' must be there once"):
        load_folder(model)


@seeded(30)
def test_a_safetensors_file_of_strange_bytes(model, draw):
    file = model / "model.safetensors"
    content = file.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    file.write_bytes(damaged_bytes(content[:end], draw) + content[end:])
    with bounded():
        load_folder(model)


def test_a_target_beyond_all_memory():
    with bounded(), pytest.raises(TargetError, match="at most 4096 numbers, tokens times width"):
        mean_scale(tokens=2**20)


# Patterns, domains and moduli.

PATTERNS = [to_json(named(name)) for name in CATALOGUE]
PATTERNS += [to_json(named("star").at(5)), to_json(Union((Ring(), SlidingWindow(2))))]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern["kind"])
@seeded(12)
def test_a_pattern_of_strange_json(pattern, draw):
    with bounded():
        read = from_json(damaged(pattern, draw))
        in_short(read)
        made = read if isinstance(read, SparsityPattern) else read.at(7)
        assert made.union.degrees.sum() <= made.tokens**2


@pytest.mark.parametrize(
    "entries",
    [[0, [1]], [[0], [0, 1]], [0, True], [False, 1], [0, 1.0], [0, -1], [0, 2**63], [0, 10**300], [0, None], "01", 3],
)
@pytest.mark.parametrize("which", ["indptr", "indices"])
def test_lists_of_a_pattern_hold_whole_numbers(entries, which):
    lists = {"indptr": [0, 1, 2], "indices": [0, 1], which: entries}
    with pytest.raises(PatternError, match=f"{which} must be a list of whole numbers from 0; got"):
        from_json({"kind": "explicit", "layers": [[lists]]})


@pytest.mark.parametrize(
    "data",
    [
        {"kind": []},
        {"kind": {"kind": "ring"}},
        {"kind": "union", "parts": 5},
        {"kind": "sliding-window", "half_width": True},
        {"kind": "sliding-window", "half_width": 10**300},
        {"kind": "explicit", "layers": 5},
        {"kind": "explicit", "layers": [5]},
        {"kind": "explicit", "layers": [[5]]},
    ],
)
def test_json_that_is_no_pattern(data):
    with pytest.raises(PatternError):
        from_json(data)


@pytest.mark.parametrize(
    "asked",
    [
        *("sliding-window:half_width=1000000000", "sliding-window:half_width=" + "9" * 5000),
        *("dilated-window:dilation=9999999999999", "block-local:block=NaN", "random:density=1e999"),
        *("strided:stride=true", "strided:arrangement=[]", "fixed:block=\x1b[31m"),
    ],
)
@pytest.mark.parametrize("tokens", [9, 2**40])
def test_pattern_check_of_strange_options(capsys, asked, tokens):
    with bounded():
        assert main(["pattern", "check", asked, "--tokens", str(tokens)]) in (0, 1, 2)
        assert "\x1b" not in "".join(capsys.readouterr())


def test_a_wide_window_sees_all_and_no_more():
    assert SlidingWindow(10**9).at(5) == named("full").at(5)


@seeded(40)
def test_domains_and_moduli_of_strange_json(draw):
    domain = CompactSupport(low=(0.0, 0.5)).to_json()
    modulus = Tightest((Lipschitz(2.0), same_coordinate(np.ones((2, 2)), 1))).to_json()
    with bounded():
        domain_from_json(damaged(domain, draw))
    with bounded():
        modulus_from_json(damaged(modulus, draw))


@pytest.mark.parametrize("read", [domain_from_json, modulus_from_json])
def test_a_kind_that_is_a_list(read):
    with pytest.raises(TargetError, match='"kind" is one of'):
        read({"kind": []})


# Sequences to run on.


def saved_array(array, **options) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


@seeded(60)
@pytest.mark.filterwarnings("ignore:Reading `.npy`")
def test_sequences_of_strange_bytes(tmp_path, draw):
    for name, content in (("x.npy", saved_array(np.ones((4, 2, 1)))), ("x.csv", b"a,b\n0.1,0.2\n0.3,0.4\n")):
        (tmp_path / name).write_bytes(damaged_bytes(content, draw))
        with bounded():
            read_sequences(str(tmp_path / name), 2, 1)


class Marks:
    """Pickled, it makes a file when it is read."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return open, (self.place, "w")


def test_objects_in_arrays_are_never_unpickled(tmp_path):
    marker = tmp_path / "unpickled"
    array = np.empty((1, 2, 1), dtype=object)
    array[...] = Marks(str(marker))
    (tmp_path / "x.npy").write_bytes(saved_array(array, allow_pickle=True))
    with pytest.raises(AnyformerError, match=r"must be an array as numpy\.save writes it"):
        read_sequences(str(tmp_path / "x.npy"), 2, 1)
    assert not marker.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full is Linux's")
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_results_that_go_to_a_full_disk(folder, options):
    with open("/dev/full", "w") as full:
        asked = [sys.executable, "-m", "anyformer.cli.main", "describe", str(folder), *options]
        done = subprocess.run(asked, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "error: the file system refused: No space left on device\n")


# Names that play tricks.

TRICKS = "x\x1b[2J[bold red]\u202eevil\nerror: all is well"


def test_names_of_paths_are_shown_as_text(tmp_path, capsys):
    for arguments in (
        ("describe", tmp_path / TRICKS),
        ("run", tmp_path / TRICKS, tmp_path / f"{TRICKS}.csv"),
        ("pattern", "check", TRICKS, "--tokens", "3"),
        ("build", "mean-scale", "--tokens", "2", "--epsilon", "0.5", "-o", tmp_path / TRICKS / "no" / "\0"),
    ):
        with contextlib.suppress(ValueError):  # a NUL in a path
            assert main([str(argument).replace("\0", "z") for argument in arguments]) in (0, 2)
        out, err = capsys.readouterr()
        assert not {"\x1b", "\u202e"} & set(out + err)
        assert "\nerror: all is well" not in out + err


@pytest.mark.parametrize("kind", ["table", "program"])
def test_names_in_models_are_shown_as_text(folder, compiled_folder, tmp_path, capsys, kind):
    model = shutil.copytree(folder if kind == "table" else compiled_folder, tmp_path / "model")
    changed(model / "config.json", lambda data: data["stages"][0].update(name=TRICKS))
    changed(model / "certificate.json", lambda data: data["target"].update(name=TRICKS, ready_made=False))
    for verb in VERBS:
        called(verb, model, capsys)


# Data to train on.


@pytest.fixture(scope="module")
def training():
    pytest.importorskip("accelerate", reason="training needs more: pip install anyformer[train]")
    import anyformer.training as training

    return training


TSV = "\n".join(["premise\thypothesis\tlabel", *(f"{i} a\tb\t{i % 2}" for i in range(6))]).encode()
ROWS = [{"premise": f"{i} a", "hypothesis": "b", "label": i % 2} for i in range(6)]
ANSWER = {"id": "1", "question": "what?", "answers": [{"text": "b", "answer_start": 2}]}
SQUAD = {"data": [{"title": "t", "paragraphs": [{"context": "a b c", "qas": [ANSWER]}]}]}
TOML = b"""size = "tiny"
[architecture]
layers = 1
width = 16
mixers = ["convolution:kernel=3,filters=4"]
[text]
tokens = 16
[schedule]
steps = 4
"""


@seeded(40)
def test_tables_of_strange_bytes(training, tmp_path, draw):
    lines = "\n".join(map(json.dumps, ROWS)).encode()
    strange = "\n".join(json.dumps(damaged(row, draw)) for row in ROWS).encode()
    for name, content in (
        ("a.tsv", damaged_bytes(TSV, draw)),
        ("b.tsv.xz", damaged_bytes(lzma.compress(TSV), draw)),
        ("c.tsv.gz", damaged_bytes(gzip.compress(TSV), draw)),
        ("d.jsonl", damaged_bytes(lines, draw)),
        ("e.jsonl", strange),
    ):
        (tmp_path / name).write_bytes(content)
        with bounded():
            training.read_pairs(tmp_path / name)


@seeded(60)
def test_questions_of_strange_json(training, tmp_path, draw):
    (tmp_path / "q.json").write_text(json.dumps(damaged(SQUAD, draw)))
    with bounded():
        training.read_questions(tmp_path / "q.json")


@seeded(40)
def test_recipes_of_strange_bytes(training, tmp_path, draw):
    (tmp_path / "r.toml").write_bytes(damaged_bytes(TOML, draw))
    with bounded():
        training.read_recipe(tmp_path / "r.toml").to_json()


@pytest.mark.parametrize(
    "value", ["9" * 5000, "[" * 3000, "1e400", "nan", "true", "[[1]]", "1099511627776", "{kind = []}", "1979-05-27"]
)
@pytest.mark.parametrize("line", ["layers = 1", "width = 16", "tokens = 16", "steps = 4"])
def test_recipes_of_strange_values(training, tmp_path, line, value):
    name = line.split(" = ")[0]
    (tmp_path / "r.toml").write_text(TOML.decode().replace(line, f"{name} = {value}"))
    with bounded():
        training.read_recipe(tmp_path / "r.toml").to_json()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.tsv", "premise\tlabel\tlabel\na\tb\tc\n", "a column must be there once; 'label' is there twice"),
        ("x.jsonl", '{"text": "a", "label": 1, "label": 2}\n', "the key 'label' must be there once"),
        ("x.jsonl", '{"text": "a", "label": NaN}\n', "label must be a finite number"),
    ],
)
def test_what_is_said_twice_is_refused(training, tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(AnyformerError, match=message):
        training.read_pairs(tmp_path / name)


def test_labels_of_thousands_of_digits(training, tmp_path):
    (tmp_path / "x.tsv").write_text(f"text\tlabel\na\t{'9' * 5000}\nb\t1\n")
    assert training.read_pairs(tmp_path / "x.tsv").names == ("1", "9" * 5000)


def test_a_line_that_no_memory_holds(training, tmp_path, monkeypatch):
    """A few kilobytes of archive are gigabytes of one word; a limit of the test's own shows where it stops."""
    import anyformer.training.data.reading as reading

    monkeypatch.setattr(reading, "LONGEST", 2**20, raising=False)
    for name in ("x.tsv.xz", "x.txt.xz"):
        (tmp_path / name).write_bytes(lzma.compress(b"a" * 2**25))
    with pytest.raises(AnyformerError, match="lines and words of at most 1048576 bytes"):
        training.read_pairs(tmp_path / "x.tsv.xz")
    with pytest.raises(AnyformerError, match="lines and words of at most 1048576 bytes"):
        list(training.open_corpus(tmp_path / "x.txt.xz").lines())


def test_a_corpus_whose_name_is_not_unicode(training, tmp_path):
    import os

    place = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt")
    with open(place, "w") as file:
        file.write("a dog sleeps and a cat runs\n" * 200)
    corpus = training.open_corpus(place)
    prepared = training.prepare(corpus, tmp_path / "text", vocabulary=200)
    assert len(prepared.train)


@pytest.mark.parametrize("sizes", [{"width": 2**20}, {"width": 2**30}, {"vocabulary": 2**31, "width": 2**12}])
def test_a_model_that_no_memory_holds(training, sizes):
    from anyformer.training.tasks.pretrain import fresh

    recipe = training.Recipe().changed(architecture={"heads": 1, "layers": 2, **sizes})
    with bounded(), pytest.raises(AnyformerError, match="a model must fit into memory"):
        fresh(recipe, recipe.architecture.vocabulary)


def test_options_of_thousands_of_digits(training):
    with pytest.raises(AnyformerError, match="seed must be a whole number; got '999"):
        training.open_corpus("synthetic:seed=" + "9" * 5000)


def test_parse_takes_words_for_what_is_no_json():
    with pytest.raises(PatternError, match="half_width must be a whole number; got '999"):
        parse("sliding-window:half_width=" + "9" * 5000)
