"""WordPiece vocabularies: trained on a corpus, or loaded. Needs `transformers`, which is imported when asked for."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from anyformer import strict_json
from anyformer.errors import TrainingError, words_of
from anyformer.saved_folders import in_a_line, quiet, require_plain
from anyformer.training.data.corpus import Corpus
from anyformer.training.data.reading import existing, read_lines

SPECIALS: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""Their ids are 0 to 4."""


def train_tokenizer(corpus: Corpus, size: int, lines: int = 200_000) -> Any:
    """A tokenizer for this corpus; the same corpus gives the same file, byte by byte.

    Args:
        corpus: where words are counted.
        size: tokens at most, the special ones included; a poor corpus gives fewer.
        lines: how many lines to count words in.

    Returns:
        A `transformers` tokenizer like that of BERT (uncased): WordPiece, and [CLS] first [SEP] second [SEP].
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    normalizer, splitter = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    alphabet = _alphabet((normalizer.normalize_str(line) for line in islice(corpus.lines(), lines)), size)
    # Punctuation and Chinese characters are words of their own, and need no token for the inside of one.
    joined = {character: normalizer.normalize_str(f"a{character}") for character in alphabet}
    inside = [character for character in alphabet if len(splitter.pre_tokenize_str(joined[character])) == 1]
    # The trainer numbers the continuations "##x" in the order of a hash map, another in each process, and breaks ties
    # by number. Given in advance, they have a fixed order; the choice of characters is made here for the same reason.
    first = [*SPECIALS, *(f"##{character}" for character in inside)]
    if size < len(first) + len(alphabet):
        raise TrainingError(
            f"a vocabulary must have room for {len(first) + len(alphabet)} tokens, the special ones and the characters"
            f" of {corpus.name} at the start and inside of words; size is {size}. Choose a larger one."
        )
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        special_tokens=first,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    trained = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trained.normalizer, trained.pre_tokenizer = normalizer, splitter
    trained.train_from_iterator(islice(corpus.lines(), lines), trainer)
    return _wrapped(trained.get_vocab(with_added_tokens=True))


def load_tokenizer(place: str | Path) -> Any:
    """The tokenizer of a folder made by `save_pretrained`, a tokenizer.json, or a BERT vocab.txt, also packed."""
    import transformers

    place = Path(place)
    if place.is_dir():
        loaded = tokenizer_of_folder(place)
    elif place.suffix == ".json":
        loaded = _try(place, lambda: transformers.PreTrainedTokenizerFast(tokenizer_file=str(existing(place))))
        loaded.add_special_tokens(_names(loaded.get_vocab()))
        # The file does not list its model's inputs, and without token types BERT could not tell the texts of a pair
        # apart.
        loaded.model_input_names = transformers.BertTokenizerFast.model_input_names
    else:
        words = [line for _, line in read_lines(place)]
        _require_specials(place, words)
        if len(set(words)) < len(words):
            twice = next(word for word in words if words.count(word) > 1)
            raise TrainingError(f"{place} must have every token once; {twice!r} is there more than once. Remove one.")
        loaded = _wrapped({word: number for number, word in enumerate(words)})
    _try(place, lambda: loaded("a", "b"))  # a file may be readable and still not usable
    _require_specials(place, [str(loaded.special_tokens_map.get(name)) for name in _names(SPECIALS)])
    return loaded


def tokenizer_of_folder(place: Path) -> Any:
    """The tokenizer of a folder made by `save_pretrained`, which may be of any kind."""
    import transformers

    require_plain(place)
    return _try(
        place,
        lambda: transformers.AutoTokenizer.from_pretrained(place, local_files_only=True, trust_remote_code=False),
    )


def tokenizer_digest(tokenizer: Any) -> str:
    """The sha256 of what decides the tokens; not of the length to cut or pad to, which calls change."""
    try:
        told = strict_json.loads(tokenizer.backend_tokenizer.to_str())
    except (AttributeError, ValueError) as error:
        raise TrainingError(
            f"a tokenizer must be one of WordPiece in JSON; it is not: {words_of(error)}. Give another."
        ) from error
    described = told | {"truncation": None, "padding": None}
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _alphabet(lines: Iterator[str], size: int) -> list[str]:
    """The commonest characters, an eighth of the vocabulary or, where that is little, a hundred; others are [UNK].

    Rare ones would take the room of words: an encyclopaedia has thousands. BERT's own vocabulary has a thousand.
    """
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(line)
    common = sorted(counts, key=lambda character: (-counts[character], character))
    return sorted([character for character in common if not character.isspace()][: min(1000, max(100, size // 8))])


def _wrapped(vocabulary: dict[str, int]) -> Any:
    from transformers import BertTokenizerFast

    # In the order of the ids: it is the order in the saved file.
    return BertTokenizerFast(vocab=dict(sorted(vocabulary.items(), key=lambda item: item[1])))


def _names(tokens: Any) -> dict[str, str]:
    """The special ones of these tokens, by the names `transformers` has for them."""
    return {f"{token[1:-1].lower()}_token": token for token in SPECIALS if token in tokens}


def _try(place: Path, load: Any) -> Any:
    try:
        with quiet():
            return load()
    except TrainingError:
        raise
    except Exception as error:  # The libraries raise all kinds of exceptions, even a bare Exception.
        raise TrainingError(
            f"{place} must be a folder made by save_pretrained, a tokenizer.json or a vocab.txt; it could not be read:"
            f" {in_a_line(error)}. Give another."
        ) from error


def _require_specials(place: Path, tokens: list[str]) -> None:
    missing = [token for token in SPECIALS if token not in tokens]
    if missing:
        raise TrainingError(
            f"a tokenizer must have the tokens {', '.join(SPECIALS)}; {place} lacks {', '.join(missing)}."
            " Give one that was made for BERT."
        )
