"""config.json: the sizes of a network and the names of its stages; every tensor's shape follows from them."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from anyformer import strict_json
from anyformer.errors import ModelFileError, words_of
from anyformer.exports.config_fields import FORMAT, KINDS, OLD_FORMATS, Fields
from anyformer.networks.dtypes import DTYPES, FLOAT64, DType
from anyformer.networks.layers import AttentionStage, BlockShape, Stage, own_sizes, sizes_in
from anyformer.networks.network import POSITIONS, Network
from anyformer.networks.probability_maps import CATALOGUE, Entmax, ProbabilityMap, Softmax
from anyformer.networks.roles import Role
from anyformer.patterns.exchange.json_form import to_json as pattern_to_json
from anyformer.patterns.pattern import SparsityPattern

Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class StageEntry:
    """One stage: a run of layers of one kind."""

    name: str
    role: Role
    kind: str
    layers: int
    heads: int | None = None
    head_size: int | None = None
    hidden_size: int | None = None
    """Sizes of this stage, where they are smaller than the network's."""

    @classmethod
    def of(cls, stage: Stage, shape: BlockShape) -> "StageEntry":
        """Describe a stage of a network of this shape."""
        return cls(stage.name, stage.role, stage.kind, len(stage), **own_sizes(stage, shape))

    def to_json(self) -> dict[str, Any]:
        """A JSON object; sizes that are the network's are left out."""
        said = {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
        return {**said, "role": self.role.name.lower()}


@dataclass(frozen=True)
class Config:
    """Everything about a network but its numbers. The fields are those of the file, in its order."""

    tokens: int
    width: int
    heads: int
    head_size: int
    hidden_size: int
    stages: tuple[StageEntry, ...]
    positional_encoding: bool
    probability_map: str = "softmax"
    alpha: float | None = None
    """The α of an entmax."""
    pattern: SparsityPattern | None = None
    stream_width: int | None = None
    """Numbers per token between the stages, if the network has an embedding."""
    dtype: str = FLOAT64.name
    """The type of the weights and of the program."""

    @classmethod
    def of(cls, network: Network) -> "Config":
        """Describe a network."""
        probability_map = _only_map(network)
        return cls(
            tokens=int(network.tokens),
            width=int(network.width),
            heads=int(network.shape.heads),
            head_size=int(network.shape.head_size),
            hidden_size=int(network.shape.hidden_size),
            stages=tuple(StageEntry.of(stage, network.shape) for stage in network.stages),
            positional_encoding=network.positional_encoding is not None,
            probability_map=next(name for name, kind in CATALOGUE.items() if type(probability_map) is kind),
            alpha=probability_map.alpha if isinstance(probability_map, Entmax) else None,
            pattern=network.pattern,
            stream_width=int(network.stream_width) if network.has_embedding else None,
            dtype=network.dtype.name,
        )

    def to_json(self) -> dict[str, Any]:
        """A JSON object; fields that have their usual value are left out."""
        plain = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in _UNSAID or getattr(self, field.name) != field.default
        }
        plain["stages"] = [entry.to_json() for entry in self.stages]
        return {"format": FORMAT, **plain} | (
            {} if self.pattern is None else {"pattern": pattern_to_json(self.pattern)}
        )

    @property
    def map_value(self) -> ProbabilityMap:
        """The probability map of every attention stage."""
        return CATALOGUE.make(self.probability_map, **({} if self.alpha is None else {"alpha": self.alpha}))

    @property
    def dtype_value(self) -> DType:
        """The type of the weights and of the program."""
        return DTYPES[self.dtype]

    def shapes(self) -> dict[str, Shape]:
        """The tensors that model.safetensors must hold, with their shapes."""
        found: dict[str, Shape] = {}
        for k, entry in enumerate(self.stages):
            for name, axes in KINDS[entry.kind].AXES.items():
                found[tensor_name(k, name)] = tuple(self._size(axis, entry) for axis in axes)
        stream = self.width if self.stream_width is None else self.stream_width
        if self.positional_encoding:
            found[POSITIONS] = self.tokens, stream
        if self.stream_width is not None:
            found |= {"W_E": (stream, self.width), "W_R": (self.width, stream), "b_R": (self.width,)}
        return found

    def _size(self, axis: str, entry: StageEntry) -> int:
        if axis == "width" and self.stream_width is not None:
            return self.stream_width
        own = getattr(entry, axis, None)
        return int(getattr(self, axis) if own is None else own)


_UNSAID = ("probability_map", "alpha", "pattern", "stream_width", "dtype")


def _only_map(network: Network) -> ProbabilityMap:
    """The probability map that all attention stages share."""
    maps = {stage.probability_map for stage in network.stages if isinstance(stage, AttentionStage)} or {Softmax()}
    if len(maps) > 1:
        raise ModelFileError(f"a model has one probability map for all stages; got {', '.join(map(repr, maps))}")
    return maps.pop()


def tensor_name(stage: int, name: str) -> str:
    """What a stage's array is called in model.safetensors.

    >>> tensor_name(0, "W_Q")
    'stages.0.W_Q'
    """
    return f"stages.{stage}.{name}"


def config_from_json(text: str, path: Path) -> Config:
    """Read what `to_json` gave; every fault is reported by file and field."""
    fields = Fields(_parse(text, path), f"{path}: ")
    fields.check_format()
    fields.check_names(("format", *(field.name for field in dataclasses.fields(Config))))
    fields.check_entries("tokens", "width")
    tokens, width = fields.size("tokens", at_least=2), fields.size("width")
    shape = BlockShape(fields.size("heads"), fields.size("head_size"), fields.size("hidden_size"))
    stages = tuple(_stage(entry, path, k, shape) for k, entry in enumerate(fields.stages()))
    _check_largest(fields, shape, stages)
    return Config(
        tokens=tokens,
        width=width,
        **dataclasses.asdict(shape),
        stages=stages,
        positional_encoding=fields.flag("positional_encoding"),
        probability_map=fields.map("probability_map"),
        alpha=fields.alpha("alpha"),
        pattern=fields.pattern("pattern"),
        stream_width=fields.size("stream_width") if "stream_width" in fields.data else None,
        dtype=fields.dtype("dtype"),
    )


def _check_largest(fields: Fields, shape: BlockShape, stages: tuple[StageEntry, ...]) -> None:
    """Raise unless every size is that of some stage: then the bytes that are present bound it."""
    for kind in KINDS:
        for axis, size in sizes_in(shape, kind).items():
            there = [getattr(entry, axis) or size for entry in stages if entry.kind == kind]
            if there and max(there) < size:
                raise fields.fault(axis, f"{max(there)}, the size of the largest stage")


def has_our_format(text: str) -> bool:
    """Whether this is the config of one of our models, valid or not: only this package writes the format."""
    try:
        data = strict_json.loads(text)
    except ValueError:
        return False
    return isinstance(data, dict) and data.get("format") in (FORMAT, *OLD_FORMATS)


def _parse(text: str, path: Path) -> object:
    try:
        return strict_json.loads(text)
    except ValueError as error:
        raise ModelFileError(
            f"{path} must be JSON; got {words_of(error)}. Restore the file or save the model again."
        ) from error


def _stage(data: object, path: Path, k: int, shape: BlockShape) -> StageEntry:
    fields = Fields(data, f"{path}: stages[{k}].")
    kind = fields.kind("kind")
    most = sizes_in(shape, kind)
    fields.check_names((*("name", "role", "kind", "layers"), *most))
    own = {axis: fields.size(axis, at_most=size) for axis, size in most.items() if axis in fields.data}
    return StageEntry(fields.name("name"), fields.role("role"), kind, fields.size("layers"), **own)
