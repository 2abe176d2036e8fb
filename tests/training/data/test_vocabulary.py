"""Vocabularies: trained the same everywhere, saved, loaded, and what is refused."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("transformers", reason="tokenizers need transformers: pip install anyformer[bert]")

import transformers

from anyformer.errors import TrainingError
from anyformer.training.data.corpora import open_corpus
from anyformer.training.data.synthetic.language import SyntheticLanguage
from anyformer.training.data.vocabulary import SPECIALS, load_tokenizer, tokenizer_digest, train_tokenizer
from tests.training.data.samples import DATA, LINES, Listed, first_lines, needs_data, pack, tokenizer_of

TEXT = "Café the CAT, unhappy [MASK] dogs"


def test_it_is_bert():
    tokenizer = tokenizer_of(LINES)
    assert tokenizer.convert_ids_to_tokens(range(5)) == list(SPECIALS)
    coded = tokenizer("the cat", "dogs")
    tokens = tokenizer.convert_ids_to_tokens(coded["input_ids"])
    assert tokens[0] == "[CLS]"
    second = tokens.index("[SEP]") + 1
    assert tokens[-1] == "[SEP]"
    assert coded["token_type_ids"] == [0] * second + [1] * (len(tokens) - second)
    assert tokenizer.tokenize("CAFÉ") == tokenizer.tokenize("cafe")
    assert tokenizer.mask_token_id in tokenizer("the [MASK]")["input_ids"]


def test_frequent_words_are_whole_and_size_is_kept():
    tokenizer = train_tokenizer(SyntheticLanguage(sentences=2000), 400)
    assert len(tokenizer) == 400
    assert tokenizer.tokenize("ta budi vel") == ["ta", "budi", "vel"]
    assert len(train_tokenizer(Listed(("a b ab",)), 400)) < 15


def test_no_room_is_spent_on_what_cannot_stand_inside_a_word():
    tokens = tokenizer_of(["a,b! \u4e2d c"]).get_vocab()
    assert {"##a", "##b", ",", "!", "\u4e2d"} <= tokens.keys()
    assert not {"##,", "##!", "##\u4e2d"} & tokens.keys()


def test_rare_characters_leave_their_room_to_words():
    common = ["".join(map(chr, range(97, 123)))] * 2
    tokens = tokenizer_of(
        [*common, *(chr(0x0430 + number) for number in range(32)), *map(chr, range(0x10D0, 0x10F0))], 240
    )
    singles = [token for token in tokens.get_vocab() if len(token) == 1]
    assert len(singles) == 26 + 31 + 32  # й loses its accent
    many = tokenizer_of([*common, *(f"{chr(0xAC00 + 28 * number)}" for number in range(300))], 400)
    assert "a" in many.get_vocab()
    assert len([token for token in many.get_vocab() if len(token) == 1]) <= 100


@pytest.mark.slow
def test_training_gives_the_same_bytes_in_another_process(tmp_path):
    script = (
        "import sys; from anyformer.training.data.synthetic.language import SyntheticLanguage as Language;"
        "from anyformer.training.data.vocabulary import train_tokenizer as train;"
        "train(Language(sentences=300), 150).save_pretrained(sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "there")], check=True, capture_output=True)
    train_tokenizer(SyntheticLanguage(sentences=300), 150).save_pretrained(tmp_path / "here")
    here, there = ((tmp_path / side / "tokenizer.json").read_bytes() for side in ("here", "there"))
    assert here == there


def test_training_is_silent(capfd):
    tokenizer_of(LINES)
    assert capfd.readouterr() == ("", "")


def test_saved_and_loaded_it_is_the_same(tmp_path):
    tokenizer = tokenizer_of(LINES)
    tokenizer.save_pretrained(tmp_path)
    words = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    places = [tmp_path, tmp_path / "tokenizer.json"]
    places += [pack(tmp_path / name, "\n".join(words)) for name in ("v.txt", "v.txt.xz", "v.txt.gz")]
    loaded = [load_tokenizer(place) for place in places]
    loaded.append(transformers.AutoTokenizer.from_pretrained(tmp_path))
    for one in loaded:
        assert one(TEXT, TEXT)["input_ids"] == tokenizer(TEXT, TEXT)["input_ids"]
        assert one(TEXT, TEXT)["token_type_ids"] == tokenizer(TEXT, TEXT)["token_type_ids"]
        assert tokenizer_digest(one) == tokenizer_digest(tokenizer)
        assert one.mask_token_id == 4


def test_the_digest_is_of_what_decides_tokens():
    tokenizer = tokenizer_of(LINES)
    before = tokenizer_digest(tokenizer)
    tokenizer(LINES, truncation=True, max_length=3, padding="max_length")
    assert json.loads(tokenizer.backend_tokenizer.to_str())["truncation"] is not None
    assert tokenizer_digest(tokenizer) == before
    assert tokenizer_digest(tokenizer_of([*LINES, "zebra"])) != before


def test_a_vocabulary_without_room_is_refused():
    with pytest.raises(TrainingError, match=r"must have room for 11 tokens, .* of listed .*; size is 10"):
        tokenizer_of(["abc"], 10)
    assert len(tokenizer_of(["abc"], 11)) == 11


def test_what_is_no_tokenizer_is_refused(tmp_path):
    with pytest.raises(TrainingError, match="must be a file; there is nothing"):
        load_tokenizer(tmp_path / "vocab.txt")
    with pytest.raises(TrainingError, match="must be a file; there is nothing"):
        load_tokenizer(tmp_path / "tokenizer.json")
    with pytest.raises(TrainingError, match=r"lacks \[CLS\], \[MASK\]"):
        load_tokenizer(pack(tmp_path / "vocab.txt", "[PAD]\n[UNK]\n[SEP]\nword"))
    with pytest.raises(TrainingError, match="could not be read"):
        load_tokenizer(pack(tmp_path / "tokenizer.json", "{}"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(TrainingError, match="made by save_pretrained"):
        load_tokenizer(tmp_path / "empty")


def test_a_tokenizer_json_without_a_mask_is_refused(tmp_path):
    from tokenizers import Tokenizer, models

    words = {token: number for number, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "word"])}
    Tokenizer(models.WordPiece(words, unk_token="[UNK]")).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(TrainingError, match=r"lacks \[MASK\]\. Give one that was made for BERT"):
        load_tokenizer(tmp_path / "tokenizer.json")


@needs_data
def test_the_vocabulary_of_bert():
    tokenizer = load_tokenizer(DATA / "vocab" / "bert-base-uncased-vocab.txt.xz")
    assert len(tokenizer) == 30_522
    assert tokenizer("Hello, world!")["input_ids"] == [101, 7592, 1010, 2088, 999, 102]


@needs_data
def test_a_vocabulary_of_real_text():
    corpus = first_lines(open_corpus(DATA / "text" / "wiki_en.valid.txt.xz"), 300)
    tokenizer = train_tokenizer(corpus, 1500)
    assert len(tokenizer) == 1500
    ids = tokenizer(list(corpus.lines()), add_special_tokens=False)["input_ids"]
    unknown = sum(line.count(tokenizer.unk_token_id) for line in ids)
    assert unknown < 0.005 * sum(map(len, ids))
