"""The patterns by their names in the papers."""

import functools
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from anyformer.catalogues import Catalogue
from anyformer.errors import PatternError
from anyformer.patterns.families.blocks import Blocked
from anyformer.patterns.families.combinators import Causal, Intersection, Multihead, Sequential, Union
from anyformer.patterns.families.factorised import Axial, Fixed, Strided
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.families.global_tokens import BigBird, Longformer, PlainStar, Star
from anyformer.patterns.families.hypercubes import Butterfly, Hypercube
from anyformer.patterns.families.random_keys import Random
from anyformer.patterns.families.windows import BlockLocal, DilatedWindow, Full, Ring, SlidingWindow

FAMILIES: Final[Mapping[str, type[PatternFamily]]] = MappingProxyType(
    {
        "full": Full,
        "sliding-window": SlidingWindow,
        "dilated-window": DilatedWindow,
        "strided": Strided,
        "fixed": Fixed,
        "star": Star,
        "plain-star": PlainStar,
        "random": Random,
        "bigbird": BigBird,
        "longformer": Longformer,
        "block-local": BlockLocal,
        "axial": Axial,
        "hypercube": Hypercube,
        "butterfly": Butterfly,
        "ring": Ring,
    }
)

COMBINATORS: Final[Mapping[str, type[PatternFamily]]] = MappingProxyType(
    {
        "causal": Causal,
        "blocked": Blocked,
        "union": Union,
        "intersection": Intersection,
        "sequential": Sequential,
        "multihead": Multihead,
    }
)
"""Families made of families, by the words of the notation: union(ring, star)."""


def _causal(family: type[PatternFamily]) -> Callable[..., PatternFamily]:
    """The constructor of a family whose tokens see no later tokens; it takes the family's own parameters."""

    @functools.wraps(family, updated=())
    def constructor(**parameters: Any) -> PatternFamily:
        return Causal(family(**parameters))

    constructor.__doc__ = f"Causal: {inspect.getdoc(family)}"
    return constructor


CATALOGUE: Final = Catalogue[PatternFamily](
    "pattern",
    {
        **FAMILIES,
        "causal": _causal(Full),
        "causal-sliding-window": _causal(SlidingWindow),
        "causal-strided": _causal(Strided),
        "causal-fixed": _causal(Fixed),
    },
    PatternError,
)


def named(name: str, **parameters: Any) -> PatternFamily:
    """The family of this name.

    >>> named("sliding-window", half_width=2)
    SlidingWindow(half_width=2)

    Args:
        name: one of CATALOGUE.
        **parameters: fields of that family; an arrangement may be given by its value, like "union".

    Returns:
        The family; its `at(tokens)` is the pattern.
    """
    return CATALOGUE.make(name, **parameters)


def descriptions() -> dict[str, str]:
    """One line about every pattern of the catalogue, by name."""
    return CATALOGUE.descriptions()


def combinators() -> dict[str, str]:
    """One line about every way to combine patterns, by name."""
    return {name: (inspect.getdoc(one) or "").partition("\n")[0] for name, one in COMBINATORS.items()}
