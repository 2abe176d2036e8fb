"""A table as a source of labels."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from anyformer.arrays import as_sequences
from anyformer.certificates.bounds.cells import Grid
from anyformer.labels.label import Label
from anyformer.labels.place import Place
from anyformer.labels.source import Source
from anyformer.labels.tables.labels import head_label, table_labels, unit_label
from anyformer.labels.tables.values import TableValues
from anyformer.networks.network import Network
from anyformer.targets.target import Target


@dataclass(frozen=True, eq=False)
class TableSource(Source):
    """The weights, the cells that the certificate names, and the target if it is known."""

    network: Network
    grid: Grid
    target: Target | None

    def labels(self) -> tuple[Label, ...]:
        """Every label, by stage."""
        return tuple(table_labels(self.network))

    def outputs(self) -> tuple[str, ...]:
        """A table has no formula."""
        return ()

    def single(self, label: Label, place: Place) -> Label:
        """One head or unit of many; channels and stages are said already."""
        if label.kind == "head":
            return head_label(self.network, place)
        return unit_label(self.network, place) if label.kind == "unit" else label

    def values(self, x: ArrayLike) -> TableValues:
        """Cells, codes and streams."""
        given = np.asarray(x)
        batch = given[None] if given.ndim == 2 else given
        sequences = as_sequences(batch, self.network.tokens, self.network.width)
        return TableValues(self.network, self.grid, self.target, self.network.dtype.rounded(sequences))
