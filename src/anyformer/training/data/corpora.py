"""Text to train on: from files, from the hub, or the synthetic language, which needs neither."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, final

from anyformer.catalogues import Catalogue
from anyformer.errors import TrainingError
from anyformer.training.data.corpus import Corpus
from anyformer.training.data.hub import HubText
from anyformer.training.data.reading import existing, read_lines
from anyformer.training.data.sources import allow_options, split_source
from anyformer.training.data.synthetic.language import SyntheticLanguage

__all__ = ["ALIASES", "Corpus", "HubText", "SyntheticLanguage", "TextFiles", "open_corpus"]

ALIASES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "wikitext": ("Salesforce/wikitext", "wikitext-103-raw-v1"),
        "wikipedia": ("wikimedia/wikipedia", "20231101.en"),
    }
)
"""Short names of data sets on the hub, with the config they stand for."""

_DRAWN: Final = Catalogue[Corpus]("corpus", {"synthetic": SyntheticLanguage}, TrainingError)
_ENDINGS: Final = (".txt", ".txt.xz", ".txt.gz")
_LONGEST: Final = 1 << 20
"""Bytes of a line that are held at once."""


@final
@dataclass(frozen=True)
class TextFiles(Corpus):
    """Files of text, and folders of *.txt, *.txt.xz and *.txt.gz."""

    places: tuple[Path, ...]

    def __post_init__(self) -> None:
        if not self.places:
            raise TrainingError("a corpus must have at least one file; got none. Give a path.")
        # Checked now, not at the first line: a wrong path should fail before training starts.
        self.files()

    @property
    def name(self) -> str:
        """The names of the files and folders."""
        return ", ".join(place.name for place in self.places)

    @property
    def source(self) -> str:
        """Their paths."""
        return ", ".join(str(place) for place in self.places)

    def files(self) -> tuple[Path, ...]:
        """Every file, those of a folder in the order of their paths."""
        return tuple(file for place in self.places for file in _files(place))

    def lines(self) -> Iterator[str]:
        """File by file."""
        empty = True
        for file in self.files():
            for _, line in read_lines(file, _LONGEST):
                if stripped := line.strip():
                    empty = False
                    yield stripped
        if empty:
            raise TrainingError(f"a corpus must have words; {self.name} has none. Give another file.")

    def digest(self) -> str:
        """The digest of the stored bytes, and of how they are packed."""
        whole = hashlib.sha256()
        for file in self.files():
            with file.open("rb") as opened:
                whole.update(f"{file.suffix} {hashlib.file_digest(opened, 'sha256').hexdigest()}\n".encode())
        return whole.hexdigest()


def _files(place: Path) -> list[Path]:
    if not place.is_dir():
        return [existing(place)]
    found = sorted(file for file in place.rglob("*") if file.name.endswith(_ENDINGS) and file.is_file())
    if not found:
        raise TrainingError(
            f"the folder {place} must hold text files (*{', *'.join(_ENDINGS)}); it holds none. Rename them, or give"
            " a file."
        )
    return found


def open_corpus(source: str | Path | None = None) -> Corpus:
    """The corpus that a source names.

    >>> open_corpus("synthetic:sentences=500,seed=1")
    SyntheticLanguage(sentences=500, seed=1)
    >>> open_corpus("hub:wikitext?split=test").name
    'Salesforce/wikitext:wikitext-103-raw-v1:test'

    Args:
        source: a file or folder; "hub:owner/name?config=…&split=…&column=…", of which only the name is needed, or
            "hub:wikitext", "hub:wikipedia"; "synthetic" or "synthetic:sentences=…,seed=…"; None is "synthetic".

    Returns:
        The corpus; the hub is contacted only when lines are read.
    """
    if source is None:
        return SyntheticLanguage()
    if not str(source):  # as a path it would be the folder in which the command runs
        raise TrainingError(
            "a corpus must be a path, hub:NAME or synthetic; got an empty name. Leave it out, or name one."
        )
    kind, sign, rest = str(source).partition(":")
    if kind in _DRAWN:
        return _DRAWN.parse(str(source))
    if kind == "hub" and sign:
        return _hub(rest)
    return TextFiles((Path(source),))


def _hub(rest: str) -> HubText:
    name, options = split_source(rest)
    allow_options(f"hub:{name}", options, ("config", "split", "column"))
    if not name:
        raise TrainingError("hub: must be followed by the name of a data set; got nothing. Example: hub:wikitext.")
    dataset, config = ALIASES.get(name, (name, None))
    return HubText(dataset, options.get("config", config), options.get("split", "train"), options.get("column"))
