"""A PyTorch module with the architecture of a network that was built, and its training from random weights.

The same embedding, positions, heads, head sizes, hidden sizes, residuals and read-out; every number is trained. Nothing
is held back: Adam with warm-up and a cosine that ends with the time allowed, inputs that reach the corners as those do
on which it is judged, drawn before the clock looks, and several rates, losses, batches and seeds of which the best
counts. The clock is the processor's, so that other programs take nothing away.
"""

import math
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from anyformer.arrays import Array
from anyformer.networks import Network
from anyformer.networks.layers import AttentionStage, Stage
from anyformer.targets import Target
from benchmarks.sampling import corner_reaching

# Batches drawn at a time, with the clock stopped.
DRAWN = 64
WARM_UP = 0.05


class Attention(nn.Module):
    """Heads of attention with a residual, sizes as in a stage of one layer."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        heads, size, width = stage.sizes["heads"], stage.sizes["head_size"], stage.sizes["width"]
        self.W_Q, self.W_K, self.W_V = (_weights(heads, size, width, inputs=width) for _ in range(3))
        self.b_Q = nn.Parameter(torch.zeros(heads, size))
        self.W_O = _weights(heads, width, size, inputs=heads * size)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, tokens, width) to the same shape."""
        queries = torch.einsum("bnd,hsd->bhns", x, self.W_Q) + self.b_Q[:, None]
        keys, values = (torch.einsum("bnd,hsd->bhns", x, one) for one in (self.W_K, self.W_V))
        shares = torch.softmax(queries @ keys.transpose(2, 3), dim=-1)
        return x + torch.einsum("bhns,hds->bnd", shares @ values, self.W_O)


class FeedForward(nn.Module):
    """Hidden ReLUs with a residual, sizes as in a stage of one layer."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self.inner = nn.Linear(stage.width, stage.sizes["hidden_size"])
        self.outer = nn.Linear(stage.sizes["hidden_size"], stage.width)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, tokens, width) to the same shape."""
        return x + self.outer(torch.relu(self.inner(x)))


class Twin(nn.Module):
    """Embedding, positions if the network has them, its layers, read-out."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.into = nn.Linear(network.width, network.stream_width)
        has_positions = network.positional_encoding is not None
        self.positions = nn.Parameter(0.02 * torch.randn(network.tokens, network.stream_width)) if has_positions else 0
        stages = [Attention(one) if isinstance(one, AttentionStage) else FeedForward(one) for one in network.stages]
        self.layers = nn.Sequential(*stages)
        self.out = nn.Linear(network.stream_width, network.width)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, tokens, width) to the same shape."""
        output: Tensor = self.out(self.layers(self.into(x) + self.positions))
        return output

    def on_arrays(self, x: Array) -> Array:
        """The module on NumPy arrays."""
        with torch.inference_mode():
            output: Array = self(torch.tensor(x, dtype=self.into.weight.dtype)).double().numpy()
        return output


def _weights(*shape: int, inputs: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(shape) / math.sqrt(inputs))


@dataclass(frozen=True)
class Recipe:
    """How to train: the learning rate, the exponent of the loss (a high one is closer to the sup norm), the batch."""

    rate: float
    power: int
    batch: int
    seed: int = 0
    dtype: str = "float32"


def train(network: Network, target: Target, seconds: float, recipe: Recipe) -> tuple[Twin, int]:
    """Train a twin from random weights for so long; how many steps it took."""
    torch.manual_seed(recipe.seed)
    dtype = getattr(torch, recipe.dtype)
    model = Twin(network).to(dtype)
    optimiser = torch.optim.Adam(model.parameters(), lr=recipe.rate)
    rng, spent, steps = np.random.default_rng(recipe.seed), 0.0, 0
    while spent < seconds:
        batches = [_drawn(target, recipe.batch, rng, dtype) for _ in range(DRAWN)]
        start = time.process_time()
        for x, y in batches:
            done = (spent + time.process_time() - start) / seconds
            if done >= 1:
                break
            optimiser.param_groups[0]["lr"] = recipe.rate * _schedule(done)
            optimiser.zero_grad(set_to_none=True)
            _loss(model(x) - y, recipe.power).backward()
            optimiser.step()
            steps += 1
        spent += time.process_time() - start
    return model, steps


def _loss(difference: Tensor, power: int) -> Tensor:
    """The mean of squares; or, for a higher power, the L^p norm, in units of its largest entry."""
    if power == 2:
        return difference.square().mean()
    size = difference.detach().abs().max() + 1e-12
    return size * (difference / size).abs().pow(power).mean().pow(1 / power)


def _schedule(done: float) -> float:
    return min(1.0, done / WARM_UP) * 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))


def _drawn(target: Target, batch: int, rng: np.random.Generator, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    x = corner_reaching(target, batch, rng)
    rng.shuffle(x)
    return torch.tensor(x, dtype=dtype), torch.tensor(target(x), dtype=dtype)
