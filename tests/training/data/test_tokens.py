"""Token files: what stands in them, that they are whole or not there, and when they can be used again."""

import json
import tracemalloc
from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("transformers", reason="tokenizers need transformers: pip install anyformer[bert]")

from anyformer.errors import TrainingError
from anyformer.training.data import tokens as module
from anyformer.training.data.corpora import open_corpus
from anyformer.training.data.corpus import Corpus
from anyformer.training.data.tokens import open_tokens, require_sequences, split_tokens, write_tokens
from tests.training.data.samples import DATA, LINES, Listed, first_lines, needs_data, tokenizer_of


@pytest.fixture(scope="module")
def tokenizer():
    return tokenizer_of(LINES)


def encoded(lines, tokenizer):
    """The slow and obvious way."""
    ids = []
    for line in lines:
        ids += [*tokenizer.encode(line, add_special_tokens=False), tokenizer.sep_token_id]
    return ids


@given(
    lines=st.lists(st.sampled_from([*LINES, "dog", "zzz 日本"]), min_size=1, max_size=9),
    at_once=st.integers(1, 4),
)
def test_lines_are_encoded_one_after_the_other(tmp_path_factory, tokenizer, lines, at_once):
    place = tmp_path_factory.mktemp("tokens") / "t.npy"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LINES_AT_ONCE", at_once)
        written = write_tokens(Listed(tuple(lines)), tokenizer, place)
    assert written.ids.tolist() == encoded(lines, tokenizer) == np.load(place).tolist()
    assert written.ids.dtype == np.uint16
    assert not written.ids.flags.writeable
    assert written.origin.tokens == len(written) == len(written.ids)
    assert written.origin.utf8_bytes == len(("\n".join(lines) + "\n").encode())
    assert sorted(path.name for path in place.parent.iterdir()) == ["t.json", "t.npy"]


def test_a_length_left_behind_by_another_call_does_not_cut_lines(tmp_path, tokenizer):
    wanted = encoded(LINES, tokenizer)
    tokenizer(LINES, truncation=True, max_length=3, padding="max_length")
    assert write_tokens(Listed(tuple(LINES)), tokenizer, tmp_path / "t.npy").ids.tolist() == wanted


def test_large_vocabularies_take_four_bytes(tmp_path, tokenizer):
    class Large:
        sep_token_id, backend_tokenizer = 70_000, tokenizer.backend_tokenizer

        def __len__(self):
            return 2**16 + 1

        def __call__(self, lines, **options):
            return {"input_ids": [[65_536]] * len(lines)}

    written = write_tokens(Listed(("a",)), Large(), tmp_path / "t.npy")
    assert written.ids.dtype == np.uint32
    assert written.ids.tolist() == [65_536, 70_000]


def test_matching_files_are_known_again(tmp_path, tokenizer):
    corpus = Listed(tuple(LINES))
    write_tokens(corpus, tokenizer, tmp_path / "deep" / "t.npy")
    again = open_tokens(tmp_path / "deep" / "t.npy")
    assert again.matches(corpus, tokenizer)
    assert not again.matches(Listed(("other",)), tokenizer)
    assert not again.matches(corpus, tokenizer_of([*LINES, "zebra"]))


@dataclass(frozen=True)
class Failing(Corpus):
    """Fails in the middle, as a damaged archive does."""

    name = "failing"

    def lines(self):
        yield from islice(cycle(LINES), 5000)
        raise TrainingError("damaged")

    def digest(self):
        return ""


def test_a_failure_leaves_nothing_that_could_be_taken_for_tokens(tmp_path, tokenizer):
    place = tmp_path / "t.npy"
    write_tokens(Listed(tuple(LINES)), tokenizer, place)
    with pytest.raises(TrainingError, match="damaged"):
        write_tokens(Failing(), tokenizer, place)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TrainingError, match="must be tokens with their JSON beside them"):
        open_tokens(place)


def test_memory_stays_bounded(tmp_path, tokenizer, monkeypatch):
    monkeypatch.setattr(module, "_LINES_AT_ONCE", 50)
    peaks = []
    for count in (1000, 4000):
        corpus = Listed(tuple(islice(cycle(LINES), count)))
        tracemalloc.start()
        write_tokens(corpus, tokenizer, tmp_path / "t.npy")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Four times the text; kept whole it would take four times the room.
    assert peaks[1] < 1.5 * peaks[0]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda array, beside: array.unlink(),
        lambda array, beside: array.write_bytes(array.read_bytes()[:-2]),
        lambda array, beside: array.write_bytes(b""),
        lambda array, beside: np.save(array, np.load(array).astype(np.int64)),
        lambda array, beside: np.save(array, np.load(array)[:-1]),
        lambda array, beside: np.save(array, np.array([None])),
        lambda array, beside: beside.write_text("no JSON"),
        lambda array, beside: beside.write_text("[]"),
        lambda array, beside: beside.write_text("{}"),
        lambda array, beside: beside.write_text(json.dumps(json.loads(beside.read_text()) | {"corpus_digest": 3})),
    ],
)
def test_damaged_files_are_refused(tmp_path, tokenizer, spoil):
    write_tokens(Listed(tuple(LINES)), tokenizer, tmp_path / "t.npy")
    spoil(tmp_path / "t.npy", tmp_path / "t.json")
    with pytest.raises(TrainingError, match=r"t\.npy must .* Delete both, and they are made again"):
        open_tokens(tmp_path / "t.npy")


@given(share=st.floats(0.001, 0.999))
def test_splits_are_complete_and_in_order(tmp_path_factory, tokenizer, share):
    tokens = write_tokens(Listed(tuple(LINES)), tokenizer, tmp_path_factory.mktemp("split") / "t.npy")
    train, valid = split_tokens(tokens, share)
    assert np.array_equal(np.concatenate([train, valid]), tokens.ids)
    assert abs(len(valid) - share * len(tokens)) <= 0.5


def test_wrong_shares_and_short_corpora_are_refused(tmp_path, tokenizer):
    tokens = write_tokens(Listed(("dog",)), tokenizer, tmp_path / "t.npy")
    for share in (0, 1, -0.5, float("nan")):
        with pytest.raises(TrainingError, match=f"must be between 0 and 1; got {share}"):
            split_tokens(tokens, share)
    require_sequences(tokens, len(tokens))
    with pytest.raises(
        TrainingError, match=rf"at least one sequence of {len(tokens) + 1} tokens; got {len(tokens)} tokens"
    ):
        require_sequences(tokens.ids, len(tokens) + 1)


@needs_data
def test_real_text_becomes_tokens(tmp_path):
    corpus = first_lines(open_corpus(DATA / "text" / "wiki_en.valid.txt.xz"), 200)
    tokenizer = tokenizer_of(list(corpus.lines()), 1000)
    tokens = write_tokens(corpus, tokenizer, tmp_path / "t.npy")
    assert int((tokens.ids == tokenizer.sep_token_id).sum()) == 200
    assert tokens.ids[-1] == tokenizer.sep_token_id
    assert int(tokens.ids.max()) < 1000
