"""Layers, blocks and stages of T^{h,m,r}, as frozen data.

A *layer* is attention or feed-forward, with its residual. A *block* is one of each. A *stage* is a run of layers of one
kind that does one step of the proof, its weights stacked along the first axis: `stage[k]` is a layer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from anyformer.arrays import Array
from anyformer.errors import NetworkError
from anyformer.networks.activations import Activation, ReLU
from anyformer.networks.probability_maps import ProbabilityMap, Softmax
from anyformer.networks.roles import Role
from anyformer.rebuilding import Rebuilt


@dataclass(frozen=True)
class BlockShape:
    """h heads of size m and r hidden units: the paper's T^{h,m,r}."""

    heads: int = 2
    head_size: int = 1
    hidden_size: int = 4

    def attention_parameters(self, width: int) -> int:
        """Count the numbers in one attention layer: W_Q, W_K, W_V, W_O and b_Q."""
        return self.heads * self.head_size * (4 * width + 1)

    def feed_forward_parameters(self, width: int) -> int:
        """Count the numbers in one feed-forward layer: W_1, W_2, b_1 and b_2."""
        return self.hidden_size * (2 * width + 1) + width

    def parameters(self, width: int) -> int:
        """Count the numbers in one block, 17·width + 6 for T^{2,1,4}, whatever the number of tokens."""
        return self.attention_parameters(width) + self.feed_forward_parameters(width)


@dataclass(frozen=True, eq=False)
class _Weights(Rebuilt):
    """Arrays with named axes: every subclass states the axes of its fields once, and they are checked on creation."""

    AXES: ClassVar[dict[str, tuple[str, ...]]]

    def __post_init__(self) -> None:
        sizes: dict[str, int] = {}
        for name, axes in self.AXES.items():
            array = np.array(getattr(self, name), dtype=np.float64, order="C")
            _check_axes(type(self).__name__, name, axes, array.shape, sizes)
            if not np.isfinite(array).all():
                where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
                raise NetworkError(f"{name} must be finite; got {array[where]} at index {where}")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "sizes", sizes)

    @property
    def width(self) -> int:
        """Numbers per token."""
        return self.sizes["width"]

    sizes: dict[str, int] = field(init=False, repr=False)

    def __repr__(self) -> str:
        """Everything but the numbers: there may be millions of them."""
        given = {one.name: getattr(self, one.name) for one in fields(self) if one.repr and one.name not in self.AXES}
        shown = ", ".join(f"{name}={value!r}" for name, value in (given | self.sizes).items())
        return f"{type(self).__name__}({shown})"


def _check_axes(owner: str, name: str, axes: tuple[str, ...], shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    wanted = f"[{', '.join(axes)}]"
    if len(shape) != len(axes):
        raise NetworkError(f"{name} of {owner} must have the axes {wanted}; got an array of shape {shape}")
    for axis, size in zip(axes, shape, strict=True):
        if sizes.setdefault(axis, size) != size:
            raise NetworkError(
                f"{name} {wanted} of {owner} has shape {shape}, but {axis} is {sizes[axis]} in the arrays before it"
            )


@dataclass(frozen=True, eq=False, repr=False)
class AttentionLayer(_Weights):
    """X + Σ_i W_O^i (W_V^i X) probability_map[(W_K^i X)ᵀ (W_Q^i X + b_Q^i)], over keys, per query."""

    W_Q: Array
    b_Q: Array
    W_K: Array
    W_V: Array
    W_O: Array
    probability_map: ProbabilityMap = field(default_factory=Softmax)

    AXES: ClassVar[dict[str, tuple[str, ...]]] = {
        "W_Q": ("heads", "head_size", "width"),
        "b_Q": ("heads", "head_size"),
        "W_K": ("heads", "head_size", "width"),
        "W_V": ("heads", "head_size", "width"),
        "W_O": ("heads", "width", "head_size"),
    }


@dataclass(frozen=True, eq=False, repr=False)
class FeedForwardLayer(_Weights):
    """X + W_2 activation(W_1 X + b_1) + b_2, per token."""

    W_1: Array
    b_1: Array
    W_2: Array
    b_2: Array
    activation: Activation = field(default_factory=ReLU)

    AXES: ClassVar[dict[str, tuple[str, ...]]] = {
        "W_1": ("hidden_size", "width"),
        "b_1": ("hidden_size",),
        "W_2": ("width", "hidden_size"),
        "b_2": ("width",),
    }


@dataclass(frozen=True, eq=False, repr=False)
class AttentionStage(_Weights):
    """A named run of attention layers, stacked."""

    name: str
    W_Q: Array
    b_Q: Array
    W_K: Array
    W_V: Array
    W_O: Array
    probability_map: ProbabilityMap = field(default_factory=Softmax)
    role: Role = Role.OTHER

    kind: ClassVar[str] = "attention"
    AXES: ClassVar[dict[str, tuple[str, ...]]] = {name: ("layers", *axes) for name, axes in AttentionLayer.AXES.items()}

    def __len__(self) -> int:
        return self.sizes["layers"]

    def __getitem__(self, k: int) -> AttentionLayer:
        return AttentionLayer(self.W_Q[k], self.b_Q[k], self.W_K[k], self.W_V[k], self.W_O[k], self.probability_map)


@dataclass(frozen=True, eq=False, repr=False)
class FeedForwardStage(_Weights):
    """A named run of feed-forward layers, stacked; all with the same activation."""

    name: str
    W_1: Array
    b_1: Array
    W_2: Array
    b_2: Array
    activation: Activation = field(default_factory=ReLU)
    role: Role = Role.OTHER

    kind: ClassVar[str] = "feed_forward"
    AXES: ClassVar[dict[str, tuple[str, ...]]] = {
        name: ("layers", *axes) for name, axes in FeedForwardLayer.AXES.items()
    }

    def __len__(self) -> int:
        return self.sizes["layers"]

    def __getitem__(self, k: int) -> FeedForwardLayer:
        return FeedForwardLayer(self.W_1[k], self.b_1[k], self.W_2[k], self.b_2[k], self.activation)


Layer = AttentionLayer | FeedForwardLayer
Stage = AttentionStage | FeedForwardStage
LayerKind = TypeVar("LayerKind", AttentionLayer, FeedForwardLayer)


@dataclass(frozen=True)
class Block:
    """One attention layer followed by one feed-forward layer."""

    attention: AttentionLayer
    feed_forward: FeedForwardLayer


def idle_attention(shape: BlockShape, width: int) -> AttentionLayer:
    """Attention that changes nothing: W_O = 0."""
    inward = np.zeros((shape.heads, shape.head_size, width))
    return AttentionLayer(inward, inward[..., 0], inward, inward, np.zeros((shape.heads, width, shape.head_size)))


def idle_feed_forward(shape: BlockShape, width: int) -> FeedForwardLayer:
    """Feed-forward that changes nothing: W_2 = 0 and b_2 = 0."""
    hidden = np.zeros((shape.hidden_size, width))
    return FeedForwardLayer(hidden, hidden[:, 0], hidden.T, np.zeros(width))


def sizes_in(shape: BlockShape, kind: str) -> dict[str, int]:
    """The axes of a kind of stage that the network's shape bounds, with these bounds."""
    if kind == FeedForwardStage.kind:
        return {"hidden_size": shape.hidden_size}
    return {"heads": shape.heads, "head_size": shape.head_size}


def own_sizes(stage: Stage, shape: BlockShape) -> dict[str, int]:
    """The sizes in which a stage is smaller than its network's shape; none in most networks."""
    return {axis: stage.sizes[axis] for axis, most in sizes_in(shape, stage.kind).items() if stage.sizes[axis] != most}


def padded_attention(layer: AttentionLayer, shape: BlockShape) -> AttentionLayer:
    """The layer with zeros up to this shape: a head that is added returns nothing, and a row adds 0 to the scores."""
    return _padded(layer, sizes_in(shape, AttentionStage.kind))


def padded_feed_forward(layer: FeedForwardLayer, shape: BlockShape) -> FeedForwardLayer:
    """The layer with zeros up to this shape: a unit that is added moves nothing."""
    return _padded(layer, sizes_in(shape, FeedForwardStage.kind))


def _padded(layer: LayerKind, sizes: dict[str, int]) -> LayerKind:
    if all(layer.sizes[axis] == size for axis, size in sizes.items()):
        return layer
    room = {axis: (0, sizes.get(axis, size) - size) for axis, size in layer.sizes.items()}
    larger: dict[str, Any] = {
        name: np.pad(getattr(layer, name), [room[axis] for axis in axes]) for name, axes in layer.AXES.items()
    }
    return replace(layer, **larger)


def layers(stages: tuple[Stage, ...]) -> Iterator[Layer]:
    """Every layer of the stages, in order."""
    for stage in stages:
        for k in range(len(stage)):
            yield stage[k]


def weights(stage: Stage) -> dict[str, Array]:
    """The arrays of a stage by the papers' names."""
    return {entry.name: getattr(stage, entry.name) for entry in fields(stage) if entry.name in stage.AXES}
