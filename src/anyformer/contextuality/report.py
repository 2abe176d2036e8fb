"""What a measurement found: layer by layer, with witnesses."""

import enum
from dataclasses import dataclass

from anyformer.certificates.contextual_map import ContextualMapReport
from anyformer.contextuality.closest import Closest, Pair
from anyformer.contextuality.similarity import Similarity
from anyformer.targets.target import Symmetry


class Contextuality(enum.Enum):
    """What the definition says of a layer on the given sequences; the value is a sentence."""

    CONTEXTUAL = "all vectors are apart by more than the margin: no pair within it exists"
    NOT_CONTEXTUAL = "two vectors that must be apart are not; the witness is a pair of them"
    UNDECIDED = "no pair within the margin was found, but a closer one may exist"

    def __repr__(self) -> str:
        return f"Contextuality.{self.name}"


@dataclass(frozen=True)
class LayerContexts:
    """One layer on all sequences. Distances are Euclidean."""

    name: str
    width: int
    spread: float
    """The root mean square distance of the vectors from their mean: what distances are large or small against."""
    margin: float
    within: Closest
    """Two positions of one sequence."""
    same_token: Closest
    """The same token in two sequences."""
    any_tokens: Closest
    """Any two tokens in two sequences."""
    apart: float | None
    """The share of places whose nearest vector of the same token in another context is farther than the margin."""
    similarity: Similarity

    @property
    def witness(self) -> Pair | None:
        """The closest pair of all that must be apart."""
        found = [one.pairs[0] for one in (self.same_token, self.any_tokens, self.within) if one.pairs]
        return min(found, key=lambda pair: pair.distance, default=None)

    @property
    def verdict(self) -> Contextuality:
        """By the definition, at the margin."""
        witness = self.witness
        if witness is not None and witness.distance <= self.margin:
            return Contextuality.NOT_CONTEXTUAL
        return Contextuality.CONTEXTUAL if self.any_tokens.margin_is_exact else Contextuality.UNDECIDED


@dataclass(frozen=True)
class Sensitivity:
    """How far the vectors of other places move when some tokens change; means over sequences, layer by layer."""

    changed: int
    """How many tokens were changed at once, at random places."""
    gaps: tuple[int, ...]
    """Distances to the nearest changed token: each entry is the smallest of a group 1, 2, 3–4, 5–8, 9–16, …"""
    moved: tuple[tuple[float, ...], ...]
    """For each layer and group: the mean movement, in units of the layer's spread."""
    reached: tuple[float, ...]
    """For each layer: the share of the other places that moved by more than the margin."""
    smallest: tuple[float, ...]
    """For each layer: the smallest movement of any other place, in units of the layer's spread."""


@dataclass(frozen=True)
class TableIds:
    """The context ids of a table that was built here, against the definition in exact numbers."""

    stage: str
    """After which tokens hold their ids."""
    agree: bool
    """Whether every id is, to the bit, the one that the labels read off the weights."""
    found: ContextualMapReport
    closest: float
    """How far apart the two closest ids are, in units of a cell."""


@dataclass(frozen=True)
class Side:
    """One place of a witness as text: the token, and what stands around it."""

    before: tuple[tuple[str, bool], ...]
    """Pieces of text, nearest last, each with whether the other side has the same piece at the same distance."""
    token: str
    after: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Witness:
    """A close pair as text."""

    kind: str
    """`same_token`, `any_tokens` or `within`."""
    distance: float
    places: tuple[tuple[int, int], tuple[int, int]]
    sides: tuple[Side, Side]


@dataclass(frozen=True)
class ContextReport:
    """Whether a model maps contexts apart, on a finite set of sequences."""

    model: str
    symmetry: Symmetry
    sequences: int
    """Different ones; `repeated` more were given that are the same contexts."""
    repeated: int
    places: int
    tokens: int
    """Different ones."""
    layers: tuple[LayerContexts, ...]
    witnesses: tuple[tuple[Witness, ...], ...]
    """For each layer."""
    sensitivity: tuple[Sensitivity, ...]
    seed: int
    ids: TableIds | None = None

    @property
    def contextual_layers(self) -> tuple[str, ...]:
        """The layers that are contextual mappings."""
        return tuple(one.name for one in self.layers if one.verdict is Contextuality.CONTEXTUAL)
