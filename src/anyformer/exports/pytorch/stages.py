"""Stages as modules: their parameters are stacked over layers, and no layer has a module of its own."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from anyformer.exports.config import Shape
from anyformer.patterns.pattern import Layer as Lists

Weights: TypeAlias = tuple[Tensor, ...]
# (number of the layer, stream, its weights, recorder) → stream.
Layer: TypeAlias = Callable[[int, Tensor, Weights, "Recorder | None"], Tensor]
# So many layers are taken apart at once: enough to spare PyTorch's overhead, and few enough to need no memory.
CHUNK: Final = 1024


@dataclass
class Recorder:
    """What a run leaves behind besides its output; a list that is None is not kept."""

    states: list[Tensor] | None = None
    """The stream after every layer, (batch, tokens, stream_width)."""
    weights: list[Tensor] | None = None
    """The weights of every attention layer, (batch, heads, tokens, tokens)."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is kept."""
        return self.states is None and self.weights is None

    def add_state(self, state: Tensor) -> None:
        """Keep the stream after a layer."""
        if self.states is not None:
            self.states.append(state)

    def add_weights(self, weights: Tensor) -> None:
        """Keep what a layer of attention looks at."""
        if self.weights is not None:
            self.weights.append(weights)


class FeedForwardModule(nn.Module):
    """A run of layers X + W_2 relu(W_1 X + b_1) + b_2; `activation` gives the hidden units of each."""

    def __init__(self, name: str, shapes: dict[str, Shape], dtype: torch.dtype) -> None:
        super().__init__()
        self.name = name
        _add_parameters(self, shapes, dtype)
        self.activation = nn.ReLU()

    def forward(self, x: Tensor, recorder: Recorder | None = None) -> Tensor:
        """Apply every layer to (batch, tokens, width)."""
        return _through_layers(self._layer, x, (self.W_1, self.b_1, self.W_2, self.b_2), recorder)

    def _layer(self, _: int, x: Tensor, weights: Weights, recorder: Recorder | None) -> Tensor:
        W_1, b_1, W_2, b_2 = weights
        hidden = self.activation(functional.linear(x, W_1, b_1))
        return x + functional.linear(hidden, W_2, b_2)

    def extra_repr(self) -> str:
        """Its name and sizes."""
        layers, hidden_size, width = self.W_1.shape
        return f"{self.name!r}, layers={layers}, hidden_size={hidden_size}, width={width}"


class AttentionModule(nn.Module):
    """A run of attention layers, without 1/√head_size; `probability_map` gives the weights of each."""

    def __init__(
        self,
        name: str,
        shapes: dict[str, Shape],
        dtype: torch.dtype,
        probability_map: nn.Module,
        views: tuple[Lists, ...] = (),
    ) -> None:
        super().__init__()
        self.name = name
        _add_parameters(self, shapes, dtype)
        self.probability_map = probability_map
        # What layer k may look at is view k mod their number; without any, everything.
        self._views = views
        for k, mask in enumerate(self._masks()):
            self.register_buffer(f"out_of_view_{k}", mask, persistent=False)

    def forward(self, x: Tensor, recorder: Recorder | None = None) -> Tensor:
        """Apply every layer to (batch, tokens, width)."""
        return _through_layers(self._layer, x, (self.W_Q, self.b_Q, self.W_K, self.W_V, self.W_O), recorder)

    def _layer(self, k: int, x: Tensor, weights: Weights, recorder: Recorder | None) -> Tensor:
        W_Q, b_Q, W_K, W_V, W_O = weights
        hidden = self._mask(k)
        queries = _by_head(functional.linear(x, W_Q.flatten(0, 1), b_Q.flatten()), W_Q)
        keys, values = (_by_head(functional.linear(x, W.flatten(0, 1)), W) for W in (W_K, W_V))
        scores = queries @ keys.transpose(-1, -2)
        shares = self.probability_map(scores if hidden is None else scores.masked_fill(hidden, -math.inf))
        if recorder is not None:
            recorder.add_weights(shares)
        mixed = _weighted(shares, values, hidden).transpose(1, 2).flatten(2)
        return x + functional.linear(mixed, W_O.transpose(0, 1).flatten(1))

    @torch.no_grad()
    def reset_masks(self) -> None:
        """Write the masks again, where a library has made the module without any numbers."""
        for k, mask in enumerate(self._masks()):
            getattr(self, f"out_of_view_{k}").copy_(mask)

    def _mask(self, layer: int) -> Tensor | None:
        """Which keys a layer's queries may not look at, (heads or 1, tokens, tokens), if there are any."""
        return getattr(self, f"out_of_view_{layer % len(self._views)}") if self._views else None

    def _masks(self) -> Iterator[Tensor]:
        return (_out_of_view(view, self.W_Q.shape[1]) for view in self._views)

    def extra_repr(self) -> str:
        """Its name and sizes."""
        layers, heads, head_size, width = self.W_Q.shape
        return f"{self.name!r}, layers={layers}, heads={heads}, head_size={head_size}, width={width}"


StageModule = AttentionModule | FeedForwardModule


def _add_parameters(module: nn.Module, shapes: dict[str, Shape], dtype: torch.dtype) -> None:
    for name, shape in shapes.items():
        module.register_parameter(name, nn.Parameter(torch.empty(shape, dtype=dtype)))


def _through_layers(layer: Layer, x: Tensor, stacked: Weights, recorder: Recorder | None) -> Tensor:
    """Apply one layer after the other, a chunk of them at a time.

    `split` and `unbind` have gradients that put the parts together again; indexing would make, for every layer, a
    gradient as large as the whole stage.
    """
    is_deep = len(stacked[0]) > CHUNK and torch.is_grad_enabled() and recorder is None
    for number, parts in enumerate(zip(*(each.split(CHUNK) for each in stacked), strict=True)):
        chunk = partial(_through_chunk, layer, number * CHUNK, recorder)
        x = _Forgetful.apply(chunk, x, *parts) if is_deep else chunk(x, *parts)
    return x


def _through_chunk(layer: Layer, first: int, recorder: Recorder | None, x: Tensor, *stacked: Tensor) -> Tensor:
    for k, weights in enumerate(zip(*(each.unbind(0) for each in stacked), strict=True), first):
        x = layer(k, x, weights, recorder)
        if recorder is not None:
            recorder.add_state(x)
    return x


class _Forgetful(torch.autograd.Function):
    """A chunk of a deep stage: only what goes in is kept, and it is run again when its gradient is asked for.

    PyTorch's own checkpoints either keep a node for every operation, which are gigabytes for a hundred thousand layers,
    or refuse `torch.autograd.grad`.
    """

    @staticmethod
    def forward(ctx: Any, chunk: Callable[..., Tensor], *given: Tensor) -> Tensor:
        ctx.chunk = chunk
        ctx.save_for_backward(*given)
        return chunk(*given)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        given = [
            tensor.detach().requires_grad_(is_needed)
            for tensor, is_needed in zip(ctx.saved_tensors, ctx.needs_input_grad[1:], strict=True)
        ]
        with torch.enable_grad():
            output = ctx.chunk(*given)
        found = iter(torch.autograd.grad(output, [tensor for tensor in given if tensor.requires_grad], gradient))
        return None, *(next(found) if tensor.requires_grad else None for tensor in given)


def _by_head(x: Tensor, W: Tensor) -> Tensor:
    """(batch, tokens, heads·head_size) as (batch, heads, tokens, head_size)."""
    return x.unflatten(-1, W.shape[:2]).transpose(1, 2)


def _weighted(weights: Tensor, values: Tensor, hidden: Tensor | None) -> Tensor:
    """Σ over keys of weights·values, every product rounded before it is added.

    The proof counts on that: a third of 3k is then k exactly. Matrix products may fuse the two steps, and are not used.
    """
    sums = []
    for value in values.unbind(-1):
        products = weights * value.unsqueeze(-2)
        # A value out of view may be infinite, and 0 times it would not be 0.
        sums.append((products if hidden is None else products.masked_fill(hidden, 0.0)).sum(dim=-1))
    return torch.stack(sums, dim=-1)


def _out_of_view(lists: Lists, heads: int) -> Tensor:
    """What the queries of one layer may not look at; one mask if all heads share it, else one for each."""
    shared = lists if len(lists) == 1 else [lists[head % len(lists)] for head in range(heads)]
    mask = torch.ones(len(shared), shared[0].tokens, shared[0].tokens, dtype=torch.bool, device="cpu")
    for k, neighbours in enumerate(shared):
        mask[k, torch.from_numpy(neighbours.queries()), torch.tensor(neighbours.indices)] = False
    return mask
