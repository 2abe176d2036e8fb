"""What a corpus is: lines of text that can be read again, and a name and digest to know it by."""

from abc import ABC, abstractmethod
from collections.abc import Iterator


class Corpus(ABC):
    """Text, one paragraph or sentence a line."""

    @property
    @abstractmethod
    def name(self) -> str:
        """How reports call it."""

    @abstractmethod
    def lines(self) -> Iterator[str]:
        """Stripped and never empty; each call starts anew and gives the same, holding few lines in memory."""

    @abstractmethod
    def digest(self) -> str:
        """The sha256 of what decides the lines: equal digests, equal lines."""
