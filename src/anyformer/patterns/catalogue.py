"""The patterns by the names under which papers know them."""

import dataclasses
import difflib
import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from anyformer import strict_json
from anyformer.errors import PatternError
from anyformer.patterns.families.combinators import Causal
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
CAUSAL: Final[Mapping[str, type[PatternFamily]]] = MappingProxyType(
    {
        "causal": Full,
        "causal-sliding-window": SlidingWindow,
        "causal-strided": Strided,
        "causal-fixed": Fixed,
    }
)
CATALOGUE: Final[Mapping[str, type[PatternFamily]]] = MappingProxyType({**FAMILIES, **CAUSAL})


def named(name: str, **options: Any) -> PatternFamily:
    """The family of this name.

    >>> named("sliding-window", half_width=2)
    SlidingWindow(half_width=2)

    Args:
        name: a key of CATALOGUE.
        **options: fields of that family; an arrangement may be given by its value, like "union".

    Returns:
        The family; its `at(tokens)` is the pattern.
    """
    if name not in CATALOGUE:
        close = difflib.get_close_matches(name, CATALOGUE, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise PatternError(f"a pattern must be one of {', '.join(CATALOGUE)}; got {name!r}.{hint}")
    taken = [field.name for field in dataclasses.fields(CATALOGUE[name])]  # type: ignore[arg-type]
    for option in options:
        if option not in taken:
            others = f" but {', '.join(taken)}" if taken else ""
            raise PatternError(f"the pattern {name!r} must get no options{others}; got {option!r}. Leave it out.")
    family = CATALOGUE[name](**options)
    return Causal(family) if name in CAUSAL else family


def parse(text: str) -> PatternFamily:
    """A name with options, as on a command line.

    >>> parse("strided:stride=4,arrangement=union")
    Strided(stride=4, arrangement=<Arrangement.UNION: 'union'>)
    """
    name, _, options = text.partition(":")
    pairs = [option.partition("=") for option in options.split(",") if option.strip()]
    if not all(sign for _, sign, _ in pairs):
        raise PatternError(
            f"options must read name=value, parted by commas; got {options!r}. Example: strided:stride=4."
        )
    return named(name.strip(), **{key.strip(): _value(value.strip()) for key, _, value in pairs})


def descriptions() -> dict[str, str]:
    """One line about every pattern of the catalogue, by name."""
    firsts = {name: (inspect.getdoc(family) or "").partition("\n")[0] for name, family in CATALOGUE.items()}
    return {name: f"Causal: {line}" if name in CAUSAL else line for name, line in firsts.items()}


def _value(text: str) -> Any:
    try:
        return strict_json.loads(text)
    except ValueError:
        return text
