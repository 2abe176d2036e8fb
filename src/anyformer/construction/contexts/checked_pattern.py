"""The universality checker's report on a pattern at some length, cached because planning needs it often."""

from functools import lru_cache

from anyformer.construction.request import Pattern, Request, pattern_at
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.universality.checker import check_universality
from anyformer.patterns.universality.repair import Repair
from anyformer.patterns.universality.report import UniversalityReport


@lru_cache(maxsize=64)
def report_on(pattern: Pattern, tokens: int) -> UniversalityReport:
    """What the checker finds, with witnesses and repairs."""
    pattern_at(pattern, tokens)
    return check_universality(pattern, tokens if isinstance(pattern, PatternFamily) else None)


def repair_in_words(report: UniversalityReport, repair: Repair) -> str:
    """What to change in a pattern that cannot be built on.

    The checker's repairs keep a causal pattern causal, and tables are of functions of all inputs.
    """
    return "a pattern in which tokens see later ones too" if report.causal_reach else str(repair)


def pattern_of(request: Request) -> Pattern:
    """The pattern of a request for a sparse network."""
    assert request.pattern is not None, "a request for a sparse method has a pattern"
    return request.pattern
