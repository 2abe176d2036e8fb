"""What labels are read off: a network and what is known of it. Compiled networks and tables each have their own."""

from abc import ABC, abstractmethod

from numpy.typing import ArrayLike

from anyformer.labels.label import Label
from anyformer.labels.place import Place
from anyformer.labels.values import Values


class Source(ABC):
    """A network with its weights at hand."""

    @abstractmethod
    def labels(self) -> tuple[Label, ...]:
        """Every label, from the embedding to the last stage."""

    @abstractmethod
    def outputs(self) -> tuple[str, ...]:
        """The formula of every output coordinate, where there is one."""

    @abstractmethod
    def single(self, label: Label, place: Place) -> Label:
        """What a label of several places says of one of them."""

    @abstractmethod
    def values(self, x: ArrayLike) -> Values:
        """The values at every place for given inputs."""
