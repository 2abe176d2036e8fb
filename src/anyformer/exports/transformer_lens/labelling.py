"""The labels of a model, where there are any."""

from anyformer.errors import CertificateError
from anyformer.exports.proved import Proved
from anyformer.labels import Labels, labels_of
from anyformer.networks.digest import digest
from anyformer.targets.target import Target


def labels_for(model: Proved, target: Target | None) -> Labels | None:
    """What every place computes; None if the certificate is not borne out by the weights, or its target not known."""
    if digest(model.network) != model.certificate.weights_digest:
        return None
    try:
        return labels_of(model, target)
    except CertificateError:
        return None
