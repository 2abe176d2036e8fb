"""Texts as tokens: long pairs give what the tokenizer gives by itself, and do not take the memory that it would."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyformer.training.tasks.examples import encode_texts
from tests.training.data.samples import LINES, tokenizer_of

LONGEST = 12
CONFIG = SimpleNamespace(longest_input=LONGEST, type_vocab_size=2)
WORDS = ["the", "dog", "dogs", "cat-naïve", "unhappily", "mat.", "甲乙", "[SEP]", "  ", "e\u0301e\u0301", "x" * 120]


def byte_pairs():
    """A tokenizer such as RoBERTa's: pairs of bytes, with spaces inside of the tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    made.train_from_iterator(LINES, trainers.BpeTrainer(vocab_size=320, special_tokens=special, show_progress=False))
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", unk_token="<unk>")


TOKENIZERS = {"word pieces": tokenizer_of(LINES), "byte pairs": byte_pairs()}
texts = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join),
    # Repeated, they are long, and often of the same number of tokens.
    st.builds(str.__mul__, st.sampled_from(["a dog ", "unhappily", "甲", "x y"]), st.integers(10, 80)),
)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("name", TOKENIZERS)
@settings(max_examples=150)
@given(rows=st.lists(st.tuples(texts, texts), min_size=1, max_size=3))
def test_long_pairs_are_those_of_the_tokenizer(name, side, rows):
    tokenizer = TOKENIZERS[name]
    tokenizer.truncation_side = side
    first, second = zip(*rows, strict=True)
    direct = tokenizer([*first], [*second], truncation=True, max_length=LONGEST, return_token_type_ids=True)
    made = list(encode_texts(first, second, tokenizer, CONFIG))
    assert [list(one.input_ids) for one in made] == direct["input_ids"]
    assert [list(one.token_type_ids) for one in made] == direct["token_type_ids"]


class Counting:
    """A tokenizer that counts the pieces that it cut off from any row."""

    def __init__(self, tokenizer) -> None:
        self.tokenizer, self.most, self.rows = tokenizer, 0, 0

    def __getattr__(self, name):
        return getattr(self.tokenizer, name)

    def __call__(self, *texts, **options):
        made = self.tokenizer(*texts, **options)
        self.most = max(self.most, *(len(one.overflowing) for one in made.encodings))
        self.rows = max(self.rows, len(made.encodings))
        return made


@pytest.mark.parametrize("lengths", [(300, 300), (300, 900), (900, 300)])
def test_pieces_of_long_pairs_are_not_multiplied(lengths):
    counting = Counting(TOKENIZERS["word pieces"])
    counting.truncation_side = "right"
    first, second = ("a dog " * length for length in lengths)
    encoded = list(encode_texts([first] * 2, [second] * 2, counting, CONFIG))
    assert len(encoded[1].input_ids) == LONGEST
    # 24 tokens and 36, in pieces of 4 and of 5, which are the halves of what fits beside the three marks.
    assert 0 < counting.most < 6 * 8


def test_rows_are_encoded_some_at_a_time_and_all_of_them():
    counting = Counting(TOKENIZERS["word pieces"])
    texts = [f"a dog {'a ' * (number % 7)}" for number in range(150)]
    direct = counting.tokenizer(texts, truncation=True, max_length=LONGEST)["input_ids"]
    assert [list(one.input_ids) for one in encode_texts(texts, None, counting, CONFIG)] == direct
    assert counting.rows < len(texts)
    assert list(encode_texts([], None, counting, CONFIG)) == []
