"""A model in TransformerLens as a folder: config.json, model.safetensors, certificate.json, labels.json.

Plain data, never code.
"""

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from anyformer import strict_json
from anyformer.arrays import Array
from anyformer.atomic import atomic_folder
from anyformer.certificates.claims.certificate import Certificate, certificate_from_json
from anyformer.errors import LabelError, ModelFileError, words_of
from anyformer.exports.layout import CERTIFICATE, CONFIG, TENSORS
from anyformer.exports.proved import Proved
from anyformer.exports.transformer_lens.config import BridgeConfig, config_from_json, has_our_format
from anyformer.exports.transformer_lens.labelling import labels_for
from anyformer.exports.transformer_lens.lens import MOST_BLOCKS, Lens, booted, check_sizes
from anyformer.exports.transformer_lens.places import Hooks
from anyformer.exports.transformer_lens.weights import Sizes, check_fits, weights_of
from anyformer.labels import FILE as LABELS
from anyformer.labels import Labels, read_labels
from anyformer.networks.dtypes import DType
from anyformer.targets.target import Target

FILES = (TENSORS, CERTIFICATE, CONFIG)
# Only where there are labels.
ALL_FILES = (*FILES, LABELS)


def write(model: Proved, out: Path, *, overwrite: bool = False, target: Target | None = None) -> Path:
    """Write the bridge's weights, its sizes, the certificate and the labels to a folder, all or nothing.

    Args:
        model: anything with a network that TransformerLens can hold, and its certificate.
        out: where; it must not exist, be empty, or (with overwrite) be such a folder. Missing parents are made.
        overwrite: replace what is there.
        target: the function, for the labels, if the model neither holds it nor names a ready-made one.

    Returns:
        The folder, which `load_transformer_lens` reads.
    """
    check_fits(model.network)
    out = Path(out)
    try:
        _check_place(out, overwrite)
        contents, labels = _contents(model), labels_for(model, target)
        with atomic_folder(out) as folder:
            for name, content in contents.items():
                (folder / name).write_bytes(content)
            if labels is not None:
                labels.save(folder / LABELS)
    except (OSError, SafetensorError, ValueError) as error:
        raise ModelFileError(f"could not write {out}: {words_of(error)}. Fix the cause and export again.") from error
    return out


def load_transformer_lens(folder: str | Path, max_blocks: int = MOST_BLOCKS) -> Lens:
    """The model that `write` wrote. Its certificate is read and not proved again: that takes the model folder.

    Args:
        folder: what `write` wrote.
        max_blocks: refuse a deeper one.

    Raises:
        ModelFileError: if the folder is not what `write` writes; by file and field.
        ExportError: if it is deeper than `max_blocks`.
    """
    folder = Path(folder)
    try:
        for name in FILES:
            # No pipes or devices, which might never end.
            if not (folder / name).is_file():
                raise ModelFileError(
                    f"{folder} must be a folder with the files {', '.join(FILES)}; {name} is missing or not a file. "
                    f"Export the model again."
                )
        config = config_from_json(_json(folder / CONFIG), folder / CONFIG)
        check_sizes(config.sizes, max_blocks)
        certificate = _certificate(folder / CERTIFICATE, config.sizes)
        weights = _weights(folder / TENSORS, config.sizes, config.dtype)
        labels = _labels(folder / LABELS, config.sizes, certificate)
    except OSError as error:
        raise ModelFileError(f"could not read {folder}: {words_of(error)}. Fix the cause and load again.") from error
    sizes = config.sizes
    hooks = Hooks(config.blocks, sizes.n_heads, sizes.d_mlp, sizes.d_model)
    return Lens(booted(sizes, config.dtype, weights), sizes, config.dtype, hooks, certificate, labels)


def _contents(model: Proved) -> dict[str, bytes]:
    stored = np.dtype(model.network.dtype.stored_as)
    weights = {name: np.ascontiguousarray(array, stored) for name, array in weights_of(model.network).items()}
    return {
        TENSORS: save(weights, {"format": "pt", "weights_digest": model.certificate.weights_digest}),
        CERTIFICATE: _bytes(model.certificate.to_json()),
        CONFIG: _bytes(BridgeConfig.of(model.network).to_json()),
    }


def _bytes(data: dict[str, Any]) -> bytes:
    return (json.dumps(data, indent=2, allow_nan=False) + "\n").encode("ascii")


def _check_place(out: Path, overwrite: bool) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise ModelFileError(f"{out} must be a folder or not exist; it is something else. Choose another place.")
    if not out.exists() or not any(out.iterdir()):
        return
    foreign = sorted(entry.name for entry in os.scandir(out) if entry.name not in ALL_FILES or entry.is_dir())
    if foreign or not _is_ours(out / CONFIG):
        found = f"it also holds {foreign[0]!r}" if foreign else f"its {CONFIG} is missing or not ours"
        raise ModelFileError(
            f"{out} must be a new or empty folder, or an export to overwrite; {found}. Nothing was changed. "
            f"Choose another folder."
        )
    if not overwrite:
        raise ModelFileError(f"{out} must be a new or empty folder; it holds an export. Pass overwrite to replace it.")


def _is_ours(path: Path) -> bool:
    try:
        return path.is_file() and has_our_format(strict_json.read(path))
    except ValueError:
        return False


def _json(path: Path) -> Any:
    try:
        return strict_json.read(path)
    except ValueError as error:
        raise ModelFileError(f"{path} must be JSON: {words_of(error)}. Export the model again.") from error


def _certificate(path: Path, sizes: Sizes) -> Certificate:
    try:
        certificate = certificate_from_json(json.dumps(_json(path)))
    except ModelFileError:
        raise
    # The file may come from anywhere: every error that it causes in the reader is a fault of the file.
    except Exception as error:
        raise ModelFileError(f"{path}: {error}") from error
    claimed = certificate.target
    if (claimed.tokens, claimed.width) != (sizes.n_ctx, sizes.d_vocab):
        raise ModelFileError(
            f"{path} must speak of {sizes.n_ctx} tokens of width {sizes.d_vocab}, as config.json does; it speaks of "
            f"{claimed.tokens} of width {claimed.width}. Export the model again."
        )
    return certificate


def _labels(path: Path, sizes: Sizes, certificate: Certificate) -> Labels | None:
    """The labels that the file says, if there is one; they are not read off the weights again."""
    if not path.is_file():
        return None
    try:
        labels = read_labels(path)
    except LabelError as error:
        raise ModelFileError(f"{words_of(error)}. Export the model again.") from error
    wanted = (sizes.n_ctx, sizes.d_vocab, sizes.d_model, certificate.weights_digest)
    if (labels.tokens, labels.width, labels.stream_width, labels.weights_digest) != wanted:
        raise ModelFileError(f"{path} must be the labels of this model; it is of another. Export the model again.")
    return labels


def _weights(path: Path, sizes: Sizes, dtype: DType) -> dict[str, Array]:
    shapes, item = sizes.shapes(), np.dtype(dtype.stored_as).itemsize
    needed, there = item * sum(math.prod(shape) for shape in shapes.values()), path.stat().st_size
    if needed > there:
        raise ModelFileError(
            f"{path} must hold the {needed} bytes of tensors that config.json describes; it has {there} bytes. "
            f"Export the model again."
        )
    try:
        with safe_open(path, framework="numpy") as file:
            _check_names(path, set(file.keys()), set(shapes))
            for name, shape in shapes.items():
                header = file.get_slice(name)
                got = (header.get_dtype(), tuple(header.get_shape()))
                if got != (f"F{8 * item}", shape):
                    raise ModelFileError(
                        f"{path}: {name} must be F{8 * item} of shape {shape}, by config.json; got {got[0]} of shape "
                        f"{got[1]}. Export the model again."
                    )
            found = {name: file.get_tensor(name) for name in shapes}
    except (SafetensorError, ValueError, OverflowError, MemoryError) as error:
        raise ModelFileError(
            f"{path} must be a whole safetensors file; got {words_of(error)}. Export the model again."
        ) from error
    for name, array in found.items():
        if not np.isfinite(array).all():
            raise ModelFileError(f"{path}: {name} must be finite; it is not. Export the model again.")
    return found


def _check_names(path: Path, there: set[str], wanted: set[str]) -> None:
    if there != wanted:
        odd = min(there ^ wanted)
        raise ModelFileError(
            f"{path} must hold the tensors that config.json describes and no others; {odd[:100]!r} is "
            f"{'missing' if odd in wanted else 'too much'}. Export the model again."
        )
