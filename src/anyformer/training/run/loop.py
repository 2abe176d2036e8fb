"""The training loop, for any task: from one CPU to many hosts, and from any checkpoint to the same last bit.

A step is a function of its number: the batch, the learning rate and what dropout drops follow from it and from the
seed. Each process takes its rows of the batch, so their number affects the losses only by rounding (and by dropout,
which each process draws for itself).
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from anyformer.errors import TrainingError
from anyformer.training.run import seeds
from anyformer.training.run.checkpoints import Elapsed, restore_newest, save_checkpoint
from anyformer.training.run.folder import RunFolder
from anyformer.training.run.metrics import Metrics, Watch
from anyformer.training.run.processes import accelerator as new_accelerator
from anyformer.training.run.processes import processes, require_precision
from anyformer.training.run.recipe import Schedule

Batch = dict[str, Tensor]
DIVERGED = "Lower the learning rate, or lengthen the warm-up; the run stays at its last checkpoint."


class Task(ABC):
    """Something to learn: the batch of each step, and how it is evaluated.

    The loss of a model on some rows must be the mean over these rows.
    """

    @abstractmethod
    def batch(self, step: int) -> Batch:
        """All rows of a step, whatever the number of processes."""

    @abstractmethod
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """What is measured on data held out; the model is in evaluation mode, without gradients."""

    def is_learned(self, measured: Mapping[str, float]) -> bool:
        """Whether training may end with an evaluation that measured this; by default it takes all its steps."""
        return False


def train(model: nn.Module, task: Task, schedule: Schedule, folder: RunFolder, watch: Watch | None = None) -> nn.Module:
    """Train in a run's folder, from its newest checkpoint if it has one.

    Returns:
        The trained model, without the wrapper for several processes.
    """
    accelerator = new_accelerator(schedule.precision)
    wrapped, optimizer = accelerator.prepare(model, _adam(model, schedule))
    # The precision is that of the steps alone: what is measured, and the model that is returned, are in 32 bits.
    accelerator.unwrap_model(wrapped, keep_fp32_wrapper=False)
    elapsed = restore_newest(folder.checkpoints, model, optimizer, accelerator.scaler)
    _require_same_step(elapsed.step, accelerator)
    if _was_learned(task, folder, elapsed.step):
        return model
    with Metrics.open(folder, elapsed.step, accelerator.is_main_process, watch) as metrics:
        clock = _Clock(elapsed.seconds)
        if elapsed.step == 0:
            metrics.add(step=0, **_evaluated(model, task, accelerator))
        for step in range(elapsed.step, schedule.steps):
            measured = _step(wrapped, optimizer, task.batch(step), schedule, step, accelerator)
            done = Elapsed(step + 1, clock.seconds())
            metrics.add(step=done.step, **measured, seconds=done.seconds)
            last = done.step == schedule.steps
            if last or done.step % schedule.evaluate_every == 0 or done.step % schedule.save_every == 0:
                _require_finite(model, done.step)
            if last or done.step % schedule.evaluate_every == 0:
                found = _evaluated(model, task, accelerator)
                metrics.add(step=done.step, **found)
                last = last or _agree(task.is_learned(found), accelerator)
            if accelerator.is_main_process and (last or done.step % schedule.save_every == 0):
                metrics.flush()  # measurements before a checkpoint must survive a kill after it
                save_checkpoint(folder.checkpoints, done, model, optimizer, accelerator.scaler)
            if last:
                break
    accelerator.wait_for_everyone()
    return model


@contextmanager
def run_in(place: Path, identity: Mapping[str, Any], about: Mapping[str, Any] | None = None) -> Iterator[RunFolder]:
    """A run's folder, held by the main process of those that share the run; `about` is for its readers."""
    folder, shared = RunFolder(place), processes()
    if shared.is_main_process:
        folder.require_same(identity)
    with folder.held() if shared.is_main_process else nullcontext():
        if shared.is_main_process:
            folder.begin(identity, about)
        shared.wait_for_everyone()
        if not folder.identity_file.is_file():
            raise TrainingError(f"the output must be on a disk that all hosts share; {place} is not. Name another.")
        yield folder


def finish(folder: RunFolder, model: nn.Module, tokenizer: Any) -> None:
    """Write the result, once."""
    shared = processes()
    if shared.is_main_process:
        folder.finish(model, tokenizer)
    shared.wait_for_everyone()


def _step(
    model: nn.Module, optimizer: Any, batch: Batch, schedule: Schedule, step: int, accelerator: Accelerator
) -> dict[str, float]:
    """One step of the optimizer; loss and gradient are means over all rows of all processes."""
    model.train()
    torch.manual_seed(seeds.number("dropout", schedule.seed, step, accelerator.process_index))
    for group in optimizer.param_groups:
        group["lr"] = schedule.rate(step)
    total = torch.zeros((), device=accelerator.device)
    for part, share, is_last in _parts(batch, schedule, accelerator):
        # Several processes exchange gradients once a step, with its last part.
        with nullcontext() if is_last else accelerator.no_sync(model):
            with accelerator.autocast():
                loss = model(**part).loss * share
            accelerator.backward(loss)
        total += loss.detach()
    norm = accelerator.clip_grad_norm_(model.parameters(), schedule.clip)
    mean = float(accelerator.reduce(total, "mean"))
    if not math.isfinite(mean):
        raise TrainingError(f"the loss must be finite; in step {step + 1} it is {mean}. {DIVERGED}")
    if accelerator.scaler is None and not math.isfinite(norm):  # a scaler leaves such a step out
        raise TrainingError(f"gradients must be finite; in step {step + 1} their norm is {float(norm)}. {DIVERGED}")
    optimizer.step()
    optimizer.zero_grad()
    return {"loss": mean, "gradient_norm": float(norm), "learning_rate": schedule.rate(step)}


def _require_finite(model: nn.Module, step: int) -> None:
    """Refuse weights that a step has made infinite: they are neither kept nor measured."""
    for name, parameter in model.named_parameters():
        if not torch.isfinite(parameter).all():
            raise TrainingError(f"weights must be finite; after step {step} those of {name} are not. {DIVERGED}")


def _parts(batch: Batch, schedule: Schedule, accelerator: Accelerator) -> Iterator[tuple[Batch, float, bool]]:
    """This process's rows, as many at once as fit; each part with its share of them, and whether it is the last."""
    rows = schedule.batch // accelerator.num_processes
    first, size = rows * accelerator.process_index, schedule.at_once or rows
    for start in range(0, rows, size):
        end = min(start + size, rows)
        part = {name: tensor[first + start : first + end].to(accelerator.device) for name, tensor in batch.items()}
        yield part, (end - start) / rows, end == rows


def _evaluated(model: nn.Module, task: Task, accelerator: Accelerator) -> dict[str, float]:
    """Measured by the main process; the others need not know."""
    if not accelerator.is_main_process:
        return {}
    model.eval()
    with torch.no_grad():
        return task.evaluate(model)


def _agree(is_so: bool, accelerator: Accelerator) -> bool:
    """Whether it is so in the main process, the only one that measures: all processes must end with the same step."""
    return bool(accelerator.reduce(torch.tensor(float(is_so), device=accelerator.device), "sum") > 0)


def _was_learned(task: Task, folder: RunFolder, step: int) -> bool:
    """Whether the evaluation at a checkpoint ended the training: a kill came between the checkpoint and the result."""
    return step > 0 and any(task.is_learned(row) for row in folder.rows() if row["step"] == step)


def _adam(model: nn.Module, schedule: Schedule) -> torch.optim.Optimizer:
    """AdamW; vectors, which are norms and biases, do not decay."""
    matrices = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    vectors = [parameter for parameter in model.parameters() if parameter.dim() <= 1]
    groups = [
        {"params": matrices, "weight_decay": schedule.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=schedule.learning_rate, betas=(0.9, schedule.adam_beta2), fused=True)


def require_runnable(schedule: Schedule) -> None:
    """Refuse a batch that cannot be divided equally among the processes, and a precision that is not to be had."""
    require_precision(schedule.precision)
    count = processes().num_processes
    if schedule.batch % count:
        raise TrainingError(
            f"batch must be a multiple of the number of processes, {count}; got {schedule.batch}. Change either."
        )


def _require_same_step(step: int, accelerator: Accelerator) -> None:
    """Processes that do not see the same checkpoints would train different models."""
    steps = accelerator.gather(torch.tensor([step], device=accelerator.device)).tolist()
    if len(set(steps)) > 1:
        raise TrainingError(
            f"all processes must resume from the same checkpoint; theirs are of steps {sorted(set(steps))}."
            " Let all hosts share the output folder."
        )


class _Clock:
    """Seconds spent on a run, over all its starts."""

    def __init__(self, before: float) -> None:
        self._start = time.perf_counter() - before

    def seconds(self) -> float:
        return round(time.perf_counter() - self._start, 3)
