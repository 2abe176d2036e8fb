"""model.safetensors: the numbers of a network, each array checked against the config before it is loaded."""

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from anyformer.arrays import Array
from anyformer.errors import ModelFileError, NetworkError, words_of
from anyformer.exports.config import Config, Shape, StageEntry, tensor_name
from anyformer.exports.config_fields import KINDS
from anyformer.networks.dtypes import DType
from anyformer.networks.layers import AttentionStage, BlockShape, Stage
from anyformer.networks.network import EMBEDDING, POSITIONS, Network
from anyformer.networks.probability_maps import ProbabilityMap

# The length of the header comes first, in so many bytes.
HEADER_SIZE_BYTES = 8
# The library writes longer headers than this, but never reads them.
MAX_HEADER_BYTES = 100_000_000


def tensor_bytes(network: Network) -> bytes:
    """The content of model.safetensors."""
    # The library writes memory as it lies, so an array in Fortran order would come back scrambled.
    stored = np.dtype(network.dtype.stored_as)
    data = save({name: np.ascontiguousarray(array, dtype=stored) for name, array in network.arrays().items()})
    header = int.from_bytes(data[:HEADER_SIZE_BYTES], "little")
    if header > MAX_HEADER_BYTES:
        raise ModelFileError(
            f"a model's list of tensors must fit {MAX_HEADER_BYTES} bytes; {len(network.stages)} stages take {header}. "
            f"Merge neighbouring stages of one kind."
        )
    return data


def read_network(path: Path, config: Config) -> Network:
    """Read the arrays that the config describes, and no others."""
    tensors = _read_tensors(path, config.shapes(), config.dtype_value)
    try:
        return assembled(config, tensors)
    except NetworkError as error:
        raise ModelFileError(f"{path}: {error}") from error


def assembled(config: Config, tensors: Mapping[str, Array]) -> Network:
    """The network that a config and the arrays by their names describe."""
    W_E, W_R, b_R = (tensors.get(name) for name in EMBEDDING)
    return Network(
        config.tokens,
        config.width,
        BlockShape(config.heads, config.head_size, config.hidden_size),
        tuple(_stage(k, entry, tensors, config.map_value) for k, entry in enumerate(config.stages)),
        tensors.get(POSITIONS),
        config.pattern,
        W_E,
        W_R,
        b_R,
        config.dtype_value,
    )


def _stage(k: int, entry: StageEntry, tensors: Mapping[str, Any], probability_map: ProbabilityMap) -> Stage:
    kind = KINDS[entry.kind]
    made = kind(entry.name, **{name: tensors[tensor_name(k, name)] for name in kind.AXES}, role=entry.role)
    return replace(made, probability_map=probability_map) if isinstance(made, AttentionStage) else made


def _read_tensors(path: Path, shapes: Mapping[str, Shape], dtype: DType) -> dict[str, Array]:
    _check_size(path, shapes, np.dtype(dtype.stored_as).itemsize)
    try:
        with safe_open(path, framework="numpy") as file:
            _check_names(path, set(file.keys()), shapes)
            for name, shape in shapes.items():
                _check_header(path, name, file.get_slice(name), shape, dtype)
            return {name: _finite(path, name, file.get_tensor(name).astype(np.float64)) for name in shapes}
    except (SafetensorError, OSError, ValueError, OverflowError, MemoryError) as error:
        raise ModelFileError(
            f"{path} must be a whole safetensors file; got {words_of(error)}. Restore the file or save the model again."
        ) from error


def _check_size(path: Path, shapes: Mapping[str, Shape], itemsize: int) -> None:
    needed = itemsize * sum(math.prod(shape) for shape in shapes.values())
    # Opened here, for the library reports a file that may not be read as one that is not there.
    with open(path, "rb") as file:
        there = os.fstat(file.fileno()).st_size
    if needed > there:
        raise ModelFileError(
            f"{path} must hold the {needed} bytes of tensors that config.json describes; it has {there} bytes. "
            f"Restore the files or save the model again."
        )


def _check_names(path: Path, there: set[str], shapes: Mapping[str, Shape]) -> None:
    missing, extra = [name for name in shapes if name not in there], sorted(there - set(shapes))
    if missing:
        raise ModelFileError(f"{path} must hold the tensor {missing[0]}, which config.json describes; it is missing.")
    if extra:
        raise ModelFileError(f"{path} must hold no tensor that config.json does not describe; got {extra[0]!r}.")


def _check_header(path: Path, name: str, header: Any, shape: Shape, dtype: DType) -> None:
    stored, got = header.get_dtype(), tuple(header.get_shape())
    wanted = f"F{8 * np.dtype(dtype.stored_as).itemsize}"
    if stored != wanted:
        raise ModelFileError(
            f"{path}: {name} must have dtype {dtype.stored_as} ({wanted}), by config.json; got {stored}. "
            f"Save the model again."
        )
    if got != shape:
        raise ModelFileError(
            f"{path}: {name} must have shape {shape}, by config.json; got {got}. Save the model again."
        )


def _finite(path: Path, name: str, array: Array) -> Array:
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.unravel_index(finite.argmin(), array.shape))
        raise ModelFileError(f"{path}: {name} must be finite; got {array[where]} at index {where}.")
    return array
