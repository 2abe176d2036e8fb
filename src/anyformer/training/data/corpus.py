"""What a corpus is: lines of text that can be read again, with a name and a digest."""

from abc import ABC, abstractmethod
from collections.abc import Iterator


class Corpus(ABC):
    """Text, one paragraph or sentence a line."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in reports."""

    @property
    def source(self) -> str:
        """Where it comes from, as it was given: a path, for example."""
        return self.name

    @abstractmethod
    def lines(self) -> Iterator[str]:
        """Stripped lines, never empty; each call gives the same lines from the start, with few in memory at a time."""

    @abstractmethod
    def digest(self) -> str:
        """The sha256 of what decides the lines: equal digests, equal lines."""
