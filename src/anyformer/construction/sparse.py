"""What the sparse methods share: the pattern at the length at hand, what the checker says of it, and the grid."""

from dataclasses import replace
from functools import lru_cache

from anyformer.construction.lattice import Lattice
from anyformer.construction.limits import Limits, Pattern
from anyformer.errors import PlanError
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.pattern import SparsityPattern
from anyformer.patterns.universality.checker import check_universality
from anyformer.patterns.universality.report import UniversalityReport
from anyformer.targets.domains import CompactSupport
from anyformer.targets.target import Symmetry, Target


def pattern_at(pattern: Pattern, tokens: int) -> SparsityPattern:
    """A family at this length, or the pattern itself if that is its length."""
    if isinstance(pattern, PatternFamily):
        return pattern.at(tokens)
    if pattern.tokens != tokens:
        raise PlanError(
            f"the pattern must speak of the target's {tokens} tokens; it has {pattern.tokens}. Give a family, or build "
            f"the pattern at that length."
        )
    return pattern


@lru_cache(maxsize=64)
def report_on(pattern: Pattern, tokens: int) -> UniversalityReport:
    """What the universality checker finds; asked for again and again while planning."""
    pattern_at(pattern, tokens)
    return check_universality(pattern, tokens if isinstance(pattern, PatternFamily) else None)


def wanted_pattern(limits: Limits, method: str) -> Pattern:
    """The pattern a sparse method was given."""
    if limits.pattern is None:
        raise PlanError(
            f"{method} needs a sparsity pattern: --pattern NAME, pattern=…; `anyformer pattern list` has names"
        )
    return limits.pattern


def slotted(target: Target, counts: tuple[int, ...], slot_of_token: tuple[int, ...] = ()) -> Lattice:
    """The grid with positions, one slot a token. A column must have something to tell: two cells at least."""
    if isinstance(target.domain, CompactSupport):
        raise PlanError(
            "a sparse network has positions, and with positions a function cannot vanish outside a support unless it "
            "vanishes inside; use a box domain, over which alone the error is then taken"
        )
    counts = counts if any(count > 1 for count in counts) else (2, *counts[1:])
    return replace(
        Lattice.with_counts(replace(target, symmetry=Symmetry.NONE), counts), slot_of_token=tuple(slot_of_token)
    )
