"""Labels are classes, numbers or none; where it is not plain which, the reader asks instead of guessing."""

import json

import pytest

from anyformer.errors import TrainingError
from anyformer.training.data.pairs import Pairs, read_pairs
from anyformer.training.data.rows import parse_source
from anyformer.training.data.tables import read_table
from tests.training.data.samples import pack
from tests.training.data.test_formats import as_parquet


def table(place, labels):
    return pack(place / "p.tsv", "\n".join(["text\tlabel", *(f"a {row}\t{label}" for row, label in enumerate(labels))]))


def in_json(place, *labels):
    rows = [json.dumps({"text": "a", "label": label}) for label in labels]
    return pack(place / "p.jsonl", "\n".join(rows))


SENTIMENT = ["1", "-1", "0", "", "-1"]


def test_minus_one_beside_whole_numbers_is_asked_for(tmp_path):
    place = table(tmp_path, SENTIMENT)
    message = r"line [34]: .* label -1 must be clear; .* 0\. Say \?task=classes .* \?unlabelled=-1 .*\?task=regression"
    for read in (
        lambda: read_pairs(place),
        lambda: read_pairs(place, ("0", "1")),
        lambda: read_pairs(in_json(tmp_path, 1, 0, 1, -1)),
        lambda: read_table(parse_source(str(place)), numbers=False),
    ):
        with pytest.raises(TrainingError, match=message):
            read()


def test_minus_one_is_what_was_said(tmp_path):
    place, texts = table(tmp_path, SENTIMENT), [f"a {row}" for row in range(5)]
    labelled = tuple(texts[:3] + texts[4:])
    assert read_pairs(f"{place}?task=classes") == Pairs(labelled, None, (2, 0, 1, 0), ("-1", "0", "1"), 1)
    assert read_pairs(f"{place}?unlabelled=-1") == Pairs((texts[0], texts[2]), None, (1, 0), ("0", "1"), 3)
    assert read_pairs(f"{place}?unlabelled=-1,0").names == ("1",)
    assert read_pairs(f"{place}?task=regression").labels == (1.0, -1.0, 0.0, -1.0)
    assert read_pairs(f"{place}?task=regression&unlabelled=-1").labels == (1.0, 0.0)
    assert read_pairs(place, ("-1", "0", "1")).labels == (2, 0, 1, 0), "trained on, it is a class"

    def labels(options, numbers=False):
        return read_table(parse_source(f"{place}{options}"), numbers).labels

    assert labels("?task=classes") == ("1", "-1", "0", None, "-1")
    assert labels("?unlabelled=-1") == ("1", None, "0", None, None)
    assert labels("", numbers=True) == (1.0, -1.0, 0.0, None, -1.0)
    assert labels("?unlabelled=-1", numbers=True) == (1.0, None, 0.0, None, None)


def test_minus_one_is_no_label_beside_names_and_alone(tmp_path):
    assert read_pairs(table(tmp_path, ["yes", "-1", "no"])).skipped == 1
    assert read_table(parse_source(str(table(tmp_path, ["-1", "-1"]))), numbers=False).labels == (None, None)
    with pytest.raises(TrainingError, match="must have rows with labels; it has none, and 2 without"):
        read_pairs(table(tmp_path, ["-1", "-1"]))


@pytest.mark.parametrize("wrong", ["nan", "inf", "NA", "4,5", "1e999"])
def test_one_wrong_number_does_not_make_classes_of_the_others(tmp_path, wrong):
    place = table(tmp_path, ["1.5", "2", "0.25", wrong, "1.5", "bad"])
    with pytest.raises(TrainingError, match=rf"line 5: a label must be .* got '{wrong.lower()}'.*unlabelled.*classes"):
        read_pairs(place)
    assert wrong.lower() in read_pairs(f"{place}?task=classes").names
    with pytest.raises(TrainingError, match=r"line 5: a label must be a finite number; got"):
        read_pairs(f"{place}?task=regression")


def test_rows_that_are_no_numbers_can_be_left_out(tmp_path):
    place = table(tmp_path, ["1.5", "2", "NA", "0.25", "bad"])
    assert read_pairs(f"{place}?unlabelled=NA,bad").labels == (1.5, 2.0, 0.25)


def test_classes_must_repeat(tmp_path):
    place = table(tmp_path, [f"{row},5" for row in range(21)])
    with pytest.raises(
        TrainingError, match=r"got 21 different labels in 21 rows, such as '0,5'\. Say \?task=classes or"
    ):
        read_pairs(place)
    assert len(read_pairs(f"{place}?task=classes").names) == 21
    assert len(read_pairs(table(tmp_path, [f"c{row}" for row in range(20)])).names) == 20
    assert len(read_pairs(table(tmp_path, [f"c{row // 2}" for row in range(60)])).names) == 30
    assert read_pairs(table(tmp_path, ["c3", "c1"]), [f"c{row}" for row in range(50)]).labels == (3, 1)


@pytest.mark.parametrize("label", [[0], {"a": 0}, [[1]]])
def test_labels_of_a_wrong_type_are_refused(tmp_path, label):
    with pytest.raises(TrainingError, match=r"line 2: label must be a text or a number; got .*\?labels=COLUMN"):
        read_pairs(in_json(tmp_path, 1, label, 0))


def test_labels_of_strange_characters_are_refused(tmp_path):
    with pytest.raises(TrainingError, match="line 2: label must be a text of whole characters"):
        read_pairs(in_json(tmp_path, "yes", "\ud800"))


def test_bytes_in_parquet_are_texts(tmp_path):
    columns = {"text": ["a", "b"], "label": ["Jä".encode(), b"no"]}
    assert read_pairs(pack(tmp_path / "p.parquet", as_parquet(columns))).names == ("jä", "no")
    with pytest.raises(TrainingError, match=r"row 2: label must be a text in UTF-8; got b'\\xff'"):
        read_pairs(pack(tmp_path / "p.parquet", as_parquet(columns | {"label": [b"yes", b"\xff"]})))


@pytest.mark.parametrize("label", ["1e30", "-1e300", "1.1e15"])
def test_numbers_must_fit_single_precision_when_squared(tmp_path, label):
    place = table(tmp_path, ["0.5", label])
    with pytest.raises(TrainingError, match=rf"line 3: a label must be .* to 1e\+15, so that .*; got {label}"):
        read_pairs(place)
    with pytest.raises(TrainingError, match="so that its squared error fits single precision"):
        read_table(parse_source(str(place)), numbers=True)
    assert read_pairs(table(tmp_path, ["0.5", "-1e15"])).labels == (0.5, -1e15)
