"""Where the parts of a network are in a bridge: places (stage, layer, kind, index) and the hooks that show them.

A block of the bridge is an attention layer and the feed-forward layer after it, as in `Network.blocks()`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from anyformer.errors import ExportError
from anyformer.labels import EMBEDDING, KINDS, Place
from anyformer.networks.layers import AttentionStage
from anyformer.networks.network import Network

HEAD, UNIT, CHANNEL, STAGE = "head", "unit", "channel", "stage"


Where = tuple[int, int, str, int]
"""A `Place`, or a plain tuple of the same four values: stage, layer, kind, index."""


@dataclass(frozen=True)
class Hook:
    """A hook of the bridge, and which head, unit or channel of what it shows; None for all."""

    name: str
    index: int | None


class LayerPlace(NamedTuple):
    """A layer of a network: the number of its stage, and its own within it."""

    stage: int
    layer: int


@dataclass(frozen=True)
class BlockLayers:
    """Which layers of a network a block holds; None for a partner that changes nothing."""

    attention: LayerPlace | None
    feed_forward: LayerPlace | None


def blocks_of(network: Network) -> tuple[BlockLayers, ...]:
    """The layers of every block of `Network.blocks()`."""
    return tuple(_paired(network))


def _paired(network: Network) -> Iterator[BlockLayers]:
    waiting: LayerPlace | None = None
    for k, stage in enumerate(network.stages):
        for place in (LayerPlace(k, index) for index in range(len(stage))):
            if not isinstance(stage, AttentionStage):
                yield BlockLayers(waiting, place)
                waiting = None
                continue
            if waiting is not None:
                yield BlockLayers(waiting, None)
            waiting = place
    if waiting is not None:
        yield BlockLayers(waiting, None)


@dataclass(frozen=True)
class Hooks:
    """From places to hooks and back, for a bridge with these blocks and sizes."""

    blocks: tuple[BlockLayers, ...]
    heads: int
    hidden_size: int
    stream_width: int

    def of(self, place: Where) -> Hook:
        """The hook that shows a place: of a head its pattern, of a unit its activation, of a channel the stream after
        the layer, of a stage the stream after its last layer."""
        stage, layer, kind, index = place
        last = max((at.layer for at in self._block if at.stage == stage), default=0)
        at = LayerPlace(stage, last if kind == STAGE else layer)
        sizes = {HEAD: self.heads, UNIT: self.hidden_size, CHANNEL: self.stream_width, STAGE: 1}
        if kind not in sizes or not 0 <= index < sizes[kind] or (at not in self._block and at != (EMBEDDING, 0)):
            raise ExportError(
                f"a place must be (stage, layer, kind, index) of the network, the kind one of {', '.join(KINDS)}; "
                f"got {tuple(place)}. `lens.places()` lists them all."
            )
        if at.stage == EMBEDDING:
            self._check_kind(place, (CHANNEL, STAGE))
            return Hook("blocks.0.hook_resid_pre", index if kind == CHANNEL else None)
        block = self._block[at]
        is_attention = self.blocks[block].attention == at
        self._check_kind(place, (STAGE, CHANNEL, HEAD if is_attention else UNIT))
        if kind in (HEAD, UNIT):
            return Hook(f"blocks.{block}.{'attn.hook_pattern' if kind == HEAD else 'mlp.hook_post'}", index)
        after = "hook_resid_mid" if is_attention else "hook_resid_post"
        return Hook(f"blocks.{block}.{after}", index if kind == CHANNEL else None)

    def places(self) -> Iterator[Place]:
        """Every place, in the order of the blocks."""
        yield from (Place(EMBEDDING, 0, CHANNEL, c) for c in range(self.stream_width))
        for block in self.blocks:
            for at, kind, count in (
                (block.attention, HEAD, self.heads),
                (block.feed_forward, UNIT, self.hidden_size),
            ):
                if at is not None:
                    yield from (Place(*at, kind, index) for index in range(count))
                    yield from (Place(*at, CHANNEL, c) for c in range(self.stream_width))

    @cached_property
    def _block(self) -> dict[LayerPlace, int]:
        """The block that holds a layer."""
        return {
            at: number
            for number, block in enumerate(self.blocks)
            for at in (block.attention, block.feed_forward)
            if at is not None
        }

    def _check_kind(self, place: Where, kinds: tuple[str, ...]) -> None:
        if place[2] not in kinds:
            raise ExportError(
                f"the layer of {tuple(place)} must have a {place[2]}; it has {', '.join(kinds)}. Name one of these."
            )
