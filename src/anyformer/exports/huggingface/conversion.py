"""From a network to a model of Hugging Face and back."""

import os
from pathlib import Path
from typing import Final

from anyformer.atomic import atomic_folder
from anyformer.errors import ModelFileError, NetworkError, words_of
from anyformer.exports.huggingface.certificate_files import CARD, still_holds
from anyformer.exports.huggingface.config import AnyformerConfig
from anyformer.exports.huggingface.model import AnyformerModel
from anyformer.exports.layout import FILES
from anyformer.exports.proved import Proved
from anyformer.exports.pytorch.conversion import fill, from_torch, structure_of
from anyformer.networks.network import Network
from anyformer.saved_folders import CONFIG, quiet, read_saved_model

_WRITTEN: Final = {*FILES, CARD}


def to_huggingface(model: Proved | Network) -> AnyformerModel:
    """The model for Hugging Face's tools, with its certificate, if it has one.

    Args:
        model: a proved model, or a network alone.

    Example:
        >>> import torch
        >>> made = to_huggingface(af.construct("sort", 0.4, tokens=3))
        >>> made(torch.zeros(5, 3, 1, dtype=torch.float64), output_attentions=True).last_hidden_state.shape
        torch.Size([5, 3, 1])
    """
    network = model if isinstance(model, Network) else model.network
    made = AnyformerModel(AnyformerConfig.of(structure_of(network)))
    fill(made, network)
    made.certificate = None if isinstance(model, Network) else still_holds(model.certificate, network)
    made.eval()
    return made


def from_huggingface(model: AnyformerModel | str | Path) -> Network:
    """The network of a model, or of a folder that `save_pretrained` wrote.

    A network has no certificate; `model.certificate` has the claim, and `verify` decides.

    Raises:
        ModelFileError: if the folder is not what it should be.
        NetworkError: if it is another model, or its weights are not finite.
    """
    if isinstance(model, str | os.PathLike):
        with quiet():
            model = AnyformerModel.from_pretrained(model, trust_remote_code=False, use_safetensors=True)
    if not isinstance(model, AnyformerModel):
        raise NetworkError(f"from_huggingface takes an AnyformerModel or its folder; got a {type(model).__name__}.")
    return from_torch(model)


def write(model: Proved, out: str | Path, overwrite: bool = False) -> Path:
    """Write a folder that `AutoModel.from_pretrained` reads, all or nothing.

    Args:
        model: what to write.
        out: the folder; new, empty, or (with overwrite) one that holds a model of this format and nothing else.
        overwrite: replace the model that is there.
    """
    folder = Path(out)
    made = to_huggingface(model)
    try:
        _check_place(folder, overwrite)
        with atomic_folder(folder) as part, quiet():
            made.save_pretrained(part)
    except OSError as error:
        raise ModelFileError(
            f"could not write a model to {folder}: {words_of(error)}. Fix the cause and write again."
        ) from error
    return folder


def _check_place(folder: Path, overwrite: bool) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise ModelFileError(f"{folder} must be a folder or not exist; it is a file or a link. Choose another place.")
    there = sorted(os.listdir(folder)) if folder.exists() else []
    if not there:
        return
    foreign = [name for name in there if name not in _WRITTEN]
    if (
        foreign
        or CONFIG not in there
        or read_saved_model(folder).config.get("model_type") != AnyformerConfig.model_type
    ):
        found = f"it also holds {foreign[0]!r}" if foreign else f"its {CONFIG} is missing or not ours"
        raise ModelFileError(
            f"{folder} must be a new or empty folder, or a model to overwrite; {found}. Nothing was changed. Choose "
            f"another folder, or empty this one yourself."
        )
    if not overwrite:
        raise ModelFileError(f"{folder} must be a new or empty folder; it holds a model. Pass overwrite to replace it.")
