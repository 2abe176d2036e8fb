"""Corpora: files packed and plain, the hub, and what is refused."""

import lzma
import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyformer.errors import MissingPackageError, TrainingError
from anyformer.training.data import corpora
from anyformer.training.data.corpora import HubText, SyntheticLanguage, TextFiles, open_corpus
from anyformer.training.data.reading import read_lines
from tests.training.data.samples import DATA, needs_data, pack

TEXT = "\ufeffone two\r\n\n  three \n\t\nfour"


@pytest.mark.parametrize("name", ["a.txt", "a.txt.xz", "a.txt.gz", "no-ending"])
def test_lines_are_stripped_and_never_empty_and_come_again(tmp_path, name):
    corpus = open_corpus(pack(tmp_path / name, TEXT))
    assert list(corpus.lines()) == ["one two", "three", "four"] == list(corpus.lines())
    assert corpus.name == name


def test_a_folder_is_read_in_order_of_paths(tmp_path):
    (tmp_path / "b").mkdir()
    for name in ("c.txt.gz", "a.txt", "b/x.txt.xz", "ignored.md"):
        pack(tmp_path / name, name)
    assert list(open_corpus(str(tmp_path)).lines()) == ["a.txt", "b/x.txt.xz", "c.txt.gz"]


def test_digests_tell_contents_and_packing_apart(tmp_path):
    first, same = pack(tmp_path / "a.txt", "x"), pack(tmp_path / "b.txt", "x")
    other, packed = pack(tmp_path / "c.txt", "y"), pack(tmp_path / "d.xz", "x")
    digests = [open_corpus(place).digest() for place in (first, same, other, packed)]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3
    unpacked = tmp_path / "e.txt"
    unpacked.write_bytes(packed.read_bytes())
    assert open_corpus(unpacked).digest() != digests[3]
    assert TextFiles((first, other)).digest() != TextFiles((other, first)).digest()


@given(st.lists(st.text(st.sampled_from("aé\u4e2d "), max_size=40)), st.integers(1, 30))
def test_long_lines_are_cut_at_spaces_only(tmp_path_factory, lines, longest):
    place = pack(tmp_path_factory.mktemp("cut") / "a.txt", "\n".join(lines))
    read = list(read_lines(place, longest))
    assert [word for _, line in read for word in line.split()] == " ".join(lines).split()
    for number, line in enumerate(lines, 1):
        assert "".join(piece for other, piece in read if other == number) == line


def test_memory_stays_bounded_even_for_a_single_line(tmp_path):
    place = tmp_path / "long.txt.xz"
    with lzma.open(place, "wb", preset=0) as file:
        for _ in range(24):
            file.write(b"word " * 200_000)
    tracemalloc.start()
    count = sum(len(line) + 1 for line in open_corpus(place).lines())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 24 * 200_000 * 5
    # A piece of 1 MiB is held raw, joined with the rest of the last, cut, as text and stripped; the line is 24 MB.
    assert peak < 10 * 2**20


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("a.txt", b"fine\nbad \xff\n", r"a\.txt must be UTF-8; line 2 is not, from its byte 5 on\. Convert"),
        ("a.txt.xz", lzma.compress(b"words " * 999)[:-20], r"whole \.xz archive; it is damaged .* Get it again"),
        ("a.txt.xz", b"no archive", "damaged"),
        ("a.txt.gz", b"no archive", r"whole \.gz archive"),
        ("a.txt", b"", r"a corpus must have words; a\.txt has none"),
        ("a.txt", b" \n\t\n", "has none"),
    ],
)
def test_bad_files_are_refused(tmp_path, name, raw, message):
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(TrainingError, match=message):
        list(open_corpus(tmp_path / name).lines())


def test_a_damaged_gzip_is_refused(tmp_path):
    place = pack(tmp_path / "a.txt.gz", "words " * 999)
    place.write_bytes(place.read_bytes()[:-12])
    with pytest.raises(TrainingError, match="damaged"):
        list(open_corpus(place).lines())


def test_wrong_paths_are_refused_when_they_are_given(tmp_path):
    with pytest.raises(TrainingError, match=r"must be a file; there is nothing. Check the path"):
        open_corpus(tmp_path / "nowhere.txt")
    with pytest.raises(
        TrainingError, match=r"must hold text files \(\*\.txt, \*\.txt\.xz, \*\.txt\.gz\); it holds none"
    ):
        open_corpus(tmp_path)
    with pytest.raises(TrainingError, match="at least one file"):
        TextFiles(())


def test_sources_name_corpora():
    assert open_corpus() == open_corpus("synthetic") == SyntheticLanguage()
    assert open_corpus("synthetic:seed=3,sentences=7") == SyntheticLanguage(sentences=7, seed=3)
    assert open_corpus("hub:wikitext") == HubText("Salesforce/wikitext", "wikitext-103-raw-v1")
    assert open_corpus("hub:wikipedia?config=20231101.de").config == "20231101.de"
    wanted = HubText("owner/name", "en", "test", "body")
    assert open_corpus("hub:owner/name?config=en&split=test&column=body") == wanted


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("hub:", "followed by the name of a data set"),
        ("hub:a?colour=red", "no options but config, split, column; got 'colour'"),
        ("hub:a?split", "must read name=value, separated by &; got 'split'"),
        ("synthetic:words=3", "the corpus 'synthetic' must get no parameters but sentences, seed; got 'words'"),
        ("synthetic:seed=-3", "seed must be at least 0; got -3"),
        ("synthetic:sentences=0", "sentences must be at least 1; got 0"),
    ],
)
def test_wrong_sources_are_refused(source, message):
    with pytest.raises(TrainingError, match=message):
        open_corpus(source)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    datasets = pytest.importorskip("datasets", reason="the hub needs datasets: pip install anyformer[train]")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()
    return datasets


def test_a_local_data_set_is_read(hub, tmp_path):
    (tmp_path / "set").mkdir()
    pack(tmp_path / "set" / "a.txt", "one two\n\n three\n")
    corpus = open_corpus(f"hub:{tmp_path / 'set'}")
    assert list(corpus.lines()) == ["one two", "three"]
    assert corpus.digest() == open_corpus(f"hub:{tmp_path / 'set'}").digest()
    assert corpus.name.endswith("set:train")


def test_the_column_is_text_or_the_only_one_of_strings(hub, tmp_path):
    (tmp_path / "set").mkdir()
    pack(tmp_path / "set" / "a.csv", 'number,body\n1,"x\ny"\n2,z\n')
    assert list(open_corpus(f"hub:{tmp_path / 'set'}").lines()) == ["x", "y", "z"]
    with pytest.raises(TrainingError, match=r"must be one of body; got 'number'\. Choose it by \?column="):
        list(open_corpus(f"hub:{tmp_path / 'set'}?column=number").lines())
    (tmp_path / "two").mkdir()
    pack(tmp_path / "two" / "a.csv", "title,body,empty\nx,y,\nz,v,\n")
    with pytest.raises(TrainingError, match=r"one of title, body.*; there is no `text`, and not one alone"):
        list(open_corpus(f"hub:{tmp_path / 'two'}").lines())
    assert list(open_corpus(f"hub:{tmp_path / 'two'}?column=body").lines()) == ["y", "v"]


def test_a_data_set_without_words_is_refused(hub, monkeypatch):
    empty = hub.Dataset.from_dict({"text": ["", " \n"]})
    monkeypatch.setattr("anyformer.training.data.hub.load_rows", lambda *names: empty)
    with pytest.raises(TrainingError, match="must have words in its column 'text'"):
        list(HubText("any").lines())


@pytest.mark.parametrize("source", ["hub:wikitext", "hub:nobody/nothing", "hub:/nowhere/at/all"])
def test_what_cannot_be_reached_is_said(hub, source):
    with pytest.raises(
        TrainingError, match=r"where there is internet, or a local folder; it could not be loaded: .*Error"
    ):
        next(open_corpus(source).lines())


def test_a_missing_library_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingPackageError, match=r'for reading .*pip install "anyformer\[train\]"'):
        HubText("any").digest()


@needs_data
def test_the_real_corpus():
    corpus = open_corpus(DATA / "text" / "wiki_en.valid.txt.xz")
    lines = list(corpus.lines())
    assert lines[0] == "Autism"
    assert sum(len(line.encode()) for line in lines) > 700_000
    assert corpora.open_corpus(DATA / "text").name == "text"
