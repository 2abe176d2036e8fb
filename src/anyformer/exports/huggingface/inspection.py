"""A folder is inspected before `transformers` reads it: it may come from anyone."""

from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from anyformer.errors import AnyformerError, ModelFileError, raised
from anyformer.exports.config import Config
from anyformer.exports.huggingface.config import AnyformerConfig
from anyformer.saved_folders import CONFIG, WEIGHTS, SavedModel, read_saved_model

_ALSO: Final = ("model_type", "output_attentions")
"""What may stand in config.json besides the fields of the class."""


def inspect(folder: Path) -> Config:
    """Refuse a folder that names code or other places, or whose weights are not those of the network it describes.

    Returns:
        What it describes.

    Raises:
        ModelFileError: with the file and the field at fault.
    """
    if not folder.is_dir():
        raise ModelFileError(
            f"a model must be a folder, as save_pretrained writes it; {str(folder)!r} is none. Check the path; a model "
            f"on the hub is downloaded by: hf download NAME --local-dir FOLDER."
        )
    saved = read_saved_model(folder)
    structure = _structure(folder, saved.config)
    _check_weights(folder, saved, structure)
    return structure


def _structure(folder: Path, said: Any) -> Config:
    known = {field.name for field in fields(AnyformerConfig)} | set(_ALSO)
    for name in said:
        # What is unknown may make a library read other files, or compute something else.
        if name not in known:
            raise ModelFileError(f"{folder / CONFIG}: {name[:200]!r} must not be there. Remove it.")
    if said.get("model_type") != AnyformerConfig.model_type:
        got = str(said.get("model_type"))[:200]
        raise ModelFileError(
            f"{folder / CONFIG}: model_type must be {AnyformerConfig.model_type!r}; got {got!r}. "
            f"Load it with the class it was made with."
        )
    try:
        return AnyformerConfig.from_dict(dict(said)).structure
    except AnyformerError as error:
        raise ModelFileError(f"{folder}: {error}") from error
    # Each field is checked by `transformers`, which has errors of its own for them.
    except Exception as error:
        raise ModelFileError(f"{folder / CONFIG} must be as save_pretrained writes it; got {raised(error)}.") from error


def _check_weights(folder: Path, saved: SavedModel, structure: Config) -> None:
    wanted = structure.shapes()
    for name in sorted(saved.shapes.keys() | wanted.keys()):
        if saved.shapes.get(name) != wanted.get(name):
            raise ModelFileError(
                f"{folder / WEIGHTS}: {name[:200]!r} must have shape {wanted.get(name, 'none, for it is unknown')}, by "
                f"{CONFIG}; got {saved.shapes.get(name, 'none')}. Save the model again."
            )
