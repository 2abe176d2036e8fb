"""What a user asks for, as one value: everything a method needs to know, checked once."""

import math
import reprlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias, runtime_checkable

from anyformer.certificates.bounds.bound import TIGHTNESS
from anyformer.certificates.bounds.effort import Effort, Visits
from anyformer.certificates.bounds.evidence import Evidence, evidence_for, has_slopes
from anyformer.certificates.bounds.powers import LEAST_TOLERANCE, MOST_P, MOST_TOLERANCE
from anyformer.construction.reach import reach_of
from anyformer.errors import NetworkError, PlanError, TargetError
from anyformer.networks.dtypes import FLOAT64, DType, as_dtype
from anyformer.networks.probability_maps import Hardmax, ProbabilityMap, Softmax
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.pattern import SparsityPattern
from anyformer.programs.program import Program
from anyformer.programs.tracing import trace
from anyformer.targets.domains import CompactSupport
from anyformer.targets.target import Symmetry, Target
from anyformer.whole_numbers import whole_number

Pattern: TypeAlias = PatternFamily | SparsityPattern
MAX_LAYERS = 2_000_000
# A table's network has blocks of two heads and at least four hidden units, as in the papers.
TABLE_HEADS = 2
LEAST_HIDDEN = 4
# More heads or units than any layer can use; their weights alone would fill the memory.
MOST_SIZE = 1 << 20


@runtime_checkable
class AnyMethod(Protocol):
    """What a request needs to know about a method: its name, and whether it builds sparse networks."""

    @property
    def name(self) -> str:
        """The name on the command line."""
        ...

    @property
    def is_sparse(self) -> bool | None:
        """Whether it takes a sparsity pattern; None if it builds with one and without."""
        ...


@dataclass(frozen=True, kw_only=True)
class Request:
    """A target, the allowed error, and the choices and limits for building it.

    >>> from anyformer import targets
    >>> Request(target=targets.softmax(tokens=3), tolerance=0.1).evidence
    <Evidence.UNCONDITIONAL: 'unconditional'>
    """

    target: Target
    """With a pattern it gets positions, whatever its symmetry: a pattern tells tokens apart."""
    tolerance: float
    """The ε of d_p(f, g) <= ε."""
    p: float = 2.0
    """The exponent of the norm; inf for the largest error anywhere."""
    method: AnyMethod | None = None
    """None takes the method with the fewest parameters."""
    pattern: Pattern | None = None
    """Which tokens may attend to which; without a pattern, every token attends to every token."""
    probability_map: ProbabilityMap = field(default_factory=Softmax)
    heads: int | None = None
    """The most heads of a layer; None for as many as it takes."""
    hidden_size: int | None = None
    """The most hidden units of a layer; None for the fewest that a table needs, and for as many as a step takes where a
    program is compiled."""
    tightness: float = TIGHTNESS
    """How close the proved bound should come to the true error, as a factor above 1."""
    max_layers: int = MAX_LAYERS
    effort: Effort = field(default_factory=Effort)
    """What the proof may cost."""
    dtype: DType = FLOAT64
    """The type of the weights and of the program that the proof is about; given by name too."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", _dtype(self.dtype))
        _check_types(self)
        for name in ("tolerance", "p", "tightness"):
            object.__setattr__(self, name, _number(name, getattr(self, name)))
        for name in ("heads", "hidden_size", "max_layers"):
            if getattr(self, name) is not None or name == "max_layers":
                object.__setattr__(self, name, whole_number(name, getattr(self, name), 1, PlanError))
        _check_numbers(self)
        _check_method(self)
        if self.pattern is not None and self.target.symmetry is not Symmetry.NONE:
            object.__setattr__(self, "target", replace(self.target, symmetry=Symmetry.NONE))
        _check_support(self.target)

    def but(self, **changes: Any) -> "Request":
        """The same request with some fields changed; facts about the target are kept."""
        changed = replace(self, **changes)
        if changed.target is self.target:
            changed.__dict__.update({name: fact for name, fact in self.__dict__.items() if name in _FACTS})
            if changed.p == self.p:
                changed.__dict__["table_errors"] = self.table_errors
        return changed

    @cached_property
    def evidence(self) -> Evidence:
        """What a proof will rely on."""
        return evidence_for(self.target)

    @cached_property
    def program(self) -> Program:
        """The target's formula as a program, or NotTraceable."""
        return trace(self.target)

    @cached_property
    def has_slopes(self) -> bool:
        """Whether a proof will be nearly tight, as it is by slopes."""
        return self.evidence is Evidence.UNCONDITIONAL and has_slopes(self.target)

    @cached_property
    def reach(self) -> float:
        """A bound on |f| over the domain."""
        return reach_of(self.target, self.evidence)

    @cached_property
    def table_errors(self) -> dict[object, float]:
        """Errors of tables by grid, as far as they were sampled: planning asks for the same ones again and again."""
        return {}

    @property
    def has_positions(self) -> bool:
        """Whether the network tells tokens apart by their positions."""
        return self.target.symmetry is Symmetry.NONE

    @property
    def table_hidden_size(self) -> int:
        """The hidden units of a table's layers: the limit itself, since more of them make shallower networks."""
        return LEAST_HIDDEN if self.hidden_size is None else self.hidden_size

    @property
    def visits(self) -> Visits:
        """How a proof will visit cells that differ only in the order of their tokens."""
        if self.has_positions:
            return Visits.EVERY_ORDER
        return Visits.ONCE if self.evidence is Evidence.MODULUS else Visits.TARGET_IN_EVERY_ORDER

    @cached_property
    def sparsity(self) -> SparsityPattern | None:
        """The pattern at the target's length."""
        return None if self.pattern is None else pattern_at(self.pattern, self.target.tokens)

    @property
    def entries_scale(self) -> float:
        """(volume · entries)^(1/p): the L^p norm of an error of 1 in every entry; 1 in the sup norm."""
        target = self.target
        if self.p == math.inf:
            return 1.0
        return float((target.domain.volume(target.tokens, target.width) * target.tokens * target.width) ** (1 / self.p))


_FACTS = ("evidence", "has_slopes", "reach", "program")


def pattern_at(pattern: Pattern, tokens: int) -> SparsityPattern:
    """A pattern family at this length, or the pattern itself if that is its length."""
    if isinstance(pattern, PatternFamily):
        return pattern.at(tokens)
    if pattern.tokens != tokens:
        raise PlanError(
            f"the pattern must have the target's {tokens} tokens; it has {pattern.tokens}. Give a pattern family, or "
            f"build the pattern at that length."
        )
    return pattern


def _check_types(request: Request) -> None:
    wanted: dict[str, tuple[Any, str]] = {
        "target": (Target, "a Target; make one with anyformer.target or anyformer.targets"),
        "method": (AnyMethod | None, "a method such as Averaging(), or None"),
        "pattern": (PatternFamily | SparsityPattern | None, "a pattern of anyformer.patterns, or None"),
        "effort": (Effort, "an Effort"),
    }
    for name, (kind, words) in wanted.items():
        value = getattr(request, name)
        if not isinstance(value, kind) or isinstance(value, type):
            error = TargetError if name == "target" else PlanError
            raise error(f"{name} must be {words}; got {reprlib.repr(value)}.")
    rho = request.probability_map
    if not callable(getattr(rho, "saturating_scale", None)):
        raise PlanError(f"probability_map must be a map such as Softmax() or Sparsemax(); got {reprlib.repr(rho)}.")


def _dtype(given: Any) -> DType:
    try:
        return as_dtype(given)
    except NetworkError as error:
        raise PlanError(str(error)) from error


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool | str | bytes):
        raise PlanError(f"{name} must be a number; got {reprlib.repr(value)}.")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise PlanError(f"{name} must be a number; got {reprlib.repr(value)}.") from None


def _check_numbers(request: Request) -> None:
    if not (math.isfinite(request.tolerance) and request.tolerance > 0):
        raise PlanError(f"the tolerance (epsilon) must be positive and finite; got {request.tolerance!r}.")
    if not LEAST_TOLERANCE <= request.tolerance <= MOST_TOLERANCE:
        raise PlanError(
            f"the tolerance (epsilon) must be between 2^-500 and 2^500; got {request.tolerance!r}. Rescale the "
            f"outputs to sizes near 1."
        )
    for name in ("heads", "hidden_size"):
        size = getattr(request, name)
        if size is not None and size > MOST_SIZE:
            raise PlanError(f"{name} must be at most {MOST_SIZE:,}; got {size:,}.")
    if not (1 <= request.p <= MOST_P or request.p == math.inf):
        raise PlanError(f"p must be at least 1 and at most {MOST_P:g}, or inf; got {request.p!r}.")
    if not 1 < request.tightness < math.inf:
        raise PlanError(f"the tightness must be above 1 and finite; got {request.tightness!r}.")


def _check_method(request: Request) -> None:
    if isinstance(request.probability_map, Hardmax):
        raise PlanError("hardmax is no part of a real Transformer; take softmax, sparsemax or entmax.")
    if request.dtype != FLOAT64 and request.probability_map != Softmax():
        raise PlanError(
            f"a {request.dtype} network must have softmax attention; got {request.probability_map!r}. Leave the "
            f"probability map out, or build in float64."
        )
    method = request.method
    if method is not None and method.is_sparse not in (None, request.pattern is not None):
        needs = "needs a sparsity pattern" if method.is_sparse else "takes no sparsity pattern"
        cure = "Give one (pattern=…, --pattern)" if method.is_sparse else "Leave it out, or take a sparse method"
        raise PlanError(f"{method.name} {needs}; {'none was given' if method.is_sparse else 'one was given'}. {cure}.")


def _check_support(target: Target) -> None:
    if target.symmetry is Symmetry.NONE and isinstance(target.domain, CompactSupport):
        raise PlanError(
            "a function with compact support cannot be approximated over all sequences by a network with positions: "
            "for any encoding E, the network's value at (X+E)P−E is its value at X with the tokens permuted, so it "
            "cannot vanish outside the support unless it vanishes inside. Use a box domain: the error is then taken "
            "over the box alone."
        )
