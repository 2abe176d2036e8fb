"""config.json: the sizes of a network and the names of its stages; every tensor's shape follows from them."""

import dataclasses
import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from anyformer import strict_json
from anyformer.errors import ModelFileError, PatternError, words_of
from anyformer.networks.layers import AttentionStage, BlockShape, FeedForwardStage, Stage, own_sizes, sizes_in
from anyformer.networks.network import Network
from anyformer.networks.probability_maps import CATALOGUE, Entmax, ProbabilityMap, Softmax
from anyformer.networks.roles import Role
from anyformer.patterns.exchange.json_form import from_json as pattern_from_json
from anyformer.patterns.exchange.json_form import to_json as pattern_to_json
from anyformer.patterns.pattern import SparsityPattern
from anyformer.targets.sizes import MAX_ENTRIES

Shape: TypeAlias = tuple[int, ...]

FORMAT = "anyformer-model-2"
# Files of these versions have no roles for their stages, and certificates whose sentences have changed since.
OLD_FORMATS = ("anyformer-model-1",)
MAX_NAME = 200
MAX_STAGES = 1_000_000
# Above any file's size, and small enough that products of sizes can still be printed. The size of the file bounds what
# has weights; tokens have none, but are bounded with the width by what a target may be.
MAX_SIZE = 2**40
POSITIONS = "positional_encoding"
# Hard networks are not saved.
SAVED_MAPS = tuple(CATALOGUE)

KINDS: Final[Mapping[str, type[Stage]]] = MappingProxyType(
    {AttentionStage.kind: AttentionStage, FeedForwardStage.kind: FeedForwardStage}
)


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


_UNSAID = ("probability_map", "alpha", "pattern", "stream_width")


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
    fields = _Fields(_parse(text, path), f"{path}: ")
    fields.check_format()
    fields.check_names(("format", *(field.name for field in dataclasses.fields(Config))))
    fields.check_entries("tokens", "width")
    tokens, width = fields.size("tokens", at_least=2), fields.size("width")
    shape = BlockShape(fields.size("heads"), fields.size("head_size"), fields.size("hidden_size"))
    return Config(
        tokens=tokens,
        width=width,
        **dataclasses.asdict(shape),
        stages=tuple(_stage(entry, path, k, shape) for k, entry in enumerate(fields.stages())),
        positional_encoding=fields.flag("positional_encoding"),
        probability_map=fields.map("probability_map"),
        alpha=fields.alpha("alpha"),
        pattern=fields.pattern("pattern"),
        stream_width=fields.size("stream_width") if "stream_width" in fields.data else None,
    )


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
    fields = _Fields(data, f"{path}: stages[{k}].")
    kind = fields.kind("kind")
    most = sizes_in(shape, kind)
    fields.check_names((*("name", "role", "kind", "layers"), *most))
    own = {axis: fields.size(axis, at_most=size) for axis, size in most.items() if axis in fields.data}
    return StageEntry(fields.name("name"), fields.role("role"), kind, fields.size("layers"), **own)


class _Fields:
    """Typed access to a JSON object that names the file and the field at fault."""

    def __init__(self, data: object, where: str) -> None:
        if not isinstance(data, dict):
            raise ModelFileError(
                f"{where.rstrip(' .:')} must be a JSON object; got {reprlib.repr(data)}. Save the model again."
            )
        self.data, self.where = data, where

    def fault(self, name: str, wanted: str) -> ModelFileError:
        got = reprlib.repr(self.data[name]) if name in self.data else "nothing"
        return ModelFileError(
            f"{self.where}{name} must be {wanted}; got {got}. Restore the file or save the model again."
        )

    def check_format(self) -> None:
        if self.data.get("format") in OLD_FORMATS:
            raise ModelFileError(
                f"{self.where}format must be {FORMAT!r}; it is {self.data['format']!r}, of an earlier version whose "
                f"certificates are no longer read. Build the model again."
            )
        if self.data.get("format") != FORMAT:
            raise self.fault("format", f"{FORMAT!r}, the one this version reads")

    def check_names(self, known: tuple[str, ...]) -> None:
        # An unknown field may change what the network means, so it is not ignored.
        for name in self.data:
            if name not in known:
                raise ModelFileError(
                    f"{self.where}{reprlib.repr(name)} must not be there, the fields are {', '.join(known)}. Remove it."
                )

    def size(self, name: str, at_least: int = 1, at_most: int = MAX_SIZE) -> int:
        value = self.data.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not at_least <= value <= at_most:
            raise self.fault(name, f"a whole number from {at_least} to {at_most}")
        return value

    def check_entries(self, *names: str) -> None:
        if math.prod(self.size(name) for name in names) > MAX_ENTRIES:
            raise self.fault(names[0], f"at most {MAX_ENTRIES} together with {names[1]}, one times the other")

    def name(self, name: str) -> str:
        value = self.data.get(name)
        if not isinstance(value, str) or len(value) > MAX_NAME:
            raise self.fault(name, f"a string of at most {MAX_NAME} characters")
        return value

    def role(self, name: str) -> Role:
        value = self.data.get(name)
        names = [role.name.lower() for role in Role]
        if not isinstance(value, str) or value not in names:
            raise self.fault(name, f"one of {', '.join(map(repr, names))}")
        return Role[value.upper()]

    def kind(self, name: str) -> str:
        value = self.data.get(name)
        if not isinstance(value, str) or value not in KINDS:
            raise self.fault(name, f"one of {', '.join(map(repr, KINDS))}")
        return value

    def map(self, name: str) -> str:
        value = self.data.get(name, Config.probability_map)
        if not isinstance(value, str) or value not in SAVED_MAPS:
            raise self.fault(name, f"one of {', '.join(map(repr, SAVED_MAPS))}")
        return str(value)

    def alpha(self, name: str) -> float | None:
        is_wanted = self.data.get("probability_map") == "entmax"
        value = self.data.get(name)
        if is_wanted != isinstance(value, float) or (isinstance(value, float) and not 1 < value <= 16):
            raise self.fault(name, "a number above 1 and at most 16 with an entmax, and not there without")
        return value

    def pattern(self, name: str) -> SparsityPattern | None:
        if name not in self.data:
            return None
        try:
            value = pattern_from_json(self.data[name])
        except PatternError as error:
            raise ModelFileError(f"{self.where}{name}: {error}") from error
        if not isinstance(value, SparsityPattern):
            raise self.fault(name, "the lists of an explicit pattern")
        return value

    def flag(self, name: str) -> bool:
        value = self.data.get(name)
        if not isinstance(value, bool):
            raise self.fault(name, "true or false")
        return value

    def stages(self) -> list[object]:
        value = self.data.get("stages")
        if not isinstance(value, list) or not value:
            raise self.fault("stages", "a list of at least one stage")
        if len(value) > MAX_STAGES:
            raise ModelFileError(f"{self.where}stages must be at most {MAX_STAGES} stages; got {len(value)}")
        return value
