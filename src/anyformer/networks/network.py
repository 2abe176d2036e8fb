"""A whole network: stages, and the positions added to the input if it has any."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.errors import NetworkError
from anyformer.networks.activations import ReLU
from anyformer.networks.layers import (
    AttentionLayer,
    AttentionStage,
    Block,
    BlockShape,
    FeedForwardLayer,
    FeedForwardStage,
    Stage,
    idle_attention,
    idle_feed_forward,
    layers,
)
from anyformer.networks.probability_maps import Hardmax
from anyformer.patterns.neighbours import Neighbours
from anyformer.patterns.pattern import SparsityPattern
from anyformer.rebuilding import Rebuilt


@dataclass(frozen=True, eq=False, repr=False)
class Network(Rebuilt):
    """A Transformer on sequences of `tokens` columns of `width` numbers: positions, then the stages in order.

    With a pattern, attention layer t of the whole network uses the pattern's layer t mod period.
    """

    tokens: int
    width: int
    shape: BlockShape
    stages: tuple[Stage, ...]
    positional_encoding: Array | None = None
    pattern: SparsityPattern | None = None

    def __post_init__(self) -> None:
        for stage in self.stages:
            _check_stage(stage, self.shape, self.width)
        if self.positional_encoding is not None:
            encoding = np.array(self.positional_encoding, dtype=np.float64)
            if encoding.shape != (self.tokens, self.width) or not np.isfinite(encoding).all():
                raise NetworkError(
                    f"positional_encoding must be finite and of shape (tokens, width) = "
                    f"({self.tokens}, {self.width}); got shape {encoding.shape}"
                )
            encoding.setflags(write=False)
            object.__setattr__(self, "positional_encoding", encoding)
        if self.pattern is not None:
            _check_pattern(self.pattern, self.tokens)

    def __repr__(self) -> str:
        """A line a stage."""
        lines = [f"tokens={self.tokens}, width={self.width}, {self.shape}"]
        if self.positional_encoding is not None:
            lines.append(f"positional_encoding: {self.tokens} × {self.width}")
        if self.pattern is not None:
            lines.append(f"pattern={self.pattern}")
        lines += map(repr, self.stages)
        return "Network(\n" + "".join(f"  {line}\n" for line in lines) + ")"

    @property
    def is_equivariant(self) -> bool:
        """Whether tokens differ only by their content: permuting the input permutes the output."""
        return self.positional_encoding is None and self.pattern is None

    def views(self, stage: int) -> "list[View]":
        """What each layer of an attention stage may look at."""
        if self.pattern is None:
            return [None] * len(self.stages[stage])
        before = sum(len(one) for one in self.stages[:stage] if isinstance(one, AttentionStage))
        return [self.pattern.layers[(before + k) % self.pattern.period] for k in range(len(self.stages[stage]))]

    @property
    def is_soft(self) -> bool:
        """Whether it is a real Transformer, without hardmax and without activations that jump."""
        return all(
            not isinstance(stage.probability_map, Hardmax)
            if isinstance(stage, AttentionStage)
            else isinstance(stage.activation, ReLU)
            for stage in self.stages
        )

    @property
    def layer_count(self) -> int:
        """Layers of both kinds."""
        return sum(len(stage) for stage in self.stages)

    @property
    def attention_layer_count(self) -> int:
        """Layers that mix tokens."""
        return sum(len(stage) for stage in self.stages if isinstance(stage, AttentionStage))

    @property
    def parameter_count(self) -> int:
        """Numbers stored: the weights of every layer, and the positions."""
        attention = self.attention_layer_count
        positions = 0 if self.positional_encoding is None else self.positional_encoding.size
        return (
            attention * self.shape.attention_parameters(self.width)
            + (self.layer_count - attention) * self.shape.feed_forward_parameters(self.width)
            + positions
        )

    def blocks(self) -> Iterator[Block]:
        """The network as blocks of T^{h,m,r}: each attention layer with the feed-forward layer after it, if there is
        one.

        A layer that stands alone is completed by a partner that changes nothing.
        """
        waiting: AttentionLayer | None = None
        for layer in layers(self.stages):
            if isinstance(layer, FeedForwardLayer):
                yield Block(waiting or idle_attention(self.shape, self.width), layer)
                waiting = None
            else:
                if waiting is not None:
                    yield Block(waiting, idle_feed_forward(self.shape, self.width))
                waiting = layer
        if waiting is not None:
            yield Block(waiting, idle_feed_forward(self.shape, self.width))


# What a layer may look at: lists of neighbours, head h using list h mod their number; or everything.
View = tuple[Neighbours, ...] | None


def _check_pattern(pattern: SparsityPattern, tokens: int) -> None:
    if pattern.tokens != tokens:
        raise NetworkError(
            f"the pattern must have the network's {tokens} tokens; it has {pattern.tokens}. Build it at that length"
        )
    for neighbours in pattern.lists():
        if not neighbours.degrees.all():
            blind = int(np.flatnonzero(neighbours.degrees == 0)[0])
            raise NetworkError(
                f"every token must attend to at least one token; token {blind} attends to none. Add its self-loop."
            )


def _check_stage(stage: Stage, shape: BlockShape, width: int) -> None:
    wanted = {"width": width}
    if isinstance(stage, FeedForwardStage):
        wanted |= {"hidden_size": shape.hidden_size}
    else:
        wanted |= {"heads": shape.heads, "head_size": shape.head_size}
    for axis, size in wanted.items():
        if stage.sizes[axis] != size:
            raise NetworkError(
                f"stage {stage.name!r} has {axis} {stage.sizes[axis]}, but the network's is {size}; "
                f"pad it with zeros or give the network that shape"
            )
