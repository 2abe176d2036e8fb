"""A corpus as token ids on disk: one flat array, mapped into memory, and a JSON file that says its origin."""

import json
from collections.abc import Iterator, Sized
from dataclasses import asdict, dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, final

import numpy as np
from numpy.typing import NDArray

from anyformer import strict_json
from anyformer.atomic import atomic_file
from anyformer.errors import TrainingError, words_of
from anyformer.training.data.corpus import Corpus
from anyformer.training.data.vocabulary import tokenizer_digest

_LINES_AT_ONCE: Final = 1000


@dataclass(frozen=True)
class Origin:
    """What the tokens were made from."""

    corpus: str
    corpus_digest: str
    tokenizer_digest: str
    tokens: int
    utf8_bytes: int
    """Of the text, line ends included: perplexities of different vocabularies compare by byte."""


@final
@dataclass(frozen=True, eq=False)
class TokenFile:
    """The token ids of a corpus, each line ended by one [SEP]."""

    place: Path
    ids: NDArray[Any]
    """(tokens,), uint16 or uint32, read-only."""
    origin: Origin

    def __len__(self) -> int:
        return len(self.ids)

    def matches(self, corpus: Corpus, tokenizer: Any) -> bool:
        """Whether these are the tokens of this corpus by this tokenizer, so that they need not be made again."""
        made = (self.origin.corpus_digest, self.origin.tokenizer_digest)
        return made == (corpus.digest(), tokenizer_digest(tokenizer))


def write_tokens(corpus: Corpus, tokenizer: Any, place: Path) -> TokenFile:
    """Tokenize a corpus, some lines at a time, into `place` (.npy) and the JSON beside it.

    A killed process leaves no file that `open_tokens` would accept as complete.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    # An array without its JSON is not accepted, so the old JSON is removed before the new array is written.
    _origin_place(place).unlink(missing_ok=True)
    place.unlink(missing_ok=True)
    dtype = np.dtype(np.uint16 if len(tokenizer) <= 1 << 16 else np.uint32)
    with atomic_file(place) as file:
        tokens, size = _stream(corpus, tokenizer, dtype, file)
    origin = Origin(corpus.name, corpus.digest(), tokenizer_digest(tokenizer), tokens, size)
    with atomic_file(_origin_place(place)) as file:
        file.write((json.dumps(asdict(origin), indent=2) + "\n").encode())
    return open_tokens(place)


def open_tokens(place: Path) -> TokenFile:
    """The tokens that `write_tokens` wrote there, mapped into memory."""
    try:
        origin = Origin(**strict_json.read(_origin_place(place)))
        ids = np.load(place, mmap_mode="r", allow_pickle=False)
        if not isinstance(ids, np.ndarray):
            raise ValueError("it is an archive of arrays")
    except Exception as error:  # NumPy's reader of headers may raise any kind of exception
        raise TrainingError(
            f"{place} must be tokens with their JSON beside them, whole; they cannot be read: {words_of(error)}."
            " Delete both, and they are made again."
        ) from error
    whole = all(type(getattr(origin, field.name)) is field.type for field in fields(Origin))
    if not whole or ids.dtype not in (np.uint16, np.uint32) or ids.shape != (origin.tokens,):
        raise TrainingError(
            f"{place} must hold token ids as its JSON says; got {ids.dtype} of shape {ids.shape}, and {origin}."
            " Delete both, and they are made again."
        )
    return TokenFile(place, ids, origin)


def split_tokens(tokens: TokenFile, share: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """The tokens to train on, and the last `share` of them, held out."""
    if not 0 < share < 1:
        raise TrainingError(f"the share held out must be between 0 and 1; got {share}. Choose 0.01, for example.")
    kept = len(tokens) - round(share * len(tokens))
    return tokens.ids[:kept], tokens.ids[kept:]


def require_sequences(tokens: Sized, length: int) -> None:
    """Refuse tokens that do not fill one sequence."""
    if len(tokens) < length:
        raise TrainingError(
            f"a text, to train on or to measure on, must fill at least one sequence of {length} tokens; got"
            f" {len(tokens)} tokens. Give more text, or ask for shorter sequences."
        )


def _stream(corpus: Corpus, tokenizer: Any, dtype: np.dtype[Any], file: BinaryIO) -> tuple[int, int]:
    """Write header and ids; return the counts of tokens and of bytes of text."""
    tokens = size = 0
    _write_header(file, dtype, tokens)
    left = corpus.lines()
    while lines := list(islice(left, _LINES_AT_ONCE)):
        ids = np.fromiter(_ids(tokenizer, lines), dtype)
        file.write(ids.tobytes())
        tokens += len(ids)
        size += sum(len(line.encode()) + 1 for line in lines)
    # NumPy leaves room in a header for a first axis that grows, so the second has the size of the first.
    _write_header(file, dtype, tokens)
    return tokens, size


def _write_header(file: BinaryIO, dtype: np.dtype[Any], tokens: int) -> None:
    file.seek(0)
    described = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (tokens,)}
    np.lib.format.write_array_header_1_0(file, described)


def _ids(tokenizer: Any, lines: list[str]) -> Iterator[int]:
    coded = tokenizer(lines, add_special_tokens=False, verbose=False)
    for ids in coded["input_ids"]:
        yield from ids
        yield tokenizer.sep_token_id


def _origin_place(place: Path) -> Path:
    return place.with_suffix(".json")
