"""The vectors of every layer at every place, from a model that is run on batches of sequences of one length.

No sequence is padded, so no model can be disturbed by padding. Where the vectors are many, they are kept in files.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from anyformer.arrays import Integers
from anyformer.contextuality.places import Places
from anyformer.contextuality.sequences import Sequences
from anyformer.errors import ContextualityError
from anyformer.targets.target import Symmetry
from anyformer.workers import Progress

IN_MEMORY: Final = 1 << 28
"""Bytes of vectors of all layers; more are kept in files."""
SAMPLE: Final = 16
"""Sequences that are run again to see what rounding does."""


@dataclass(frozen=True, eq=False)
class Layered:
    """A model as it is measured: from a batch of equally long sequences to the vectors of each layer."""

    name: str
    run: Callable[[NDArray[Any]], Sequence[NDArray[Any]]]
    """(batch, tokens) numbers or (batch, tokens, width) vectors → for each layer (batch, tokens, its width)."""
    names: tuple[str, ...] | None = None
    """Of the layers; their numbers where they have none."""
    symmetry: Symmetry = Symmetry.NONE
    tokenizer: Any | None = None
    longest: int | None = None
    """The most tokens that it takes."""
    is_exact: bool = False
    """Whether its bits depend on nothing but the sequence: neither on its batch nor on the order of sums."""
    own_sequences: Callable[[], Sequences] | None = None
    """What it is measured on if nothing is given."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """The vectors of all layers, (places, width) each, and how far rounding moves them."""

    vectors: tuple[NDArray[Any], ...]
    names: tuple[str, ...]
    rounding: tuple[float, ...]
    """How far rounding may move a vector, layer by layer: as measured, and at least what a sum of its width loses."""


def run_checked(model: Layered, sequences: Sequences, rows: Integers) -> list[NDArray[Any]]:
    """The vectors of each layer for (batch, tokens) numbers.

    Raises:
        ContextualityError: if a layer has another number of tokens, or vectors that are not finite.
    """
    layers = [np.asarray(layer) for layer in model.run(sequences.inputs(rows))]
    if not layers:
        raise ContextualityError("a model must have at least one layer; it gave none. Name the layers to be measured.")
    names = layer_names(model, len(layers))
    for name, layer in zip(names, layers, strict=True):
        if layer.ndim != 3 or layer.shape[:2] != rows.shape:
            raise ContextualityError(
                f"every layer must have a vector for every token, (batch, tokens, width) = ({rows.shape[0]}, "
                f"{rows.shape[1]}, …); {name} has {layer.shape}. Measure only layers that keep the tokens."
            )
        if layer.dtype.kind != "f":
            raise ContextualityError(f"every layer must have real numbers; {name} has {layer.dtype}. Convert them.")
    return layers


def layer_names(model: Layered, count: int) -> tuple[str, ...]:
    """As the model names them, or by their numbers."""
    if model.names is not None and len(model.names) == count:
        return model.names
    return tuple(f"layer {k}" for k in range(count))


@contextmanager
def recorded(
    model: Layered, sequences: Sequences, places: Places, batch_tokens: int, progress: Progress | None
) -> Iterator[Recorded]:
    """Run the model on all sequences; the files are removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="anyformer-") as folder:
        stored: list[NDArray[Any]] = []
        done = 0
        batches = list(_batches(places, batch_tokens))
        for numbers in batches:
            rows = np.stack([sequences.rows[number] for number in numbers])
            layers = run_checked(model, sequences, rows)
            if not stored:
                stored = _room(Path(folder), layers, len(places))
            _require_alike(layers, stored)
            for layer, room in zip(layers, stored, strict=True):
                for number, vectors in zip(numbers, layer, strict=True):
                    room[places.of(number)] = vectors
            done += rows.size
            if progress is not None:
                progress(done, len(places))
        names = layer_names(model, len(stored))
        _require_finite(stored, names, places)
        yield Recorded(tuple(stored), names, _rounding(model, sequences, places, stored, batches))


def _batches(places: Places, batch_tokens: int) -> Iterator[Integers]:
    """Sequences of one length, so many that their tokens do not exceed the limit, at least one."""
    for length in np.unique(places.lengths):
        alike = np.flatnonzero(places.lengths == length)
        size = max(1, batch_tokens // int(length))
        yield from (alike[start : start + size] for start in range(0, len(alike), size))


def _room(folder: Path, layers: list[NDArray[Any]], count: int) -> list[NDArray[Any]]:
    """Arrays for all places: in memory if they are small together. Narrow types are kept in float32."""
    types = [np.float64 if layer.dtype.itemsize >= 8 else np.float32 for layer in layers]
    shapes = [(count, layer.shape[2]) for layer in layers]
    size = sum(np.dtype(kind).itemsize * rows * width for kind, (rows, width) in zip(types, shapes, strict=True))
    if size <= IN_MEMORY:
        return [np.empty(shape, dtype=kind) for kind, shape in zip(types, shapes, strict=True)]
    return [
        np.memmap(folder / f"{k}.bin", mode="w+", dtype=kind, shape=shape)
        for k, (kind, shape) in enumerate(zip(types, shapes, strict=True))
    ]


def _require_alike(layers: list[NDArray[Any]], stored: list[NDArray[Any]]) -> None:
    found, first = [layer.shape[2] for layer in layers], [room.shape[1] for room in stored]
    if found != first:
        raise ContextualityError(
            f"a model must have the same layers for every sequence; their widths were {first} and then {found}. "
            "Measure layers that do not depend on the length."
        )


def _require_finite(stored: list[NDArray[Any]], names: tuple[str, ...], places: Places) -> None:
    for vectors, name in zip(stored, names, strict=True):
        for start in range(0, len(vectors), 1 << 14):
            finite = np.isfinite(vectors[start : start + (1 << 14)]).all(axis=1)
            if not finite.all():
                sequence, position = places.place(start + int(finite.argmin()))
                raise ContextualityError(
                    f"vectors must be finite to be compared; those of {name} are not, first at position {position} of "
                    f"sequence {sequence}. Mend the model, or leave that sequence out."
                )


def _rounding(
    model: Layered, sequences: Sequences, places: Places, stored: list[NDArray[Any]], batches: list[Integers]
) -> tuple[float, ...]:
    """Some sequences again, each alone and as a batch of copies: sums may round differently, and nothing else differs.

    Where all bits agree, sums still depend on the length of a sequence. A sum of `width` terms loses about √width·u of
    its size, u the unit roundoff; less is not taken for a distance.
    """
    if model.is_exact:
        return (0.0,) * len(stored)
    largest = [_lost(vectors) for vectors in stored]
    chosen = [int(numbers[len(numbers) // 2]) for numbers in batches]
    for number in chosen[:: max(1, len(chosen) // SAMPLE)][:SAMPLE]:
        row = sequences.rows[number]
        for copies in (1, 3):
            again = run_checked(model, sequences, np.stack([row] * copies))
            for k, (layer, room) in enumerate(zip(again, stored, strict=True)):
                apart = layer.astype(np.float64) - room[places.of(number)]
                largest[k] = max(largest[k], float(np.sqrt((apart**2).sum(axis=2)).max()))
    return tuple(largest)


def _lost(vectors: NDArray[Any]) -> float:
    """√width·u times the length of the longest vector."""
    longest = max(
        float(np.einsum("ij,ij->i", part, part, dtype=np.float64).max())
        for part in (vectors[start : start + (1 << 14)] for start in range(0, len(vectors), 1 << 14))
    )
    return float(np.sqrt(vectors.shape[1] * longest) * np.finfo(vectors.dtype).eps / 2)
