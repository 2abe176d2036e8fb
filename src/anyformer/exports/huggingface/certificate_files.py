"""The certificate in a folder of Hugging Face: its file, its digest among the weights' metadata, and the card.

A certificate speaks of weights with one digest. Whatever happens to a folder or a model, it is carried along with those
weights only.
"""

import hashlib
import json
import shutil
import warnings
from pathlib import Path
from typing import Final

from safetensors import SafetensorError, safe_open

from anyformer import strict_json
from anyformer.atomic import atomic_file, write_text
from anyformer.certificates.claims.certificate import Certificate
from anyformer.errors import ModelFileError, UncertifiedWarning, words_of
from anyformer.exports.config import Config
from anyformer.exports.folder import check_agreement, read_certificate
from anyformer.exports.huggingface.card import MARK, model_card
from anyformer.exports.layout import CERTIFICATE
from anyformer.networks.digest import digest
from anyformer.networks.network import Network
from anyformer.saved_folders import WEIGHTS

CARD: Final = "README.md"
WEIGHTS_DIGEST: Final = "anyformer_weights_digest"
CERTIFICATE_DIGEST: Final = "anyformer_certificate_sha256"
"""The names of both digests among the metadata of the safetensors file."""
_SIZE_BYTES: Final = 8
"""The length of a safetensors header comes first, in so many bytes; what follows it is aligned to as many."""


def still_holds(certificate: Certificate | None, network: Network) -> Certificate | None:
    """The certificate if it speaks of this network; otherwise a warning, and nothing."""
    if certificate is None or certificate.weights_digest == digest(network):
        return certificate
    _warn("it was issued for other weights, which have changed since")
    return None


def add_certificate(folder: Path, network: Network, certificate: Certificate | None) -> None:
    """Complete what `transformers` has saved: certificate, metadata and card."""
    metadata = {WEIGHTS_DIGEST: digest(network)}
    place = folder / CERTIFICATE
    if certificate is None:
        place.unlink(missing_ok=True)  # one that was saved before speaks of other weights
    else:
        text = json.dumps(certificate.to_json(), indent=1, allow_nan=False) + "\n"
        write_text(place, text)
        metadata[CERTIFICATE_DIGEST] = hashlib.sha256(text.encode()).hexdigest()
    for weights in sorted(folder.glob("model*.safetensors")):
        _add_metadata(weights, metadata)
    card = folder / CARD
    if not card.exists() or MARK in card.read_text(errors="replace"):
        write_text(card, model_card(network, certificate))


def certificate_in(folder: Path, network: Network, structure: Config) -> Certificate | None:
    """The certificate in a folder, if it speaks of this network; otherwise a warning, if there was one, and nothing."""
    place, named = folder / CERTIFICATE, _metadata(folder / WEIGHTS).get(CERTIFICATE_DIGEST)
    if not place.exists():
        if named is not None:
            _warn(f"{CERTIFICATE}, which the weights were saved with, is missing from {folder}")
        return None
    certificate = read_certificate(place)
    check_agreement(str(place), certificate, structure)
    if certificate.weights_digest != digest(network):
        _warn(f"{place} was issued for other weights than those that were loaded")
        return None
    if named is not None and named != hashlib.sha256(place.read_bytes()).hexdigest():
        _warn(f"{place} is not the file that the weights were saved with")
        return None
    return certificate


def _warn(why: str) -> None:
    warnings.warn(
        f"the certificate is not carried along: {why}. Prove the model again.", UncertifiedWarning, stacklevel=4
    )


def _metadata(weights: Path) -> dict[str, str]:
    """The metadata of a safetensors file; none if the weights are in several files."""
    if not weights.exists():
        return {}
    try:
        with safe_open(weights, framework="numpy") as file:
            return file.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise ModelFileError(f"{weights} must be a whole safetensors file; got {words_of(error)}.") from error


def _add_metadata(weights: Path, more: dict[str, str]) -> None:
    """Write a safetensors file again with more metadata: `transformers` offers no way to give it any."""
    with open(weights, "rb") as old, atomic_file(weights) as new:
        header = strict_json.loads(old.read(int.from_bytes(old.read(_SIZE_BYTES), "little")).decode())
        header["__metadata__"] = {**header.get("__metadata__", {}), **more}
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % _SIZE_BYTES)
        new.write(len(text).to_bytes(_SIZE_BYTES, "little") + text)
        shutil.copyfileobj(old, new)
