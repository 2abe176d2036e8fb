"""Labels of a model: read off its weights, with what its certificate says of them."""

from typing import Protocol

from anyformer.certificates.claims.certificate import Certificate
from anyformer.errors import LabelError
from anyformer.labels.labels import Labels
from anyformer.labels.programs.facts import ProgramFacts
from anyformer.labels.programs.source import ProgramSource
from anyformer.labels.source import Source
from anyformer.labels.tables.source import TableSource
from anyformer.networks.digest import digest
from anyformer.networks.network import Network
from anyformer.targets.target import Target


class Labelled(Protocol):
    """Anything with weights and a certificate: a `Model`."""

    @property
    def network(self) -> Network:
        """The weights."""

    @property
    def certificate(self) -> Certificate:
        """What is claimed of them."""


def labels_of(model: Labelled, target: Target | None = None) -> Labels:
    """What every stage, head, channel and hidden unit computes.

    Args:
        model: a `Model`, or anything else with a network and its certificate.
        target: the function, if the model neither holds it nor names a ready-made one.

    Returns:
        The labels. `labels.values(x)` has the exact values beside the network's; `labels.save(path)` writes them.

    Raises:
        NotShown: the weights do not compute what the certificate's hints say.
        CertificateError: the target is a user's own function, and was not given.
    """
    known = target or getattr(model, "target", None)
    return labels_of_network(model.network, model.certificate, known)


def labels_of_network(network: Network, certificate: Certificate, target: Target | None = None) -> Labels:
    """The same for a network and its certificate."""
    source = _source(network, certificate, target)
    return Labels(
        certificate.target.name,
        network.tokens,
        network.width,
        network.stream_width,
        digest(network),
        source.labels(),
        source.outputs(),
        source,
    )


def _source(network: Network, certificate: Certificate, target: Target | None) -> Source:
    if certificate.grid is None:
        function = target or certificate.target.target()
        return ProgramSource(ProgramFacts.of(network, certificate, function), function)
    if network.has_embedding or len(certificate.grid.lows) != network.width:
        raise LabelError(
            f"a table's network must have no embedding, and its certificate's grid one row for each of the "
            f"{network.width} coordinates of a token; got {len(certificate.grid.lows)} rows. Keep a certificate with "
            f"the network it was made for."
        )
    ready = certificate.target.target() if target is None and certificate.target.is_ready_made else target
    return TableSource(network, certificate.grid, ready)
