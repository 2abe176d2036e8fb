"""Patterns as people type them: star, strided:stride=4, causal(union(ring, star)), blocked(bigbird):block=64; or JSON.

In a combination, a comma starts the next part, unless key=value follows: then it is one more option of the part before.
"""

import dataclasses
import re
import reprlib
from collections.abc import Mapping
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Final, cast

from anyformer import strict_json
from anyformer.catalogues import did_you_mean
from anyformer.errors import PatternError
from anyformer.patterns.arrangement import Arrangement
from anyformer.patterns.catalogue import CATALOGUE, COMBINATORS
from anyformer.patterns.exchange.json_form import from_json, kind_of
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.pattern import SparsityPattern
from anyformer.settings import settings_of

DESCRIBED: Final = "described"
"""The key under which JSON that is about a pattern holds the pattern itself."""
_COMBINED = re.compile(r"\s*([\w-]+)\s*\((.*)\)\s*(?::(.*))?", re.DOTALL)
_OPTION = re.compile(r"\s*[\w-]+\s*=")
_MOST_DEPTH = 32  # far more than anyone types, and far less than what overflows the stack


def in_short(pattern: PatternFamily | SparsityPattern) -> str:
    """A family in the notation that `parse` reads, with only the options that differ from their defaults.

    >>> from anyformer.patterns import Blocked, Causal, Ring, SlidingWindow
    >>> in_short(Causal(Blocked(Ring(), block=8) | SlidingWindow(2)))
    'causal(union(blocked(ring):block=8, sliding-window:half_width=2))'
    """
    if isinstance(pattern, SparsityPattern):
        return "explicit pattern"
    kind = kind_of(pattern)
    if kind is None:
        return repr(pattern)
    fields = {field: getattr(pattern, field.name) for field in dataclasses.fields(cast(Any, pattern))}
    inner = [part for value in fields.values() for part in _families(value)]
    options = [
        f"{field.name}={value.value if isinstance(value, Arrangement) else value}"
        for field, value in fields.items()
        if value != field.default and not _families(value)
    ]
    name = f"{kind}({', '.join(map(in_short, inner))})" if inner else kind
    return f"{name}:{','.join(options)}" if options else name


def has_name(family: PatternFamily) -> bool:
    """Whether JSON and the notation can hold it: not if it is a family of one's own, or is made of one."""
    if kind_of(family) is None:
        return False
    values = (getattr(family, field.name) for field in dataclasses.fields(cast(Any, family)))
    return all(has_name(part) for value in values for part in _families(value))


def parse(text: str) -> PatternFamily:
    """A family from its notation, as on a command line.

    >>> parse("strided:stride=4,arrangement=union")
    Strided(stride=4, arrangement=<Arrangement.UNION: 'union'>)
    >>> parse("blocked(union(ring, sliding-window:half_width=2)):block=8")
    Blocked(of=Union(parts=(Ring(), SlidingWindow(half_width=2))), block=8)
    """
    _check_brackets(text)
    return _parsed(text)


def read_pattern(text: str) -> PatternFamily | SparsityPattern:
    """A pattern from the notation, from a file that ends in .json, or from JSON itself, as a command line takes it.

    The JSON is what `to_json` gives, or an object that holds it under "described", as `pattern check --json` prints.
    """
    try:
        if text.lstrip().startswith("{"):
            return _from_object(strict_json.loads(text))
        if text.strip().endswith(".json"):
            return _from_object(strict_json.read(Path(text.strip())))
    except OSError as error:
        raise PatternError(f"the pattern {text.strip()!r} must be a file that can be read; {error}.") from error
    except ValueError as error:
        raise PatternError(f"the pattern {reprlib.repr(text)} must be JSON; {error}. Fix the JSON.") from error
    return parse(text)


def _from_object(data: object) -> PatternFamily | SparsityPattern:
    about = isinstance(data, Mapping) and "kind" not in data and DESCRIBED in data
    return from_json(cast(Mapping[str, object], data)[DESCRIBED] if about else data)


def _families(value: object) -> tuple[PatternFamily, ...]:
    """The families in a field: one, several, or none."""
    inside = value if isinstance(value, tuple) else (value,)
    return tuple(part for part in inside if isinstance(part, PatternFamily))


def _check_brackets(text: str) -> None:
    """Refuse brackets that do not match, and so many that reading them would overflow the stack."""
    depths = _depths(text)
    if min(depths) < 0 or depths[-1]:
        raise PatternError(f"every bracket must be closed once; got {reprlib.repr(text)}. Count the brackets.")
    if max(depths) > _MOST_DEPTH:
        raise PatternError(f"patterns must be nested at most {_MOST_DEPTH} deep; {reprlib.repr(text)} is deeper.")


def _depths(text: str) -> list[int]:
    """In how many brackets each letter stands, and a last entry after all of them."""
    return list(accumulate(((letter == "(") - (letter == ")") for letter in text), initial=0))


def _parsed(text: str) -> PatternFamily:
    if "(" not in text:
        return CATALOGUE.parse(text)
    found = _COMBINED.fullmatch(text)
    if found is None or min(_depths(found[2])) < 0:
        raise PatternError(
            f"a combination must read name(pattern, …) or name(pattern, …):key=value; got {text.strip()!r}."
            " Example: causal(union(ring, star))."
        )
    name, inside, options = found[1].replace("_", "-"), found[2], found[3]
    return _combined(name, [_parsed(part) for part in _parts(inside)], options or "")


def _combined(name: str, parts: list[PatternFamily], options: str) -> PatternFamily:
    if name not in COMBINATORS:
        raise PatternError(
            f"a pattern of patterns must be one of {', '.join(COMBINATORS)}; got {name!r}."
            f"{did_you_mean(name, COMBINATORS)}"
        )
    first, *others = [field.name for field in dataclasses.fields(cast(Any, COMBINATORS[name]))]
    settings = settings_of(
        [one.strip() for one in options.split(",") if one.strip()],
        f"{name}(ring):{others[0]}=…" if others else f"{name}(ring)",
        PatternError,
    )
    if set(settings) != set(others):
        wanted = f"the options {', '.join(others)}" if others else "no options"
        raise PatternError(
            f"{name}(…) must get {wanted}; got {', '.join(settings) or 'none'}."
            f" Write {name}(ring){f':{others[0]}=…' if others else ''}."
        )
    if first == "parts":
        return COMBINATORS[name](parts=tuple(parts))  # type: ignore[call-arg]
    if len(parts) != 1:
        raise PatternError(
            f"{name}(…) must be of one pattern; got {len(parts)}. Combine them first: union(ring, star)."
        )
    return COMBINATORS[name](**{first: parts[0], **settings})


def _parts(inside: str) -> list[str]:
    """The parts between commas that stand in no further brackets; options go with the part before them."""
    commas = [place for place, depth in enumerate(_depths(inside)[:-1]) if inside[place] == "," and not depth]
    parts = list[str]()
    for start, end in pairwise([-1, *commas, len(inside)]):
        piece = inside[start + 1 : end]
        if _OPTION.match(piece) and parts:
            parts[-1] += f",{piece}"
        else:
            parts.append(piece)
    return parts
