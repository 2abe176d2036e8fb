"""A recipe: everything that it takes to build a model of the zoo, as one value."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from types import MappingProxyType
from typing import Any

from anyformer.arrays import Array
from anyformer.errors import ZooError
from anyformer.model import Model, construct
from anyformer.networks.dtypes import DType, as_dtype
from anyformer.targets.catalogue import ready_made
from anyformer.targets.target import Symmetry, Target, target
from anyformer.workers import Progress


@dataclass(frozen=True)
class Recipe:
    """What a model of the zoo approximates, how exactly, and how it is built."""

    name: str
    description: str
    function: str | Callable[[Array], Array]
    """The name of a ready-made target, or a function of `anyformer.zoo.functions`."""
    tolerance: float
    tokens: int
    width: int = 1
    p: float = inf
    method: str = "compile"
    pattern: str | None = None
    symmetry: Symmetry | None = None
    """None: the ready-made target's own, and equivariant for a function."""
    parameters: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    """What the ready-made target takes besides its sizes."""
    limits: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    """The most heads and hidden units of a layer, if there is a limit."""
    dtype: str = "float64"
    """The type of the weights, and of the program that the proof is about."""
    dtypes: tuple[str, ...] = ("float64",)
    """The types in which the model is offered: in each of them the tolerance is proved."""

    def in_dtype(self, dtype: DType | str) -> "Recipe":
        """The same model in another of the types in which it is offered."""
        wanted = as_dtype(dtype).name
        if wanted not in self.dtypes:
            raise ZooError(
                f"the dtype of {self.name!r} must be one in which its tolerance is proved, {' or '.join(self.dtypes)}; "
                f"got {wanted}. Build one of your own with a larger tolerance: construct(…, dtype={wanted!r})."
            )
        return replace(self, dtype=wanted)

    def target(self) -> Target:
        """What is approximated. A sparse network has positions, and its target then no symmetry."""
        symmetry = Symmetry.NONE if self.pattern is not None else self.symmetry
        if isinstance(self.function, str):
            made = ready_made(self.function, self.tokens, self.width, **self.parameters)
            return made if symmetry is None else _with_symmetry(made, symmetry)
        chosen = Symmetry.EQUIVARIANT if symmetry is None else symmetry
        return target(self.function, tokens=self.tokens, width=self.width, symmetry=chosen)

    @property
    def is_ready_made(self) -> bool:
        """Whether a certificate's name is enough to find the target again."""
        return isinstance(self.function, str)

    @property
    def target_option(self) -> str | None:
        """What `anyformer verify --target` takes for a function of the zoo; None for a ready-made target."""
        return None if isinstance(self.function, str) else f"{self.function.__module__}:{self.function.__name__}"

    def build(self, progress: Progress | None = None) -> Model:
        """Build and prove it."""
        limits: dict[str, Any] = dict(self.limits)
        return construct(
            self.target(),
            self.tolerance,
            p=self.p,
            method=self.method,
            pattern=self.pattern,
            dtype=self.dtype,
            progress=progress,
            **limits,
        )

    @property
    def digest(self) -> str:
        """Differs for recipes that build different things."""
        facts = [
            self.name,
            self.function if isinstance(self.function, str) else self.target_option,
            self.tolerance.hex(),
            self.tokens,
            self.width,
            float(self.p).hex(),
            self.method,
            self.pattern,
            None if self.symmetry is None else self.symmetry.name,
            sorted(self.parameters.items()),
            sorted(self.limits.items()),
            self.dtype,
        ]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]


def _with_symmetry(made: Target, symmetry: Symmetry) -> Target:
    return replace(made, symmetry=symmetry)
