"""Data sets by the `datasets` library: from the Hugging Face hub, or from a local folder."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

from anyformer.errors import TrainingError
from anyformer.extras import require
from anyformer.saved_folders import in_a_line
from anyformer.training.data.corpus import Corpus


def load_rows(dataset: str, config: str | None, split: str) -> Any:
    """A `datasets.Dataset`: a list of rows, mapped from disk."""
    datasets = require("datasets", extra="train", what=f"reading {dataset!r}")
    try:
        return datasets.load_dataset(dataset, config, split=split, trust_remote_code=False)
    except Exception as error:  # Several libraries raise their own exceptions here; for a user they all mean the same.
        chosen = f" (config {config!r}, split {split!r})" if config else f" (split {split!r})"
        raise TrainingError(
            f"{dataset!r}{chosen} must be a data set on the Hugging Face hub, where there is internet, or a local"
            f" folder; it could not be loaded: {in_a_line(error)}. Check the names and the connection,"
            " or give a text file."
        ) from error


@final
@dataclass(frozen=True)
class HubText(Corpus):
    """One column of text of a data set; each of its lines is a line."""

    dataset: str
    config: str | None = None
    split: str = "train"
    column: str | None = None
    """None: the column `text`, or else the only column of strings."""

    @property
    def name(self) -> str:
        """Data set, config and split."""
        return ":".join(part for part in (self.dataset, self.config, self.split) if part)

    def lines(self) -> Iterator[str]:
        """Row by row."""
        rows = load_rows(self.dataset, self.config, self.split)
        column, empty = self._column(rows), True
        for row in rows.select_columns([column]):
            for line in (row[column] or "").split("\n"):
                if stripped := line.strip():
                    empty = False
                    yield stripped
        if empty:
            raise TrainingError(f"{self.name} must have words in its column {column!r}; it has none. Choose another.")

    def digest(self) -> str:
        """The digest of the names and sizes: the fingerprint of `datasets` changes whenever its cache changes."""
        rows = load_rows(self.dataset, self.config, self.split)
        size = (rows.num_rows, rows.info.dataset_size, str(rows.info.version))
        decides = (self.dataset, self.config, self.split, self._column(rows), *size)
        return hashlib.sha256(repr(decides).encode()).hexdigest()

    def _column(self, rows: Any) -> str:
        strings = [name for name, kind in rows.features.items() if getattr(kind, "dtype", "") in _STRINGS]
        column = self.column
        if column is None and ("text" in strings or len(strings) == 1):
            column = "text" if "text" in strings else strings[0]
        if column is None or column not in strings:
            asked = "there is no `text`, and not one alone" if self.column is None else f"got {self.column!r}"
            raise TrainingError(
                f"the column of {self.name} must be one of {', '.join(strings) or 'none at all'}; {asked}."
                " Choose it by ?column=…"
            )
        return column


_STRINGS = ("string", "large_string")
