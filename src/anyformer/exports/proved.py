"""What every export takes: a network and its certificate."""

from typing import Protocol

from anyformer.certificates.claims.certificate import Certificate
from anyformer.networks.network import Network


class Proved(Protocol):
    """A network with the certificate that speaks of it, such as a `Model`."""

    @property
    def network(self) -> Network:
        """The network."""
        ...

    @property
    def certificate(self) -> Certificate:
        """What is claimed of it."""
        ...
