"""Labelled pairs: every format, every refusal, and splits by premise."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyformer.errors import TrainingError
from anyformer.training.data.hold_out import held_out
from anyformer.training.data.pairs import Pairs, join_pairs, read_pairs, split_pairs
from tests.training.data.samples import DATA, needs_data, pack

TSV = (
    "premise\thypothesis\tlabel\tsplit\n"
    '"No, he said\tHe spoke\tENTAILMENT\ttrain\n'
    "\n"
    "It rains\tIt is dry\tcontradiction\ttest\n"
    "It snows\tNo idea\t-\ttest\n"
    "It snows\tIt is cold\tneutral\ttrial\n"
)
NAMES = ("contradiction", "entailment", "neutral")


@pytest.mark.parametrize("name", ["p.tsv", "p.tsv.xz", "p.tsv.gz", "p.txt"])
def test_tables_are_read(tmp_path, name):
    pairs = read_pairs(pack(tmp_path / name, TSV))
    assert pairs.first == ('"No, he said', "It rains", "It snows")
    assert pairs.second == ("He spoke", "It is dry", "It is cold")
    assert pairs.names == NAMES
    assert pairs.labels == (1, 0, 2)
    assert pairs.skipped == 1
    assert len(pairs) == 3


@pytest.mark.parametrize("name", ["p.jsonl", "p.jsonl.xz"])
def test_json_lines_are_read(tmp_path, name):
    rows = [
        {"sentence1": "a", "sentence2": "b", "gold_label": "yes"},
        {"sentence1": "c", "sentence2": "d", "gold_label": "No"},
    ]
    pairs = read_pairs(pack(tmp_path / name, "\n".join(map(json.dumps, rows)) + "\n\n"))
    assert pairs == Pairs(("a", "c"), ("b", "d"), (1, 0), ("no", "yes"))


def test_numbers_are_labels_in_their_own_order(tmp_path):
    rows = [{"question": str(n), "sentence": "s", "label": n} for n in (10, 9, 0, "-")]
    pairs = read_pairs(pack(tmp_path / "p.jsonl", "\n".join(map(json.dumps, rows))))
    assert pairs.names == ("0", "9", "10")
    assert pairs.labels == (2, 1, 0)
    assert pairs.skipped == 1


def test_single_texts_have_no_second(tmp_path):
    pairs = read_pairs(pack(tmp_path / "p.tsv", "sentence\tlabel\ngood\t1\nbad\t0\n"))
    assert pairs == Pairs(("good", "bad"), None, (1, 0), ("0", "1"))
    assert split_pairs(join_pairs([pairs] * 2), 0.5, seed=_dividing(pairs))[0].second is None


def _dividing(pairs):
    """A seed that leaves something on both sides."""
    for seed in range(100):
        try:
            split_pairs(pairs, 0.5, seed)
        except TrainingError:
            continue
        return seed
    raise AssertionError


def test_rows_are_chosen_by_their_columns(tmp_path):
    place = pack(tmp_path / "p.tsv", TSV)
    assert read_pairs(f"{place}?split=train").first == ('"No, he said',)
    assert read_pairs(f"{place}?split=train,trial", NAMES).labels == (1, 2)
    assert read_pairs(f"{place}?split=test&premise=It rains").skipped == 0
    with pytest.raises(
        TrainingError, match=r"must choose some rows; it chose none. There are: split is test, train, trial"
    ):
        read_pairs(f"{place}?split=trains,dev")
    with pytest.raises(TrainingError, match=r"line 2: a column to choose by must be one of premise, .*; got 'fold'"):
        read_pairs(f"{place}?fold=1")
    with pytest.raises(TrainingError, match="must read name=value"):
        read_pairs(f"{place}?split")


def test_a_question_mark_may_stand_in_a_name(tmp_path):
    assert len(read_pairs(pack(tmp_path / "why?.tsv", TSV))) == 3


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        (
            "p.tsv",
            b"premise\thypothesis\tlabel\na\tb\tc\nd\te\n",
            r"p\.tsv, line 3: a row must have 3 columns .*; got 2",
        ),
        ("p.tsv", b"premise\thypothesis\tlabel\na\t\xff\tc\n", "must be UTF-8; line 2 is not, from its byte 3 on"),
        (
            "p.tsv",
            b"premise\thypothesis\tclass\na\tb\tc\n",
            "line 2: a row must have a column label or gold_label or score; got",
        ),
        (
            "p.tsv",
            b"left\tright\tlabel\na\tb\tc\n",
            "texts must be in columns premise/hypothesis, .*; got left, right, label",
        ),
        ("p.tsv", b"premise\thypothesis\tlabel\na\tb\t-\n", "must have rows with labels; it has none, and 1 without"),
        ("p.tsv", b"", "must have rows with labels; it has none, and 0 without"),
        ("p.jsonl", b'{"text": "a", "label": 1}\n{"text"', "line 2: must be a JSON object; it cannot be read"),
        ("p.jsonl", b'{"text": "a", "label": 1}\n[1]', "line 2: must be a JSON object; got list"),
        ("p.tsv.xz", b"no archive", "damaged"),
    ],
)
def test_bad_files_are_refused(tmp_path, name, raw, message):
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(TrainingError, match=message):
        read_pairs(tmp_path / name)


def test_wrong_places_are_refused(tmp_path):
    with pytest.raises(TrainingError, match="must be a file; there is nothing"):
        read_pairs(tmp_path / "none.tsv")
    with pytest.raises(TrainingError, match="must be a file; it is a folder"):
        read_pairs(tmp_path)


def test_labels_outside_of_the_set_are_refused(tmp_path):
    place = pack(tmp_path / "p.tsv", TSV)
    with pytest.raises(
        TrainingError, match=r"p\.tsv, line 6: a label must be one of entailment, contradiction; got 'neutral'"
    ):
        read_pairs(place, names=("entailment", "contradiction"))
    assert read_pairs(place, names=("x", "neutral", "entailment", "contradiction")).labels == (2, 3, 1)


def test_joined_pairs_stand_one_after_the_other():
    one, two = Pairs(("a",), ("b",), (1,), ("x", "y"), 1), Pairs(("c", "d"), ("e", "f"), (0, 1), ("x", "y"), 2)
    assert join_pairs([one, two]) == Pairs(("a", "c", "d"), ("b", "e", "f"), (1, 0, 1), ("x", "y"), 3)
    with pytest.raises(TrainingError, match=r"the same labels .* got pairs of \('x', 'y'\) and pairs of \('y', 'x'\)"):
        join_pairs([one, Pairs(("a",), ("b",), (1,), ("y", "x"))])
    with pytest.raises(TrainingError, match="and texts of"):
        join_pairs([one, Pairs(("a",), None, (1,), ("x", "y"))])
    with pytest.raises(TrainingError, match="at least one; got none"):
        join_pairs([])


@given(
    premises=st.lists(st.integers(0, 30), min_size=1, max_size=60),
    share=st.floats(0.05, 0.95),
    seed=st.integers(0, 5),
)
def test_splits_are_complete_and_disjoint_by_premise(premises, share, seed):
    count = len(premises)
    pairs = Pairs(tuple(map(str, premises)), tuple(map(str, range(count))), tuple(n % 3 for n in range(count)), NAMES)
    if len({held_out(text, share, seed) for text in pairs.first}) == 1:
        with pytest.raises(TrainingError, match="both sides of a split must have pairs"):
            split_pairs(pairs, share, seed)
        return
    train, held = split_pairs(pairs, share, seed)
    assert not set(train.first) & set(held.first)
    whole = [row for side in (train, held) for row in zip(side.first, side.second, side.labels, strict=True)]
    assert sorted(whole) == sorted(zip(pairs.first, pairs.second, pairs.labels, strict=True))
    more = Pairs((*pairs.first, "new"), (*pairs.second, "new"), (*pairs.labels, 0), NAMES)
    assert set(held.first) <= set(split_pairs(more, share, seed)[1].first)


def test_shares_are_about_right_and_seeds_differ():
    pairs = Pairs(tuple(map(str, range(4000))), None, (0,) * 4000, ("x",))
    held = [set(split_pairs(pairs, 0.2, seed)[1].first) for seed in (0, 1)]
    # Five standard deviations of 4000 draws.
    assert all(abs(len(side) - 800) < 5 * (4000 * 0.2 * 0.8) ** 0.5 for side in held)
    assert len(held[0] & held[1]) < 250
    with pytest.raises(TrainingError, match="between 0 and 1; got 1"):
        split_pairs(pairs, 1, 0)
    with pytest.raises(
        TrainingError, match=r"1 first texts gave . of 2 held out at a share of 0.5. Give .* measure on by --held-out"
    ):
        split_pairs(Pairs(("a", "a"), None, (0, 0), ("x",)), 0.5, 0)


def test_glue_comes_from_the_hub(monkeypatch):
    datasets = pytest.importorskip("datasets", reason="the hub needs datasets: pip install anyformer[train]")
    kinds = datasets.Features(
        premise=datasets.Value("string"),
        hypothesis=datasets.Value("string"),
        label=datasets.ClassLabel(names=["E", "n"]),
    )
    rows = datasets.Dataset.from_dict(
        {"premise": [*"abc"], "hypothesis": [*"def"], "label": [1, 0, -1]}, features=kinds
    )
    asked = []
    monkeypatch.setattr("anyformer.training.data.rows.load_rows", lambda *names: asked.append(names) or rows)
    assert read_pairs("glue:mnli?split=validation_matched") == Pairs(("a", "b"), ("d", "e"), (1, 0), ("e", "n"), 1)
    assert read_pairs("glue:mnli", names=["e", "n"]).labels == (1, 0)
    assert asked == [("nyu-mll/glue", "mnli", "validation_matched"), ("nyu-mll/glue", "mnli", "train")]
    with pytest.raises(TrainingError, match="nyu-mll/glue mnli train, row 1: a label must be one of e; got 'n'"):
        read_pairs("glue:mnli", names=["e"])


def test_glue_without_internet_is_said():
    pytest.importorskip("datasets", reason="the hub needs datasets: pip install anyformer[train]")
    with pytest.raises(
        TrainingError, match=r"'nyu-mll/glue' \(config 'rte', split 'train'\) must be .* where there is internet"
    ):
        read_pairs("glue:rte")


@needs_data
@pytest.mark.parametrize(
    ("source", "count", "names"),
    [
        ("mnli_dev_matched.tsv.xz", 9815, NAMES),
        ("snli_dev.tsv.xz", 9842, NAMES),
        ("sick.tsv.xz", 9927, NAMES),
        ("rte_train_dev.tsv.xz", 2767, ("entailment", "not_entailment")),
    ],
)
def test_the_real_pairs(source, count, names):
    pairs = read_pairs(DATA / "nli" / source)
    assert (len(pairs), pairs.names, pairs.skipped) == (count, names, 0)
    train, held = split_pairs(pairs, 0.1, seed=0)
    assert not set(train.first) & set(held.first)
    assert len(train) + len(held) == count


@needs_data
def test_the_parts_of_a_real_file():
    parts = [read_pairs(f"{DATA}/nli/sick.tsv.xz?split={split}", NAMES) for split in ("train,trial", "test")]
    assert len(join_pairs(parts)) == 9927
