"""Typed access to the fields of config.json, and what each of them may be."""

import math
import reprlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from anyformer.errors import ModelFileError, PatternError
from anyformer.networks.dtypes import DTYPES, FLOAT64
from anyformer.networks.layers import AttentionStage, FeedForwardStage, Stage
from anyformer.networks.probability_maps import CATALOGUE
from anyformer.networks.roles import Role
from anyformer.patterns.exchange.json_form import from_json as pattern_from_json
from anyformer.patterns.pattern import SparsityPattern
from anyformer.targets.sizes import MAX_ENTRIES

FORMAT = "anyformer-model-2"
# Files of these versions have no roles for their stages, and certificates whose sentences have changed since.
OLD_FORMATS = ("anyformer-model-1",)
MAX_NAME = 200
MAX_STAGES = 1_000_000
# Above any file's size, and small enough that products of sizes can still be printed. The size of the file bounds what
# has weights; tokens have none, but are bounded with the width by what a target may be.
MAX_SIZE = 2**40
# Hard networks are not saved.
SAVED_MAPS = tuple(CATALOGUE)

KINDS: Final[Mapping[str, type[Stage]]] = MappingProxyType(
    {AttentionStage.kind: AttentionStage, FeedForwardStage.kind: FeedForwardStage}
)


class Fields:
    """Typed access to a JSON object that names the file and the field at fault."""

    def __init__(self, data: object, where: str) -> None:
        if not isinstance(data, dict):
            raise ModelFileError(
                f"{where.rstrip(' .:')} must be a JSON object; got {reprlib.repr(data)}. Save the model again."
            )
        self.data, self.where = data, where

    def fault(self, name: str, wanted: str) -> ModelFileError:
        """The error that says what a field must be, and what it is."""
        got = reprlib.repr(self.data[name]) if name in self.data else "nothing"
        return ModelFileError(
            f"{self.where}{name} must be {wanted}; got {got}. Restore the file or save the model again."
        )

    def check_format(self) -> None:
        """Raise unless the file is of the format that this version reads."""
        if self.data.get("format") in OLD_FORMATS:
            raise ModelFileError(
                f"{self.where}format must be {FORMAT!r}; it is {self.data['format']!r}, of an earlier version whose "
                f"certificates are no longer read. Build the model again."
            )
        if self.data.get("format") != FORMAT:
            raise self.fault("format", f"{FORMAT!r}, the one this version reads")

    def check_names(self, known: tuple[str, ...]) -> None:
        """Raise if there is a field of another name."""
        # An unknown field may change what the network means, so it is not ignored.
        for name in self.data:
            if name not in known:
                raise ModelFileError(
                    f"{self.where}{reprlib.repr(name)} must not be there, the fields are {', '.join(known)}. Remove it."
                )

    def size(self, name: str, at_least: int = 1, at_most: int = MAX_SIZE) -> int:
        """A whole number in a range."""
        value = self.data.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not at_least <= value <= at_most:
            raise self.fault(name, f"a whole number from {at_least} to {at_most}")
        return value

    def check_entries(self, *names: str) -> None:
        """Raise unless two sizes are together what a target may have."""
        if math.prod(self.size(name) for name in names) > MAX_ENTRIES:
            raise self.fault(names[0], f"at most {MAX_ENTRIES} together with {names[1]}, one times the other")

    def name(self, name: str) -> str:
        """A text that is not too long."""
        value = self.data.get(name)
        if not isinstance(value, str) or len(value) > MAX_NAME:
            raise self.fault(name, f"a string of at most {MAX_NAME} characters")
        return value

    def role(self, name: str) -> Role:
        """What a stage is for."""
        value = self.data.get(name)
        names = [role.name.lower() for role in Role]
        if not isinstance(value, str) or value not in names:
            raise self.fault(name, f"one of {', '.join(map(repr, names))}")
        return Role[value.upper()]

    def kind(self, name: str) -> str:
        """The kind of a stage."""
        value = self.data.get(name)
        if not isinstance(value, str) or value not in KINDS:
            raise self.fault(name, f"one of {', '.join(map(repr, KINDS))}")
        return value

    def map(self, name: str) -> str:
        """The name of a probability map; softmax if there is none."""
        value = self.data.get(name, "softmax")
        if not isinstance(value, str) or value not in SAVED_MAPS:
            raise self.fault(name, f"one of {', '.join(map(repr, SAVED_MAPS))}")
        return str(value)

    def dtype(self, name: str) -> str:
        """The name of a floating-point type; float64 if there is none."""
        value = self.data.get(name, FLOAT64.name)
        if not isinstance(value, str) or value not in DTYPES:
            raise self.fault(name, f"one of {', '.join(map(repr, DTYPES))}")
        return value

    def alpha(self, name: str) -> float | None:
        """The α of an entmax."""
        is_wanted = self.data.get("probability_map") == "entmax"
        value = self.data.get(name)
        if is_wanted != isinstance(value, float) or (isinstance(value, float) and not 1 < value <= 16):
            raise self.fault(name, "a number above 1 and at most 16 with an entmax, and not there without")
        return value

    def pattern(self, name: str) -> SparsityPattern | None:
        """An explicit pattern, or none."""
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
        """True or false."""
        value = self.data.get(name)
        if not isinstance(value, bool):
            raise self.fault(name, "true or false")
        return value

    def stages(self) -> list[object]:
        """The list of stages, none of them read yet."""
        value = self.data.get("stages")
        if not isinstance(value, list) or not value:
            raise self.fault("stages", "a list of at least one stage")
        if len(value) > MAX_STAGES:
            raise ModelFileError(f"{self.where}stages must be at most {MAX_STAGES} stages; got {len(value)}")
        return value
