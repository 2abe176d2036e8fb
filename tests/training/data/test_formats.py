"""Tables are read by what is in them: every format gives the same pairs, and every damage its own message."""

import csv
import gzip
import io
import json
import lzma

import pytest

from anyformer.errors import TrainingError
from anyformer.training.data.pairs import Pairs, join_pairs, read_all_pairs, read_pairs
from tests.training.data.samples import DATA, needs_data, pack

FIRST = ('He said "no", twice', "It rains,\nand it pours", "No; not so")
SECOND = ("He spoke", "It is dry", "Yes, so")
LABELS = ("entailment", "contradiction", "neutral")
ROWS = [
    {"premise": one, "hypothesis": other, "label": label}
    for one, other, label in zip(FIRST, SECOND, LABELS, strict=True)
]
WANTED = Pairs(FIRST, SECOND, (1, 0, 2), ("contradiction", "entailment", "neutral"))


def as_csv(separator: str = ",") -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, ROWS[0], delimiter=separator, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(ROWS)
    return file.getvalue().encode()


def as_parquet(columns=None, **options) -> bytes:
    arrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow: pip install anyformer[train]")
    import pyarrow.parquet

    file = io.BytesIO()
    table = arrow.Table.from_pylist(ROWS) if columns is None else arrow.table(columns)
    pyarrow.parquet.write_table(table.replace_schema_metadata(options.get("metadata")), file)
    return file.getvalue()


def as_json_lines() -> bytes:
    return "\n".join(map(json.dumps, ROWS)).encode()


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("p.csv", as_csv),
        ("p.csv.xz", as_csv),
        ("P.CSV", lambda: b"\xef\xbb\xbf" + as_csv()),
        ("excel.csv", lambda: as_csv(";")),
        ("p.tsv", as_csv),
        ("p.jsonl", as_json_lines),
        ("p.json", as_json_lines),
        ("p.csv", as_json_lines),
        ("p.json", lambda: json.dumps(ROWS, indent=2).encode()),
        ("p.jsonl", lambda: json.dumps(ROWS).encode()),
        ("p.txt.gz", lambda: b"\xef\xbb\xbf\n" + json.dumps(ROWS).encode()),
        ("p.parquet", as_parquet),
        ("p.parquet.gz", as_parquet),
        ("p.tsv", as_parquet),
        # Archives that have lost their ending, or have the other's.
        ("p.csv", lambda: lzma.compress(as_csv())),
        ("p.jsonl", lambda: gzip.compress(as_json_lines())),
    ],
)
def test_the_same_table_in_every_format(tmp_path, name, made):
    assert read_pairs(pack(tmp_path / name, made())) == WANTED


def test_a_tsv_is_read_as_one_whatever_its_name(tmp_path):
    text = 'sentence\tlabel\n"No, he said\t1\n5" wide, or 6"\t0\n'
    for name in ("p.tsv", "p.csv", "p", "p.data"):
        pairs = read_pairs(pack(tmp_path / name, text))
        assert (pairs.first, pairs.labels) == (('"No, he said', '5" wide, or 6"'), (1, 0))


def test_classes_that_datasets_saved_as_numbers_have_their_names(tmp_path):
    features = {"label": {"names": ["Yes", "no"], "_type": "ClassLabel"}, "sentence": {"dtype": "string"}}
    told = {"huggingface": json.dumps({"info": {"features": features}})}
    columns = {"sentence": ["a", "b", "c", "d"], "label": [1, 0, -1, 1]}
    pairs = read_pairs(pack(tmp_path / "p.parquet", as_parquet(columns, metadata=told)))
    assert pairs == Pairs(("a", "b", "d"), None, (0, 1, 0), ("no", "yes"), 1)
    unnamed = pack(tmp_path / "q.parquet", as_parquet(columns, metadata={"huggingface": "{}"}))
    assert read_pairs(f"{unnamed}?unlabelled=-1").names == ("0", "1")
    numbered = json.dumps({"info": {"features": features | {"label": {"names": ["0", "1"]}}}})
    assert (
        read_pairs(pack(tmp_path / "r.parquet", as_parquet(columns, metadata={"huggingface": numbered}))).skipped == 1
    )


def test_blank_lines_before_the_header_are_skipped(tmp_path):
    for name, separator in (("p.csv", ","), ("p.tsv", "\t")):
        lines = ["", "  ", *(separator.join(row) for row in (("text", "label"), ("a", "yes"), ("b", "no")))]
        assert read_pairs(pack(tmp_path / name, "\n".join(lines))).first == ("a", "b")


def test_a_value_may_be_long(tmp_path):
    """Python's reader takes 131,072 characters by default, of every reader in the process."""
    text, before = "x " * 100_000, csv.field_size_limit()
    assert read_pairs(pack(tmp_path / "p.csv", f'text,label\n"{text}",1\nb,0\n')).first == (text, "b")
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        (
            "p.parquet",
            b"premise\thypothesis\tlabel\na\tb\tc\n",
            "must be Parquet, which starts with PAR1; it starts with",
        ),
        ("p.parquet", b"PAR1 and no more", "must be a whole Parquet file; it cannot be read after row 0"),
        ("p.csv", b'text,label\na,1\n"b,0\nc,1\n', r"p\.csv, line 3: a row must be CSV, .* unexpected end of data"),
        ("p.csv", b'text,label\n"a\nb",1\n"c"d,0\n', r"p\.csv, line 4: a row must be CSV, with every quote .* doubled"),
        ("p.csv", b'text,label\n"a\nb",1\nc,d,0\n', r"p\.csv, line 4: a row must have 2 columns separated by ','"),
        ("p.csv", b"text,label\na,1\n" + b'"' + b"x" * (1 << 24) + b"xx", "line 3: .* values of at most 16777216 char"),
        ("p.tsv", b"text\tlabel\ra\t1\rb\t0\r", r"p\.tsv: lines must end in LF or CRLF; got CR alone"),
        ("p.csv", b"text,label\ra,1\rb,0\r", r"p\.csv: lines must end in LF or CRLF; got CR alone"),
        ("p.jsonl", b'{"text": "a"}\r{"text": "b"}\r', r"p\.jsonl, line 1: lines must end in LF or CRLF"),
        ("p.csv", b"text,label,text\na,1,b\n", "a column must be there once; 'text' is there twice"),
        ("p.json", b'[{"text": "a"', "must be a JSON array of objects; it cannot be read"),
        ("p.json", b"[1]", "item 1: must be a JSON object; got int"),
        ("p.json", b"text\tlabel\na\t1\n", "line 1: must be a JSON object; it cannot be read"),
        ("p.tsv", lzma.compress(b"text\tlabel\na\t1\n")[:-9], r"must be a whole \.xz archive; it is damaged"),
    ],
)
def test_damaged_tables_are_refused(tmp_path, name, raw, message):
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(TrainingError, match=message):
        read_pairs(tmp_path / name)


def test_damaged_parquet_is_refused_whatever_the_damage(tmp_path):
    raw, refused = as_parquet(), 0
    for place in range(4, len(raw), 7):
        changed = raw[:place] + bytes([raw[place] ^ 0x55]) + raw[place + 1 :]
        (tmp_path / "p.parquet").write_bytes(changed)
        try:
            read_pairs(tmp_path / "p.parquet")
        except TrainingError:
            refused += 1
    assert refused


@pytest.mark.parametrize(
    ("labels", "wanted", "names"),
    [
        (["2.5", "0", "5.000", "-1"], (2.5, 0.0, 5.0, -1.0), ()),
        (["1", "0", "2"], (1, 0, 2), ("0", "1", "2")),
        (["1.0", "0.0"], (1, 0), ("0.0", "1.0")),
        (["2.5", "0", "many", "few"], (1, 0, 3, 2), ("0", "2.5", "few", "many")),
        ([".5", "-.25", "2."], (0.5, -0.25, 2.0), ()),
        (["5e-3", "1E-07"], (0.005, 1e-7), ()),
        (["2.5", "-", "", "1e1"], (2.5, 10.0), ()),
    ],
)
def test_numbers_that_are_not_whole_are_numbers(tmp_path, labels, wanted, names):
    place = pack(tmp_path / "p.tsv", "\n".join(["text\tlabel", *(f"a\t{label}" for label in labels)]))
    pairs = read_pairs(place)
    assert (pairs.labels, pairs.names) == (wanted, names)
    assert pairs.skipped == len(labels) - len(wanted)


def test_numbers_in_json_are_told_in_the_same_way(tmp_path):
    def read(*labels):
        rows = [json.dumps({"text": "a", "label": label}) for label in labels]
        return read_pairs(pack(tmp_path / "p.jsonl", "\n".join(rows)))

    assert read(2.5, 1.0, None, 3).labels == (2.5, 1.0, 3.0)
    assert read(1e-07, 2e-07).labels == (1e-07, 2e-07)
    assert read(1.0, 0.0).names == ("0", "1"), "pandas writes whole numbers like this where some are missing"


def test_what_labels_are_can_be_said(tmp_path):
    place = pack(tmp_path / "p.csv", "text,label,grade\na,1,0.5\nb,-1,2.5\nc,3,1\n")
    assert read_pairs(f"{place}?task=regression") == Pairs(("a", "b", "c"), None, (1.0, -1.0, 3.0), ())
    assert read_pairs(f"{place}?labels=grade").labels == (0.5, 2.5, 1.0)
    assert read_pairs(f"{place}?labels=grade&task=classes").names == ("1", "0.5", "2.5")
    assert read_pairs(f"{place}?labels=grade&label=3").names == ("1",)
    assert read_pairs(place, names=()).labels == (1.0, -1.0, 3.0)
    with pytest.raises(TrainingError, match=r"line 2: a row must have a column marks; got text, label, grade"):
        read_pairs(f"{place}?labels=marks")
    with pytest.raises(TrainingError, match=r"line 2: a label must be a finite number; got 'yes'"):
        read_pairs(f"{pack(tmp_path / 'q.csv', 'text,label' + chr(10) + 'a,yes')}?task=regression")
    both = read_all_pairs([f"{place}?task=regression", place])
    assert len(both) == 6
    with pytest.raises(TrainingError, match=r"the same labels .* got texts of numbers and texts of"):
        join_pairs([both, Pairs(("a",), None, (0,), ("x",))])


def test_hidden_numbers_of_glue_are_left_out(monkeypatch):
    datasets = pytest.importorskip("datasets", reason="the hub needs datasets: pip install anyformer[train]")
    rows = datasets.Dataset.from_dict({"sentence1": [*"abc"], "sentence2": [*"def"], "label": [2.5, -1.0, 5.0]})
    monkeypatch.setattr("anyformer.training.data.rows.load_rows", lambda *names: rows)
    assert read_pairs("glue:stsb") == Pairs(("a", "c"), ("d", "f"), (2.5, 5.0), (), 1)


@needs_data
def test_the_real_numbers():
    pairs = read_pairs(f"{DATA}/nli/sick.tsv.xz?labels=relatedness")
    assert (len(pairs), pairs.names) == (9927, ())
    assert (min(pairs.labels), max(pairs.labels)) == (1.0, 5.0)
