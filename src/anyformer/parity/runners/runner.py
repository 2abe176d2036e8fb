"""A runtime that can run a network, as a value."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from anyformer.arrays import Array
from anyformer.certificates.claims.certificate import Certificate
from anyformer.networks.network import Network

Run = Callable[[Array], Array]
"""Outputs for sequences (batch, tokens, width), both float64 arrays; computed in the network's own type."""


@dataclass(frozen=True, eq=False)
class Cast:
    """A network in some type, with the certificate of the model that it comes from: not a claim about this network."""

    network: Network
    certificate: Certificate


class Runner(ABC):
    """One runtime. A new one is one file here and a line in the catalogue."""

    name: ClassVar[str]

    @abstractmethod
    def prepare(self, model: Cast) -> Run:
        """The network, ready to run in its own type.

        Raises:
            MissingPackageError: the runtime is not installed.
            AnyformerError: the runtime cannot run this network, with the reason.
        """
