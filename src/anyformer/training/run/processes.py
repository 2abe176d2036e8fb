"""The processes that share a run, as `accelerate launch` and `torchrun` start them; otherwise just one."""

import os

import torch
from accelerate import Accelerator, DistributedType, PartialState
from accelerate.state import AcceleratorState

from anyformer.errors import TrainingError
from anyformer.training.run.recipe import FULL

SHARDED = (DistributedType.FSDP, DistributedType.DEEPSPEED, DistributedType.MEGATRON_LM)


def processes() -> PartialState:
    """How many processes there are, and which one this is."""
    return PartialState(cpu=_on_cpus())


def accelerator(precision: str = FULL) -> Accelerator:
    """The Accelerator, which distributes models and gradients and computes in the given precision.

    Raises:
        TrainingError: if `accelerate` is configured for something that checkpoints would not restore, or for another
            precision, or if this machine does not have the precision.
    """
    require_precision(precision)
    configured = os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
    if configured not in ("no", precision):
        raise TrainingError(
            f"precision must be what `accelerate` is configured for, {configured}; got {precision}."
            f" Give --precision {configured}, or change either."
        )
    # Accelerate keeps one state a process; another run in this process may have had another precision.
    AcceleratorState._reset_state()
    try:
        made = Accelerator(cpu=_on_cpus(), mixed_precision="no" if precision == FULL else precision)
    except ValueError as error:
        raise TrainingError(
            f"the precision must be one that this machine computes in; {precision} is not: {error}. Choose fp32."
        ) from error
    if made.distributed_type in SHARDED:
        raise TrainingError(
            f"accelerate must be configured for whole models; got {made.distributed_type.value}."
            " Choose another by `accelerate config`."
        )
    return made


def require_precision(precision: str) -> None:
    """Refuse fp16 on CPUs, where `accelerate` would compute in 32 bits without a word."""
    if precision == "fp16" and _on_cpus():
        raise TrainingError(
            "the precision must be one that this machine computes in; fp16 needs a GPU, and there is none. Choose bf16"
            " or fp32."
        )


def _on_cpus() -> bool:
    """Whether to run on CPUs. `accelerate` must be told, or each process would train for itself."""
    return not torch.accelerator.is_available()
