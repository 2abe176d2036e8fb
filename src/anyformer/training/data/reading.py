"""Files, plain or compressed by xz or gzip, which is told by their first bytes: every error names file and line."""

import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from anyformer.errors import TrainingError, words_of

LONGEST: Final = 1 << 28
"""The most bytes of a line, or of a word where lines are cut: a small archive can hold a line larger than memory."""
LARGEST: Final = 1 << 33
"""The most bytes of a file that is read as a whole."""
_MAGIC: Final = {".xz": b"\xfd7zXZ\x00", ".gz": b"\x1f\x8b"}
"""The first bytes of archives."""


def read_lines(place: Path, longest: int = -1) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers from 1, without line ends.

    Args:
        place: a UTF-8 file; .xz and .gz are unpacked on the way.
        longest: bytes after which a line is cut at a space, since some corpora are a single line; -1 cuts none, and
            refuses lines above LONGEST.

    Returns:
        Pairs of line number and text; the pieces of a cut line share its number.
    """
    with _unpacked(place) as file:
        number, rest = 1, b""
        # A byte-order mark belongs to the file, not to its first word.
        encoding = "utf-8-sig"
        while piece := file.readline(longest if longest >= 0 else LONGEST + 1):
            piece, ended = rest + piece, piece.endswith(b"\n")
            if len(piece) > LONGEST:
                raise TrainingError(
                    f"{place} must have lines and words of at most {LONGEST} bytes; line {number} has more. Cut it."
                )
            cut = len(piece) if ended or longest < 0 or len(piece) < longest else piece.rfind(b" ") + 1
            # A "word" longer than a piece is read to its end: cutting it could cut a character.
            whole, rest = piece[:cut], piece[cut:]
            if whole:
                yield number, _decoded(place, number, whole, encoding).rstrip("\r\n")
                encoding = "utf-8"
            number += ended
        if rest:
            yield number, _decoded(place, number, rest, encoding)


def read_text(place: Path) -> str:
    """The whole file."""
    return "\n".join(line for _, line in read_lines(place))


def read_head(place: Path, size: int = 4096) -> bytes:
    """The first bytes of a file, unpacked."""
    with _unpacked(place) as file:
        return file.read(size)


def read_bytes(place: Path) -> bytes:
    """The whole of a binary file, unpacked."""
    with _unpacked(place) as file:
        raw = file.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise TrainingError(f"{place} must have at most {LARGEST} bytes; it has more. Cut it into several files.")
    return raw


def existing(place: Path) -> Path:
    """The place of a file that is there."""
    if not place.is_file():
        found = "it is a folder" if place.is_dir() else "there is nothing"
        raise TrainingError(f"{place} must be a file; {found}. Check the path.")
    return place


@contextmanager
def _unpacked(place: Path) -> Iterator[BinaryIO]:
    openers: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".gz": gzip.open}
    packed_as = _packed_as(existing(place))
    with openers.get(packed_as, open)(place, "rb") as file:
        try:
            yield file
        except (lzma.LZMAError, gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise TrainingError(
                f"{place} must be a whole {packed_as} archive; it is damaged ({words_of(error)}). Get it again."
            ) from error


def _packed_as(place: Path) -> str:
    """By the first bytes: an archive may have lost its ending. An ending without an archive is a damaged one."""
    with place.open("rb") as file:
        start = file.read(max(map(len, _MAGIC.values())))
    return next((ending for ending, magic in _MAGIC.items() if start.startswith(magic)), place.suffix)


def _decoded(place: Path, number: int, raw: bytes, encoding: str) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise TrainingError(
            f"{place} must be UTF-8; line {number} is not, from its byte {error.start + 1} on. Convert the file"
            " (iconv -t UTF-8), or remove it."
        ) from error
