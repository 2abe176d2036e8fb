"""config.json of a model in TransformerLens: the bridge's sizes and type, and which layers each block holds."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from anyformer.errors import ModelFileError
from anyformer.exports.transformer_lens.places import BlockLayers, LayerPlace, blocks_of
from anyformer.exports.transformer_lens.weights import DTYPES, Sizes, sizes_of
from anyformer.networks.dtypes import DType
from anyformer.networks.network import Network

FORMAT = "anyformer-transformer-lens-1"
NAMES = ("format", "dtype", "sizes", "blocks")


@dataclass(frozen=True)
class BridgeConfig:
    """What is known of a bridge besides its weights."""

    sizes: Sizes
    dtype: DType
    blocks: tuple[BlockLayers, ...]

    @classmethod
    def of(cls, network: Network) -> "BridgeConfig":
        """Of a network's bridge."""
        return cls(sizes_of(network), network.dtype, blocks_of(network))

    def to_json(self) -> dict[str, Any]:
        """A JSON object; for every block the [stage, layer] of its attention and of its feed-forward layer."""
        blocks = [{"attention": _pair(one.attention), "feed_forward": _pair(one.feed_forward)} for one in self.blocks]
        return {"format": FORMAT, "dtype": self.dtype.name, "sizes": self.sizes.to_json(), "blocks": blocks}


def _pair(place: LayerPlace | None) -> list[int] | None:
    return None if place is None else list(place)


def has_our_format(data: Any) -> bool:
    """Whether a JSON value calls itself a config of ours."""
    return isinstance(data, dict) and data.get("format") == FORMAT


def config_from_json(data: Any, path: Path) -> BridgeConfig:
    """Read what `to_json` gave; a fault is reported by the field it is in."""
    if not has_our_format(data) or set(data) != set(NAMES):
        raise ModelFileError(
            f"{path} must be a JSON object of the format {FORMAT!r} with the fields {', '.join(NAMES)}; "
            f"got {data!r:.200}. Export the model again."
        )
    by_name = {dtype.name: dtype for dtype in DTYPES}
    if not isinstance(data["dtype"], str) or data["dtype"] not in by_name:
        raise ModelFileError(f"{path}: dtype must be one of {', '.join(by_name)}; got {data['dtype']!r:.200}.")
    names = {field.name for field in fields(Sizes)}
    if not isinstance(data["sizes"], dict) or set(data["sizes"]) != names:
        raise ModelFileError(f"{path}: sizes must have {', '.join(sorted(names))}; got {data['sizes']!r:.200}.")
    for name, size in data["sizes"].items():
        if type(size) is not int or not 1 <= size < 2**31:
            raise ModelFileError(f"{path}: sizes.{name} must be a whole number from 1 up; got {size!r:.200}.")
    sizes = Sizes(**data["sizes"])
    if not isinstance(data["blocks"], list) or len(data["blocks"]) != sizes.n_layers:
        raise ModelFileError(f"{path}: blocks must be a list with an entry for each of the {sizes.n_layers} blocks.")
    blocks = tuple(_block(entry, f"{path}: blocks[{index}]") for index, entry in enumerate(data["blocks"]))
    return BridgeConfig(sizes, by_name[data["dtype"]], blocks)


def _block(entry: Any, where: str) -> BlockLayers:
    if not isinstance(entry, dict) or set(entry) != {"attention", "feed_forward"}:
        raise ModelFileError(f"{where} must have the fields attention, feed_forward; got {entry!r:.200}.")
    return BlockLayers(*(_place(entry[name], f"{where}.{name}") for name in ("attention", "feed_forward")))


def _place(pair: Any, where: str) -> LayerPlace | None:
    if pair is None:
        return None
    if not isinstance(pair, list) or len(pair) != 2 or not all(type(one) is int and one >= 0 for one in pair):
        raise ModelFileError(f"{where} must be [stage, layer] or null; got {pair!r:.200}.")
    return LayerPlace(*pair)
