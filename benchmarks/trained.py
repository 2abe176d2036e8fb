"""The other way to get a Transformer: PyTorch's own encoder, trained with Adam on fresh random samples of the function.

Nothing is held back: pre-norm, no dropout, warm-up and a cosine that ends with the time allowed, the faster of one and
two threads, and the samples are drawn before the clock looks.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from anyformer.arrays import Array
from anyformer.targets import Target
from anyformer.targets.target import Symmetry
from benchmarks.interleave import timed
from benchmarks.machine import THREADS

BATCH = 256
HEADS = 4
WARM_UP = 0.05
# Samples are drawn this many batches at a time, so that NumPy's calls do not weigh.
DRAWN = 64
SHAPES = [(16, 2), (32, 2), (32, 3), (32, 4), (64, 2), (64, 3), (64, 4)]


class Encoder(nn.Module):
    """nn.TransformerEncoder between two linear maps; learned positions iff the function needs them."""

    def __init__(self, target: Target, d_model: int, layers: int) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            d_model, HEADS, 2 * d_model, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.into = nn.Linear(target.width, d_model)
        self.encoder = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(d_model), enable_nested_tensor=False)
        self.out = nn.Linear(d_model, target.width)
        has_positions = target.symmetry is Symmetry.NONE
        self.positions = nn.Parameter(0.02 * torch.randn(target.tokens, d_model)) if has_positions else None

    def forward(self, x: Tensor) -> Tensor:
        """(batch, tokens, width) to the same shape."""
        state = self.into(x)
        return self.out(self.encoder(state if self.positions is None else state + self.positions))

    @property
    def parameter_count(self) -> int:
        """Numbers that are trained."""
        return sum(parameter.numel() for parameter in self.parameters())


def of_size(target: Target, parameters: int) -> Encoder:
    """The smallest encoder with at least so many parameters, or the largest there is."""
    torch.manual_seed(0)
    for d_model, layers in SHAPES:
        model = Encoder(target, d_model, layers)
        if model.parameter_count >= parameters:
            break
    return model


@dataclass(frozen=True)
class Trained:
    """What came of it."""

    model: Encoder
    steps: int
    threads: int


def train(
    target: Target,
    parameters: int,
    seconds: float,
    rate: float,
    looks: tuple[float, ...] = (),
    look: Callable[[float, Encoder], None] = lambda moment, model: None,
) -> Trained:
    """Train for so many seconds; after each of the `looks` (seconds) let somebody look, with the clock stopped."""
    model = of_size(target, parameters)
    threads = _better_threads(target, model)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    rng, steps, spent, waiting = np.random.default_rng(1), 0, 0.0, list(looks)
    while spent < seconds:
        inputs, outputs = _samples(target, rng)
        start = time.perf_counter()
        for x, y in zip(inputs, outputs, strict=True):
            done = (spent + time.perf_counter() - start) / seconds
            if done >= 1:
                break
            _step(model, optimiser, x, y, rate * _schedule(done))
            steps += 1
        spent += time.perf_counter() - start
        while waiting and spent >= waiting[0]:
            look(waiting.pop(0), model)
    return Trained(model, steps, threads)


def _schedule(done: float) -> float:
    return min(1.0, done / WARM_UP) * 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))


def _step(model: Encoder, optimiser: torch.optim.Optimizer, x: Tensor, y: Tensor, rate: float) -> None:
    optimiser.param_groups[0]["lr"] = rate
    optimiser.zero_grad(set_to_none=True)
    nn.functional.mse_loss(model(x), y).backward()
    optimiser.step()


def _samples(target: Target, rng: np.random.Generator) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    x = low + (high - low) * rng.random((DRAWN * BATCH, target.tokens, target.width))
    shape = (DRAWN, BATCH, target.tokens, target.width)
    return tuple(torch.tensor(each.reshape(shape), dtype=torch.float32).unbind() for each in (x, target(x)))  # type: ignore[return-value]


def _better_threads(target: Target, model: Encoder) -> int:
    """One thread or two, whichever steps faster; the weights are left as they are."""
    inputs, outputs = _samples(target, np.random.default_rng(0))
    idle = torch.optim.SGD(model.parameters(), lr=0.0)

    def some() -> None:
        for x, y in zip(inputs[:20], outputs[:20], strict=True):
            _step(model, idle, x, y, 0.0)

    seconds = {}
    for threads in (1, THREADS):
        torch.set_num_threads(threads)
        some()
        seconds[threads] = min(timed(some) for _ in range(2))
    chosen = min(seconds, key=lambda threads: seconds[threads])
    torch.set_num_threads(chosen)
    return chosen


def as_function(model: Encoder) -> Callable[[Array], Array]:
    """The model on NumPy arrays, for `measure_error`."""

    def function(x: Array) -> Array:
        model.eval()
        with torch.inference_mode():
            output: Array = model(torch.tensor(x, dtype=torch.float32)).double().numpy()
        model.train()
        return output

    return function
