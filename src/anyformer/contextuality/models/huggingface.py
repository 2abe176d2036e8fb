"""Hugging Face models by their folder, which is inspected first, or by their name on the hub."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from anyformer.contextuality.layers import Layered
from anyformer.contextuality.models.modules import from_module
from anyformer.errors import ContextualityError
from anyformer.extras import require
from anyformer.saved_folders import in_a_line, quiet, read_saved_model


def from_huggingface(place: str | Path, layers: Any = None) -> Layered:
    """The encoder and its tokenizer. Nothing in a folder is run, and weights are never pickled.

    Raises:
        FolderError: if a folder names code, pickled weights or other places.
        ContextualityError: if there is no such model, or it cannot be loaded.
    """
    transformers = require("transformers", extra="context", what="Hugging Face models")
    require("anyformer.mixers.bert", extra="context", what="BERTs with other mixers")  # known to AutoModel from now on
    is_folder = Path(place).is_dir()
    if is_folder:
        read_saved_model(Path(place))
    try:
        with quiet():
            model = transformers.AutoModel.from_pretrained(
                place, local_files_only=is_folder, trust_remote_code=False, use_safetensors=True
            )
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                place, local_files_only=is_folder, trust_remote_code=False
            )
    except Exception as error:  # `transformers` and safetensors raise all kinds of exceptions
        raise ContextualityError(
            f"a model must be a folder of this package or of Hugging Face, an .onnx file, or a name on the hub; "
            f"{str(place)[:200]!r} cannot be loaded: {in_a_line(error)[:400]}"
        ) from error
    # The folder of a model is often called "model".
    named = "/".join(Path(place).resolve().parts[-2:]) if is_folder else str(place)
    return replace(from_module(model, layers, named), tokenizer=tokenizer)
