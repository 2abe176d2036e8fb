"""Where a run stands, on disk: written in one step or not at all, and enough to go on to the same last bit.

A checkpoint is a folder of two safetensors files, weights and optimizer, and a few numbers as JSON. Learning rates,
batches and dropout are functions of the step, so they need no state of their own.
"""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from anyformer.errors import TrainingError

KEPT = 2
"""How many are kept: the newest, and one more should its disk block be bad."""


@dataclass(frozen=True)
class Progress:
    """How far a run has come: steps done, and the seconds they took over all its starts."""

    step: int = 0
    seconds: float = 0.0


def save_checkpoint(folder: Path, progress: Progress, model: nn.Module, optimizer: torch.optim.Optimizer) -> Path:
    """Write `folder/step-…` and remove all but the newest ones."""
    place = folder / f"step-{progress.step:09d}"
    part = folder / f".{place.name}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    save_file(_weights(model), part / "weights.safetensors")
    save_file(_optimizer_state(optimizer), part / "optimizer.safetensors")
    (part / "progress.json").write_text(json.dumps({"step": progress.step, "seconds": progress.seconds}))
    for written in (*part.iterdir(), part):
        flush(written)
    if place.exists():  # the same step of an earlier start, with the same contents
        shutil.rmtree(place)
    os.replace(part, place)
    flush(folder)
    for old in _complete(folder)[:-KEPT]:
        shutil.rmtree(old)
    return place


def restore_newest(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> Progress:
    """Put the newest checkpoint into model and optimizer; from the start if there is none.

    Raises:
        TrainingError: if it is of another architecture, or damaged.
    """
    complete = _complete(folder)
    if not complete:
        return Progress()
    place = complete[-1]
    try:
        weights, state = load_file(place / "weights.safetensors"), load_file(place / "optimizer.safetensors")
        progress = Progress(**json.loads((place / "progress.json").read_text()))
    except Exception as error:  # safetensors raises its own kinds, which have no common class
        raise TrainingError(
            f"a checkpoint must be whole; {place} is not: {error}. Remove that folder to go on from the one before."
        ) from error
    _put_weights(place, model, weights)
    _put_optimizer_state(optimizer, state)
    return progress


def flush(place: Path) -> None:
    """Have the disk keep a file or a folder's list of files, so that a rename is not there before its contents."""
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _complete(folder: Path) -> list[Path]:
    """Checkpoints by step; a part of one, left by a killed process, has a name that does not count."""
    return sorted(folder.glob("step-*"))


def _weights(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers, each once however many names it has."""
    named = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {name: tensor.detach().cpu().contiguous() for name, tensor in named.items()}


def _put_weights(place: Path, model: nn.Module, weights: dict[str, Tensor]) -> None:
    have = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    ours = {name: tuple(tensor.shape) for name, tensor in have.items()}
    theirs = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    if ours != theirs:
        name = sorted(set(ours.items()) ^ set(theirs.items()))[0][0]
        raise TrainingError(
            f"a checkpoint must be of the same architecture; {place} has {name} of shape {theirs.get(name)}, the model"
            f" {ours.get(name)}. Use the recipe it was made with, or another output folder."
        )
    with torch.no_grad():
        for name, tensor in have.items():
            tensor.copy_(weights[name])


def _optimizer_state(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state: dict[int, dict[str, Tensor]] = optimizer.state_dict()["state"]
    return {
        f"{parameter}.{name}": tensor.detach().cpu().contiguous()
        for parameter, entries in state.items()
        for name, tensor in entries.items()
    }


def _put_optimizer_state(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Any]] = {}
    for key, tensor in tensors.items():
        parameter, name = key.split(".", 1)
        state.setdefault(int(parameter), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
