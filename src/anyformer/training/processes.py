"""The processes that share a run, as `accelerate launch` and `torchrun` start them; one, if nobody did."""

import torch
from accelerate import Accelerator, PartialState


def processes() -> PartialState:
    """Who they are, and which one this is."""
    return PartialState(cpu=_on_cpus())


def accelerator() -> Accelerator:
    """What carries models and gradients among them."""
    return Accelerator(cpu=_on_cpus())


def _on_cpus() -> bool:
    """`accelerate` must be told: without an accelerator, each of the processes would otherwise train for itself."""
    return not torch.accelerator.is_available()
