"""What these tests share: small corpora, a small tokenizer, and the real data where it is at hand."""

import gzip
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest

from anyformer.training.data.corpus import Corpus

DATA = Path(__file__).parents[4] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the real data is not on this machine")
LINES = ["The cat sat, on the mat.", "A dog (unhappy) barked!", "Cats and dogs: café naïve 123."]


@dataclass(frozen=True)
class Listed(Corpus):
    """Lines given as they are, or the first ones of another corpus."""

    given: tuple[str, ...]

    @property
    def name(self) -> str:
        return "listed"

    def lines(self) -> Iterator[str]:
        return iter(self.given)

    def digest(self) -> str:
        return str(hash(self.given))


def first_lines(corpus: Corpus, count: int) -> Listed:
    return Listed(tuple(islice(corpus.lines(), count)))


def pack(place: Path, text: str | bytes) -> Path:
    """Write, packed as the ending says."""
    raw = text.encode() if isinstance(text, str) else text
    place.write_bytes({".xz": lzma.compress, ".gz": gzip.compress}.get(place.suffix, bytes)(raw))
    return place


def tokenizer_of(lines: list[str], size: int = 200):
    from anyformer.training.data.vocabulary import train_tokenizer

    return train_tokenizer(Listed(tuple(lines)), size)


def roberta_tokenizer(*words: str, **names: str):
    """RoBERTa's marks around whole words; `names` replace its special tokens."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    known = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *words]
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(known)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    special = {
        "bos": "<s>",
        "cls": "<s>",
        "eos": "</s>",
        "sep": "</s>",
        "pad": "<pad>",
        "unk": "<unk>",
        "mask": "<mask>",
    }
    tokens = {f"{name}_token": token for name, token in {**special, **names}.items()}
    return PreTrainedTokenizerFast(tokenizer_object=made, **tokens)
