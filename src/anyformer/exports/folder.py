"""A model as a folder: config.json, model.safetensors and certificate.json. Plain data, never code."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from anyformer.certificates.claims.certificate import Certificate, certificate_from_json
from anyformer.errors import ModelFileError, words_of
from anyformer.exports.config import Config, config_from_json
from anyformer.exports.layout import CERTIFICATE, CONFIG, FILES, PARTIAL, TENSORS
from anyformer.exports.placing import leftovers, place
from anyformer.exports.tensors import read_network, tensor_bytes
from anyformer.networks.network import Network
from anyformer.strict_json import MAX_BYTES

# A model that is replaced while it is read is read again, so many times in all.
ATTEMPTS = 5


def save_folder(folder: Path, network: Network, certificate: Certificate, overwrite: bool = False) -> Path:
    """Write a softmax/ReLU network and its certificate, all or nothing.

    Args:
        folder: where; it must not exist, be empty, or (with overwrite) be a model folder. Missing parents are made.
        network: what to save; a network that could not be loaded again is refused.
        certificate: what is claimed about it; only the checker decides whether it is true.
        overwrite: replace the model that is there.

    Returns:
        The folder.
    """
    try:
        target = _absolute(folder)
        _check_name(target)
        place(target, _contents(network, certificate), overwrite)
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelFileError(
            f"could not save a model to {folder}: {words_of(error)}. Fix the cause and save again."
        ) from error
    return folder


def load_folder(folder: Path) -> tuple[Network, Certificate]:
    """Read a model folder; whatever is wrong with it is reported by file and field.

    Args:
        folder: what `save_folder` wrote.

    Returns:
        The network and its certificate, which is read but not trusted: the checker proves it again.
    """
    try:
        for _ in range(ATTEMPTS):
            before = _identity(folder)
            try:
                model = _read(folder)
            except ModelFileError:
                if _identity(folder) == before:
                    raise
            else:
                if _identity(folder) == before:
                    return model
    except OSError as error:
        raise ModelFileError(
            f"could not read the model in {folder}: {words_of(error)}. Fix the cause and load again."
        ) from error
    raise ModelFileError(f"{folder} must stay the same while it is read; it is being replaced. Load it again later.")


def _contents(network: Network, certificate: Certificate) -> dict[str, bytes]:
    if not network.is_soft:
        raise ModelFileError(
            "only networks of softmax and ReLU can be saved; this one has a hardmax or a piecewise linear activation. "
            "Save the soft network that was built from it."
        )
    config = Config.of(network)
    check_agreement("the certificate", certificate, config)
    described = _json_bytes(CONFIG, config.to_json())
    # Checked by the reader's rules, so that a saved model can be loaded.
    config_from_json(described.decode(), Path(CONFIG))
    contents = {
        TENSORS: tensor_bytes(network),
        CERTIFICATE: _json_bytes(CERTIFICATE, _claims(certificate)),
        CONFIG: described,
    }
    return {name: contents[name] for name in FILES}


def _claims(certificate: Certificate) -> dict[str, Any]:
    try:
        return certificate.to_json()
    except (AttributeError, KeyError, TypeError) as error:
        raise ModelFileError(f"the certificate must have all its terms, as floats; got {error!r}.") from error


def _json_bytes(name: str, data: Mapping[str, Any]) -> bytes:
    try:
        # ASCII with escapes, for a stage's name may hold what UTF-8 cannot; and no NaN, which is not JSON.
        content = (json.dumps(data, indent=2, allow_nan=False) + "\n").encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{name} must consist of plain numbers, texts, lists and objects; got {words_of(error)}."
        ) from error
    if len(content) > MAX_BYTES:
        raise ModelFileError(f"{name} must have at most {MAX_BYTES} bytes; it would have {len(content)}.")
    return content


def _absolute(folder: Path) -> Path:
    """The absolute path with its parents resolved; if the folder itself is a link, that stays visible."""
    return folder.resolve() if folder.name in ("", "..") else folder.parent.resolve() / folder.name


def _check_name(folder: Path) -> None:
    if PARTIAL in folder.name:
        raise ModelFileError(
            f"a model's folder must not have {PARTIAL!r} in its name, which marks saves that were not finished; "
            f"got {folder}. Choose another name, or another folder."
        )


def _read(folder: Path) -> tuple[Network, Certificate]:
    _check_folder(folder)
    config = config_from_json(_read_text(folder / CONFIG), folder / CONFIG)
    certificate = read_certificate(folder / CERTIFICATE)
    check_agreement(str(folder / CERTIFICATE), certificate, config)
    return read_network(folder / TENSORS, config), certificate


def _identity(folder: Path) -> tuple[int, int, int] | None:
    """Changes when another folder takes this one's place: then what was read may be a mixture of two models."""
    try:
        state = os.stat(folder)
    except (OSError, ValueError):
        return None
    return state.st_dev, state.st_ino, state.st_mtime_ns


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise ModelFileError(f"{folder} must be a model's folder; {_what_instead(folder)}")
    _check_name(_absolute(folder))
    _check_name(folder.resolve())
    for name in FILES:
        # No pipes or devices, which might never end.
        if not (folder / name).is_file():
            raise ModelFileError(
                f"{folder} must hold the files {', '.join(FILES)}; {name} is missing or not a file. "
                f"Restore it or save the model again."
            )


def _what_instead(folder: Path) -> str:
    if folder.exists():
        return "it is a file. Name the folder that the file is in."
    beside = leftovers(_absolute(folder)) if folder.parent.is_dir() else []
    if not beside:
        return "there is none. Check the path."
    return (
        f"there is none, but a save that was interrupted has left {beside[0].name} beside it. "
        f"Save the model again; or, if all of {', '.join(FILES)} are in there, give that folder the model's name."
    )


def _read_text(path: Path) -> str:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ModelFileError(f"{path} must have at most {MAX_BYTES} bytes; it has {size}. Save the model again.")
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{path} must be JSON in UTF-8; got {words_of(error)}. Save the model again.") from error


def read_certificate(path: Path) -> Certificate:
    """A certificate as it stands in a file, which may come from anywhere."""
    text = _read_text(path)
    try:
        return certificate_from_json(text)
    # The file may come from anywhere: every error that it causes in the reader is a fault of the file.
    except Exception as error:
        raise ModelFileError(f"{path}: {error}") from error


def check_agreement(source: str, certificate: Certificate, config: Config) -> None:
    """Raise unless a certificate speaks of sequences of this size."""
    for field, claimed, actual in (
        ("tokens", certificate.target.tokens, config.tokens),
        ("width", certificate.target.width, config.width),
    ):
        if claimed != actual:
            raise ModelFileError(
                f"{source}: target.{field} must be {actual}, as in the network's config; got {claimed}. "
                f"Keep a certificate with the network it was made for."
            )
