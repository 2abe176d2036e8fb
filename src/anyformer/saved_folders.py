"""Folders as `save_pretrained` writes them. They may come from anyone: each is inspected before a library reads it.

Nothing in them may name code or a file outside, nothing may be pickled, and no JSON key may occur twice.
"""

import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from anyformer import strict_json
from anyformer.errors import FolderError, raised, words_of

CONFIG: Final = "config.json"
INDEX: Final = "model.safetensors.index.json"
WEIGHTS: Final = "model.safetensors"
TOKENIZER: Final = "tokenizer_config.json"
_READ: Final = (
    *(CONFIG, INDEX, TOKENIZER, "tokenizer.json", "vocab.json"),
    *("special_tokens_map.json", "added_tokens.json", "generation_config.json"),
)
"""The JSON files that the libraries read."""
_REFUSED: Final = {
    "auto_map": "code, and nothing in a folder is ever run",
    "custom_pipelines": "code, and nothing in a folder is ever run",
    "attn_implementation": "code on the hub, and nothing of it is ever run",
    "_attn_implementation": "code on the hub, and nothing of it is ever run",
    "transformers_weights": "other weights than those by their usual name",
}
"""Keys with which a folder can make the libraries import code, or read files that were not inspected."""
_ELSEWHERE: Final = ("adapter_config.json",)
"""Files with which a folder can make the libraries load another model."""
_PICKLED: Final = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
_OWN: Final = {"tokenizer_file": "tokenizer.json", "vocab_file": "vocab.txt"}
"""Paths in tokenizer_config.json are left over from training; they are used only if the folder lacks its own file."""


@dataclass(frozen=True)
class SavedModel:
    """What a model's folder says about itself, before any weights are loaded."""

    config: Mapping[str, Any]
    shapes: Mapping[str, tuple[int, ...]]
    """The shapes of the tensors in its safetensors files, by name."""

    @property
    def weights(self) -> int:
        """How many numbers there are."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    @property
    def layers(self) -> int:
        """How many layers the names of the tensors imply."""
        found = (re.search(r"encoder\.layer\.([0-9]{1,9})\.", name) for name in self.shapes)
        return 1 + max((int(match[1]) for match in found if match), default=-1)


def require_plain(folder: Path) -> None:
    """Refuse a folder that would make a library run code or read other places.

    Raises:
        FolderError: with the file and the key at fault.
    """
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                _require_inside(folder, entry.name)
        told = {name: _told(folder, name) for name in _READ if (folder / name).exists()}
    except OSError as error:
        raise FolderError(f"{folder} must be a folder that can be read; {words_of(error)}. Check the path.") from error
    for name in _ELSEWHERE:
        if (folder / name).exists():
            raise FolderError(f"{folder} must be a whole model; its {name} names another. Merge them first.")
    for name, data in told.items():
        _require_harmless(folder / name, data)
    _require_own_files(folder, told.get(TOKENIZER, {}))
    if INDEX in told:
        for shard in _shards(folder, told[INDEX]):
            _require_own_file(folder, INDEX, shard)


def read_saved_model(folder: Path) -> SavedModel:
    """A model's config and the shapes of its weights; the folder is plain, and its weights are not pickled."""
    if not os.path.lexists(folder / CONFIG):
        raise FolderError(
            f"a model must be a folder with {CONFIG}, as pretrain leaves in OUTPUT/model; {folder} has none."
        )
    require_plain(folder)
    files = [WEIGHTS] if (folder / WEIGHTS).exists() else []
    if not files and (folder / INDEX).exists():
        files = sorted(set(_shards(folder, _told(folder, INDEX))))
    if not files:
        pickled = sorted(path.name for path in folder.iterdir() if path.suffix in _PICKLED)
        there = f"{pickled[0]} is pickled, and to read it is to run it" if pickled else "there are none"
        raise FolderError(
            f"a model's weights must be safetensors; in {folder} {there}. Save the model again by"
            " save_pretrained, where you trust it."
        )
    shapes = {name: shape for file in files for name, shape in _shapes(folder / file)}
    return SavedModel(_told(folder, CONFIG), shapes)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the progress bars of `transformers` and its notes on new heads, which are expected."""
    from transformers.utils import logging

    level, has_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if has_bars:
            logging.enable_progress_bar()


def in_a_line(error: BaseException) -> str:
    """The message of a library, which may have many lines, as one line."""
    return " ".join(f"{raised(error)}".split())


def _told(folder: Path, name: str) -> dict[str, Any]:
    try:
        data = strict_json.read(folder / name)
    except ValueError as error:
        raise FolderError(f"{folder / name} must be JSON; got {words_of(error)}. Get the file again.") from error
    if not isinstance(data, dict):
        raise FolderError(f"{folder / name} must be a JSON object; got a {type(data).__name__}. Get the file again.")
    return data


def _require_inside(folder: Path, name: str) -> None:
    place = folder / name
    if not place.resolve().is_relative_to(folder.resolve()):
        raise FolderError(
            f"a folder must hold its files itself; {place} is a link to {place.resolve()}. Copy the file (cp -L)."
        )
    kind = place.stat().st_mode
    if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):  # reading a pipe or a device may never end
        raise FolderError(f"a folder must hold files; {place} is none. Remove it.")


def _require_harmless(place: Path, data: Mapping[str, Any]) -> None:
    for key, what in _REFUSED.items():
        if data.get(key) is not None:
            raise FolderError(
                f"{place} must not name {what}; it has the key {key}. Remove it if the model does without, or give"
                " another model."
            )


def _require_own_files(folder: Path, tokenizer: Mapping[str, Any]) -> None:
    versions = tokenizer.get("fast_tokenizer_files")
    for name in versions if isinstance(versions, list) else []:
        _require_own_file(folder, TOKENIZER, name)
    for key, own in _OWN.items():
        if isinstance(tokenizer.get(key), str) and not (folder / own).exists():
            _require_own_file(folder, TOKENIZER, tokenizer[key])


def _shards(folder: Path, index: Mapping[str, Any]) -> list[Any]:
    """The files that an index names, as it names them."""
    names = index.get("weight_map")
    if not isinstance(names, dict):
        raise FolderError(f"{folder / INDEX} must have a weight_map, an object; got none. Get the file again.")
    return list(names.values())


def _require_own_file(folder: Path, where: str, name: object) -> None:
    """A plain name of a file that is there."""
    if not isinstance(name, str) or name in ("", ".", "..") or re.search(r"[/\\:\0]", name):
        raise FolderError(
            f"{folder / where} must name files of its own folder; got {str(name)[:200]!r}. Name a file beside it."
        )
    if not (folder / name).is_file():
        raise FolderError(f"{folder / where} must name files that are there; {name[:200]!r} is not. Get the file.")


def _shapes(file: Path) -> list[tuple[str, tuple[int, ...]]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, "numpy") as opened:
            return [(name, tuple(opened.get_slice(name).get_shape())) for name in opened.keys()]  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, OverflowError) as error:
        raise FolderError(
            f"{file} must be a whole safetensors file; got {words_of(error)}. Get the file again."
        ) from error
