"""The processes that share a run, as `accelerate launch` and `torchrun` start them; otherwise just one."""

import torch
from accelerate import Accelerator, DistributedType, PartialState

from anyformer.errors import TrainingError

SHARDED = (DistributedType.FSDP, DistributedType.DEEPSPEED, DistributedType.MEGATRON_LM)


def processes() -> PartialState:
    """How many processes there are, and which one this is."""
    return PartialState(cpu=_on_cpus())


def accelerator() -> Accelerator:
    """The Accelerator, which distributes models and gradients.

    Raises:
        TrainingError: if `accelerate` is configured for something that checkpoints would not restore.
    """
    made = Accelerator(cpu=_on_cpus())
    if made.distributed_type in SHARDED or made.mixed_precision == "fp16":
        raise TrainingError(
            "accelerate must be configured for whole models and for no mixed precision or bf16; got"
            f" {made.distributed_type.value} and {made.mixed_precision}. Choose others by `accelerate config`."
        )
    return made


def _on_cpus() -> bool:
    """Whether to run on CPUs. `accelerate` must be told, or each process would train for itself."""
    return not torch.accelerator.is_available()
