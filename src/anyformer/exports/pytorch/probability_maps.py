"""How scores become weights, in PyTorch: the maps of `networks.probability_maps`, with their gradients.

A score of −∞ is a key out of view: it gets no weight, and the weights of the others are what they are without it.
"""

import math
from typing import Any, Final

import torch
from torch import Tensor, nn

from anyformer.errors import NetworkError
from anyformer.networks import probability_maps


class Softmax(nn.Module):
    """Weights proportional to exp(score)."""

    def forward(self, scores: Tensor) -> Tensor:
        """Turn scores into weights along the last axis.

        The certificate asks for an exp that is 1 at 0, so the largest score is taken off first; the gradient does not
        depend on it.
        """
        powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True).detach())
        return powers / powers.sum(dim=-1, keepdim=True)


class Sparsemax(nn.Module):
    """max(score − τ, 0), the point of the simplex nearest to the scores."""

    def forward(self, scores: Tensor) -> Tensor:
        """Turn scores into weights along the last axis."""
        return _Sparsemax.apply(scores)


class Entmax(nn.Module):
    """max((α − 1)·score − τ, 0)^{1/(α − 1)}."""

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, scores: Tensor) -> Tensor:
        """Turn scores into weights along the last axis."""
        return _Entmax.apply(scores, self.alpha)

    def extra_repr(self) -> str:
        """The α."""
        return f"alpha={self.alpha}"


# Between a winner with all the weight and all keys alike; each step halves the interval, and float64 has 53 bits.
_STEPS: Final = 64


class _Sparsemax(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor) -> Tensor:
        z = scores - scores.amax(dim=-1, keepdim=True)
        falling = z.sort(dim=-1, descending=True).values
        sums = falling.cumsum(dim=-1)
        counts = torch.arange(1, z.shape[-1] + 1, device=z.device, dtype=z.dtype)
        support = (1 + counts * falling > sums).sum(dim=-1, keepdim=True)
        tau = (sums.gather(-1, support - 1) - 1) / support
        return _adding_up((z - tau).clamp(min=0.0), z == 0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (weights,) = ctx.saved_tensors
        return _pulled_back(weights, gradient, 2.0)


class _Entmax(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor, alpha: float) -> Tensor:
        z = (alpha - 1) * (scores - scores.amax(dim=-1, keepdim=True))
        keys = (z > -math.inf).sum(dim=-1, keepdim=True).to(z.dtype)
        low, high = torch.full_like(keys, -1.0), -((1 / keys) ** (alpha - 1))
        for _ in range(_STEPS):
            middle = (low + high) / 2
            too_much = _powers(z, middle, alpha).sum(dim=-1, keepdim=True) >= 1
            low, high = torch.where(too_much, middle, low), torch.where(too_much, high, middle)
        return _adding_up(_powers(z, low, alpha), z == 0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
        ctx.alpha = inputs[1]
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (weights,) = ctx.saved_tensors
        return _pulled_back(weights, gradient, ctx.alpha), None


def _powers(z: Tensor, tau: Tensor, alpha: float) -> Tensor:
    return (z - tau).clamp(min=0.0) ** (1 / (alpha - 1))


def _adding_up(powers: Tensor, winners: Tensor) -> Tensor:
    """Weights whose sum is 1 up to rounding; if only tied winners have weight, their shares are exactly equal."""
    tied = (winners | (powers == 0)).all(dim=-1, keepdim=True)
    shares = winners.to(powers.dtype) / winners.sum(dim=-1, keepdim=True)
    return torch.where(tied, shares, powers / powers.sum(dim=-1, keepdim=True))


def _pulled_back(weights: Tensor, gradient: Tensor, alpha: float) -> Tensor:
    """The gradient by the scores: diag(s) − s sᵀ/Σs with s = weights^{2 − α} where there is weight (Peters et al.)."""
    support = weights > 0
    slopes = torch.where(support, torch.where(support, weights, 1.0) ** (2 - alpha), 0.0)
    mean = (slopes * gradient).sum(dim=-1, keepdim=True) / slopes.sum(dim=-1, keepdim=True)
    return slopes * (gradient - mean)


def as_module(rho: probability_maps.ProbabilityMap) -> nn.Module:
    """The module of a probability map."""
    if isinstance(rho, probability_maps.Softmax):
        return Softmax()
    if isinstance(rho, probability_maps.Sparsemax):
        return Sparsemax()
    if isinstance(rho, probability_maps.Entmax):
        return Entmax(rho.alpha)
    raise NetworkError(f"PyTorch has softmax, sparsemax and entmax as probability maps; got {rho!r}. Use one of them.")
