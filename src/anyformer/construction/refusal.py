"""Why something cannot be built, as data: what it needs, what is allowed, what would fit. Messages are made from it."""

import enum
import math
from dataclasses import dataclass, field, replace

from anyformer.construction.request import Request
from anyformer.errors import PlanError
from anyformer.networks.dtypes import FLOAT64


class Resource(enum.Enum):
    """A resource that a request may exceed."""

    LAYERS = "layers"
    ID_BITS = "bits of an id"
    RAMP = "width of a ramp between cells"
    CELLS = "cells to visit"
    MEMORY = "bytes of memory"
    SECONDS = "seconds of one core"
    CODES = "codes that keep all inputs and tokens apart"
    PATTERN = "links in the sparsity pattern"
    NODES = "nodes of a grid"
    BITS = "bits of a number"


@dataclass(frozen=True)
class Shortage:
    """What is needed, at least, and what is allowed."""

    resource: Resource
    needed: float = math.nan
    allowed: float = math.nan
    detail: str = ""
    """The reason in words, where numbers are not enough; the type of the numbers, where bits are short."""

    def __str__(self) -> str:
        """In words.

        >>> str(Shortage(Resource.LAYERS, 17, 10))
        '17 layers where 10 are allowed'
        """
        if self.resource in (Resource.CODES, Resource.PATTERN):
            return self.detail
        if self.resource is Resource.ID_BITS:
            return f"{self.amount}, where {self._dtype} has {self.allowed:.0f} for the id and the output together"
        if self.resource is Resource.BITS:
            return f"{self.amount}, where {self._dtype} has {self.allowed:.0f}"
        if self.resource is Resource.RAMP:
            return f"{self.amount}, where {self._dtype} keeps sums exact down to {self.allowed:.1e}"
        return f"{self.amount} where {_count(self.allowed)} are allowed"

    @property
    def _dtype(self) -> str:
        return self.detail or FLOAT64.name

    @property
    def amount(self) -> str:
        """What is needed, in few words.

        >>> Shortage(Resource.ID_BITS, 61, 53).amount
        'ids of 61 bits'
        """
        match self.resource:
            case Resource.ID_BITS:
                return f"ids of {self.needed:.0f} bits"
            case Resource.BITS:
                return f"numbers of {self.needed:.0f} bits"
            case Resource.RAMP:
                return f"ramps of width {self.needed:.1e} between cells"
            case Resource.CODES | Resource.PATTERN:
                return str(self.resource.value)
            case _:
                return f"{_count(self.needed)} {self.resource.value}"


@dataclass(frozen=True)
class Fit:
    """What would fit instead: each change alone, everything else as requested; None or empty if nothing is known."""

    tolerance: float | None = None
    tokens: int | None = None
    methods: tuple[str, ...] = ()
    repair: str = ""
    """How to repair a sparsity pattern."""

    def lines(self) -> list[str]:
        """In words, one way a line."""
        return [
            *([] if self.tolerance is None else [f"a tolerance of {self.tolerance:.3g} or more"]),
            *([] if self.tokens is None else [f"{self.tokens} tokens"]),
            *(f"the method {name} (--method {name})" for name in self.methods),
            *([self.repair] if self.repair else []),
        ]


LIMITS = {
    Resource.LAYERS: "a higher limit on the layers (--max-layers) or wider layers (--hidden-size, --heads)",
    Resource.CELLS: "a higher limit on the cells (--max-cells)",
    Resource.MEMORY: "a higher limit on the memory (--max-memory)",
    Resource.BITS: "a wider type (--dtype)",
    Resource.SECONDS: "a higher limit on the time (--max-hours)",
}


@dataclass(frozen=True)
class Refusal:
    """A request that a method cannot meet."""

    method: str
    shortage: Shortage
    fit: Fit = field(default_factory=Fit)
    request: Request | None = None
    cells_per_axis: tuple[int, ...] | None = None
    """The smallest grid that the tolerance needs."""
    before: str = ""
    """Why a method that was to be preferred refused."""

    @property
    def reason(self) -> str:
        """Why, without repeating what was asked."""
        if self.cells_per_axis is None:
            return str(self.shortage)
        return f"it needs at least {' × '.join(map(str, self.cells_per_axis))} cells per token, and so {self.shortage}"

    def __str__(self) -> str:
        lines = self.fit.lines()
        limit = LIMITS.get(self.shortage.resource)
        ways = [*lines, *([limit] if limit else [])] or ["a larger tolerance, fewer tokens or a smaller width"]
        return "\n".join(
            [
                *([self.before] if self.before else []),
                f"{self._what} {self.method}: {self.reason}.",
                "What would fit:",
                *(f"  - {w}" for w in ways),
            ]
        )

    @property
    def _what(self) -> str:
        if self.request is None:
            return "nothing can be built by"
        target = self.request.target
        return (
            f"{target.name} on {target.tokens} tokens of width {target.width} with error {self.request.tolerance:g} in "
            f"L^{self.request.p:g} cannot be built by"
        )

    def error(self) -> PlanError:
        """The exception for this refusal."""
        return PlanError(str(self), self)

    def but(self, fit: Fit) -> "Refusal":
        """The same refusal with another `fit`."""
        return replace(self, fit=fit)


def _count(number: float) -> str:
    return f"{number:,.0f}" if number < 1e12 else f"about 2^{math.log2(number):.0f}"


def rounded_up(x: float) -> float:
    """The next larger number with three digits, so that the printed number is large enough.

    >>> rounded_up(0.29301)
    0.294
    """
    unit = 10.0 ** (math.floor(math.log10(x)) - 2)
    return float(f"{math.ceil(x / unit) * unit:.3g}")
