"""A whole network: stages, positions added before them, and an embedding and a read-out around them.

A network without an embedding works on the numbers of a token themselves. With one, W_E writes them into a wider
*stream*, positions and stages work on the stream, and W_R and b_R read the output from it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from anyformer.arrays import Array
from anyformer.errors import NetworkError
from anyformer.networks.activations import ReLU
from anyformer.networks.dtypes import FLOAT64, DType
from anyformer.networks.layers import (
    AttentionLayer,
    AttentionStage,
    Block,
    BlockShape,
    FeedForwardLayer,
    Stage,
    idle_attention,
    idle_feed_forward,
    layers,
    padded_attention,
    padded_feed_forward,
    sizes_in,
    weights,
)
from anyformer.networks.probability_maps import Hardmax, Softmax
from anyformer.patterns.neighbours import Neighbours
from anyformer.patterns.pattern import SparsityPattern
from anyformer.rebuilding import Rebuilt


@dataclass(frozen=True, eq=False, repr=False)
class Network(Rebuilt):
    """A Transformer on sequences of `tokens` columns of `width` numbers: embedding, positions, stages, read-out.

    No stage is larger than `shape`. With a pattern, attention layer t of the whole network uses the pattern's layer t
    mod period.
    """

    tokens: int
    width: int
    shape: BlockShape
    stages: tuple[Stage, ...]
    positional_encoding: Array | None = None
    pattern: SparsityPattern | None = None
    W_E: Array | None = None
    """The embedding, (stream_width, width); given with W_R and b_R or not at all."""
    W_R: Array | None = None
    """The read-out, (width, stream_width)."""
    b_R: Array | None = None
    """What the read-out starts from, (width,)."""
    dtype: DType = FLOAT64
    """The type of the weights, and of every number that the network computes. The arrays are float64 all the same."""

    def __post_init__(self) -> None:
        stream = self._embedded() if self.has_embedding else ("width", self.width)
        for stage in self.stages:
            _check_stage(stage, self.shape, stream[1])
        if self.positional_encoding is not None:
            self._freeze("positional_encoding", ("tokens", self.tokens), stream)
        if self.pattern is not None:
            _check_pattern(self.pattern, self.tokens)
        self._check_dtype()

    def _check_dtype(self) -> None:
        """Raise unless every weight is a number of the network's type."""
        if self.dtype == FLOAT64:
            return
        if any(stage.probability_map != Softmax() for stage in self.stages if isinstance(stage, AttentionStage)):
            raise NetworkError(f"a {self.dtype} network must have softmax attention; other maps are float64's alone")
        for name, array in self.arrays().items():
            if not self.dtype.holds(array):
                raise NetworkError(
                    f"every weight must be a {self.dtype} number; {name} has others. Round them: cast(network, dtype)."
                )

    def arrays(self) -> dict[str, Array]:
        """Every array by its name in files: stages.{k}.W_Q …, positional_encoding, W_E, W_R and b_R."""
        found = {
            f"stages.{k}.{name}": array for k, stage in enumerate(self.stages) for name, array in weights(stage).items()
        }
        around = {name: getattr(self, name) for name in (POSITIONS, *EMBEDDING)}
        return found | {name: array for name, array in around.items() if array is not None}

    def _embedded(self) -> tuple[str, int]:
        """Check and freeze the embedding and the read-out; the name and size of the axis between them."""
        missing = [name for name in EMBEDDING if getattr(self, name) is None]
        if missing:
            raise NetworkError(
                f"{', '.join(EMBEDDING)} must be given together or not at all; {', '.join(missing)} is missing. "
                f"Give zeros for a b_R that adds nothing."
            )
        stream, width = ("stream_width", len(np.atleast_1d(self.W_E))), ("width", self.width)  # type: ignore[arg-type]
        self._freeze("W_E", stream, width)
        self._freeze("W_R", width, stream)
        self._freeze("b_R", width)
        return stream

    def _freeze(self, name: str, *axes: tuple[str, int]) -> None:
        array = np.array(getattr(self, name), dtype=np.float64, order="C")
        names, sizes = ", ".join(axis for axis, _ in axes), ", ".join(str(size) for _, size in axes)
        wrong = np.argwhere(~np.isfinite(array))
        if array.shape != tuple(size for _, size in axes) or len(wrong):
            found = f" and {array[tuple(wrong[0])]} at index {tuple(wrong[0].tolist())}" if len(wrong) else ""
            raise NetworkError(
                f"{name} must be finite and of shape ({names}) = ({sizes}); got shape {array.shape}{found}"
            )
        array.setflags(write=False)
        object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        """A line a stage."""
        lines = [f"tokens={self.tokens}, width={self.width}, {self.shape}"]
        if self.dtype != FLOAT64:
            lines.append(f"dtype={self.dtype}")
        if self.has_embedding:
            lines.append(f"stream_width={self.stream_width}")
        if self.positional_encoding is not None:
            lines.append(f"positional_encoding: {self.tokens} × {self.stream_width}")
        if self.pattern is not None:
            lines.append(f"pattern={self.pattern}")
        lines += map(repr, self.stages)
        return "Network(\n" + "".join(f"  {line}\n" for line in lines) + ")"

    @property
    def has_embedding(self) -> bool:
        """Whether the stages work on a stream of their own, between an embedding and a read-out."""
        return any(getattr(self, name) is not None for name in EMBEDDING)

    @property
    def stream_width(self) -> int:
        """Numbers per token between the stages."""
        return self.width if self.W_E is None else len(self.W_E)

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
    def hidden_unit_count(self) -> int:
        """Hidden units of all feed-forward layers together."""
        feeding = [stage for stage in self.stages if not isinstance(stage, AttentionStage)]
        return sum(len(stage) * stage.sizes["hidden_size"] for stage in feeding)

    @property
    def parameter_count(self) -> int:
        """Numbers stored: the weights of every layer, the positions, the embedding and the read-out."""
        return sum(array.size for array in self.arrays().values())

    def blocks(self) -> Iterator[Block]:
        """The network as blocks of T^{h,m,r}: each attention layer with the feed-forward layer after it, if there is
        one.

        A layer that stands alone is completed by a partner that changes nothing, and one that is smaller than the
        others by zeros.
        """
        shape, width = self.shape, self.stream_width
        waiting: AttentionLayer | None = None
        for layer in layers(self.stages):
            if isinstance(layer, FeedForwardLayer):
                yield Block(waiting or idle_attention(shape, width), padded_feed_forward(layer, shape))
                waiting = None
            else:
                if waiting is not None:
                    yield Block(waiting, idle_feed_forward(shape, width))
                waiting = padded_attention(layer, shape)
        if waiting is not None:
            yield Block(waiting, idle_feed_forward(shape, width))


POSITIONS = "positional_encoding"
# Given together or not at all.
EMBEDDING = ("W_E", "W_R", "b_R")
# What a layer may look at: lists of neighbours, head h using list h mod their number; or everything.
View = tuple[Neighbours, ...] | None


def cast(network: Network, dtype: DType) -> Network:
    """The network with every weight rounded to another type, which it then runs in. No certificate holds for it."""

    def near(owner: "Network | Stage", names: Iterable[str]) -> dict[str, Any]:
        arrays = {name: getattr(owner, name) for name in names}
        return {name: dtype.rounded(array) for name, array in arrays.items() if array is not None}

    stages = tuple(replace(stage, **near(stage, stage.AXES)) for stage in network.stages)
    return replace(network, stages=stages, **near(network, (POSITIONS, *EMBEDDING)), dtype=dtype)


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


def _check_stage(stage: Stage, shape: BlockShape, stream_width: int) -> None:
    if stage.width != stream_width:
        raise NetworkError(
            f"stage {stage.name!r} has width {stage.width}, but the network's is {stream_width}; "
            f"pad it with zeros or give the network that width"
        )
    for axis, most in sizes_in(shape, stage.kind).items():
        if not 1 <= stage.sizes[axis] <= most:
            raise NetworkError(
                f"stage {stage.name!r} has {axis} {stage.sizes[axis]}, but the network's is {most}, the most that a "
                f"stage may have (the least is 1); give the network the shape of its largest stage"
            )
