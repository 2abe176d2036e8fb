"""Texts with all that stands beside them: labels where there are any, and further columns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self, final

from anyformer.training.data.pairs import Pairs

Label = str | float | None
"""A class, a number, or None where a row has no label."""


@final
@dataclass(frozen=True)
class Table:
    """Texts to predict for; every column has one entry a row."""

    ids: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...] | None
    """None: the task is about single texts."""
    labels: tuple[Label, ...]
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.first)

    @classmethod
    def of(cls, pairs: Pairs) -> Self:
        """Pairs with their places as ids, and their labels by name."""
        labels = tuple(pairs.names[place] for place in pairs.labels) if pairs.names else pairs.labels
        return cls(tuple(map(str, range(len(pairs)))), pairs.first, pairs.second, labels)
