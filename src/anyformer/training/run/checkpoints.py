"""Checkpoints: written in one step or not at all, and enough to resume a run with the same bits.

A checkpoint is a folder of two safetensors files, weights and optimizer, and a few numbers as JSON. Learning rates,
batches and dropout are functions of the step, so they need no state of their own.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from anyformer import strict_json
from anyformer.atomic import atomic_folder
from anyformer.errors import TrainingError, words_of
from anyformer.training.run.writing import writing

ADAM = ("step", "exp_avg", "exp_avg_sq")
"""What Adam remembers of a parameter."""
SCALER = "scaler.json"
KEPT = 2
"""How many are kept: the newest, and one more in case the newest is damaged."""


@dataclass(frozen=True)
class Elapsed:
    """How far a run has come: steps done, and the seconds they took over all its starts."""

    step: int = 0
    seconds: float = 0.0


def save_checkpoint(
    folder: Path, elapsed: Elapsed, model: nn.Module, optimizer: torch.optim.Optimizer, scaler: Any = None
) -> Path:
    """Write `folder/step-…` and remove all but the newest ones; `scaler` is what scales the gradients of fp16."""
    place = folder / f"step-{elapsed.step:09d}"
    # A checkpoint of this step is from an earlier start and has the same contents.
    with writing("a checkpoint", place), atomic_folder(place) as part:
        save_file(_weights(model), part / "weights.safetensors")
        save_file(_optimizer_state(optimizer), part / "optimizer.safetensors")
        (part / "progress.json").write_text(json.dumps({"step": elapsed.step, "seconds": elapsed.seconds}))
        if scaler is not None:
            (part / SCALER).write_text(json.dumps(scaler.state_dict()))
    for old in _complete(folder)[:-KEPT]:
        shutil.rmtree(old)
    return place


def restore_newest(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, scaler: Any = None) -> Elapsed:
    """Load the newest checkpoint into model, optimizer and scaler; without one, training starts at step 0.

    Raises:
        TrainingError: if it is of another architecture, or damaged.
    """
    complete = _complete(folder)
    if not complete:
        return Elapsed()
    place = complete[-1]
    try:
        weights, state = (_tensors(place, name) for name in ("weights.safetensors", "optimizer.safetensors"))
        elapsed = _elapsed(strict_json.read(_own(place, "progress.json")))
        _check_architecture(place, model, weights)
        _check_optimizer_state(optimizer, state)
        scale = None if scaler is None else _scale(scaler, strict_json.read(_own(place, SCALER)))
    except TrainingError:
        raise
    except Exception as error:  # safetensors raises its own exceptions, which have no common class
        raise TrainingError(
            f"a checkpoint must be whole; {place} is not: {words_of(error)}."
            " Remove that folder to go on from the one before."
        ) from error
    with torch.no_grad():
        for name, tensor in _named(model).items():
            tensor.copy_(weights[name])
    _put_optimizer_state(optimizer, state)
    if scale is not None:
        scaler.load_state_dict(scale)
    return elapsed


def _tensors(place: Path, name: str) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = load_file(_own(place, name))
    return tensors


def _own(place: Path, name: str) -> Path:
    """A file of the checkpoint; links are refused, because they may lead anywhere."""
    if place.is_symlink() or (place / name).is_symlink():
        raise ValueError(f"{name} must be its own file, and is a link")
    return place / name


def _elapsed(told: Any) -> Elapsed:
    match told:
        case {"step": int(step), "seconds": int(seconds) | float(seconds), **rest} if not rest:
            if not isinstance(step, bool) and 0 <= step < 2**53 and 0 <= seconds < 2**53:
                return Elapsed(step, float(seconds))
    raise ValueError(f"progress.json must have a whole step and seconds, neither negative; got {told!r:.200}")


def _scale(scaler: Any, told: Any) -> dict[str, float]:
    """The state of a scaler: the numbers that it has, all finite and not negative."""
    names = set(scaler.state_dict())
    if not isinstance(told, dict) or set(told) != names or not all(_is_a_size(told[name]) for name in names):
        raise ValueError(f"{SCALER} must have the numbers {', '.join(sorted(names))}; got {told!r:.200}")
    return told


def _is_a_size(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53


def _complete(folder: Path) -> list[Path]:
    """Checkpoints by step; a partial one, left by a killed process, has another name and does not count."""
    return sorted(folder.glob("step-*"))


def _weights(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers, each once however many names it has."""
    return {name: tensor.detach().cpu().contiguous() for name, tensor in _named(model).items()}


def _named(model: nn.Module) -> dict[str, Tensor]:
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def _check_architecture(place: Path, model: nn.Module, weights: dict[str, Tensor]) -> None:
    ours = {name: tuple(tensor.shape) for name, tensor in _named(model).items()}
    theirs = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    if ours != theirs:
        name = sorted(set(ours.items()) ^ set(theirs.items()))[0][0]
        raise TrainingError(
            f"a checkpoint must be of the same architecture; {place} has {name} of shape {theirs.get(name)}, the model"
            f" {ours.get(name)}. Use the recipe it was made with, or another output folder."
        )


def _optimizer_state(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state: dict[int, dict[str, Tensor]] = optimizer.state_dict()["state"]
    return {
        f"{parameter}.{name}": tensor.detach().cpu().contiguous()
        for parameter, entries in state.items()
        for name, tensor in entries.items()
    }


def _check_optimizer_state(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Each tensor must be Adam's state of a parameter: otherwise the next step fails without a clear reason."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    shapes = {f"{place}.{name}": one.shape for place, one in enumerate(parameters) for name in ADAM}
    for key, tensor in tensors.items():
        scalar = key.endswith(".step")
        if (
            key not in shapes
            or tensor.shape != (torch.Size() if scalar else shapes[key])
            or not tensor.is_floating_point()
        ):
            raise ValueError(f"optimizer.safetensors must have Adam's state; got {key!r:.200} of {tuple(tensor.shape)}")
    missing = sorted(set(shapes) - set(tensors))
    if missing and tensors:
        raise ValueError(f"optimizer.safetensors must have Adam's state of every parameter; {missing[0]} is missing")


def _put_optimizer_state(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Any]] = {}
    for key, tensor in tensors.items():
        parameter, name = key.split(".", 1)
        state.setdefault(int(parameter), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
