"""Requests as users write them: names and functions instead of values."""

import reprlib
from collections.abc import Callable
from typing import Any

from anyformer.catalogues import did_you_mean
from anyformer.construction.methods import METHODS
from anyformer.construction.plans.plan import Method
from anyformer.construction.request import Pattern, Request
from anyformer.errors import PlanError, TargetError
from anyformer.targets import Target, ready_made
from anyformer.targets import target as own_target

AUTO = "auto"


def request_for(
    target: Target | str | Callable[..., Any],
    tolerance: float,
    *,
    tokens: int | None,
    width: int | None,
    method: Method | str | None,
    pattern: Pattern | str | None,
    **others: Any,
) -> Request:
    """The request for a target, a name or a function, with methods and patterns as values or by name."""
    return Request(
        target=target_for(target, tokens, width),
        tolerance=tolerance,
        method=method_for(method),
        pattern=pattern_for(pattern),
        **others,
    )


def target_for(target: Target | str | Callable[..., Any], tokens: int | None, width: int | None) -> Target:
    """A target as it is; or from the name of a ready-made one or from a function, with tokens and width."""
    if isinstance(target, Target):
        if tokens is not None or width is not None:
            raise TargetError(
                f"tokens and width must be left out with a Target, which has its own; {target.name!r} is on "
                f"{target.tokens} tokens of width {target.width}. Leave them out."
            )
        return target
    if not isinstance(target, str) and not callable(target):
        raise TargetError(
            f"the target must be a Target, the name of a ready-made one or a function; got {reprlib.repr(target)}. "
            f"See anyformer.target and anyformer.targets."
        )
    if tokens is None:
        named = repr(target) if isinstance(target, str) else "a function"
        raise TargetError(
            f"{named} must come with tokens, the length of the sequences; none was given. Say tokens=3, or make a "
            f"Target with anyformer.target, where domain, symmetry and modulus can be said too."
        )
    width = 1 if width is None else width
    return (
        ready_made(target, tokens, width) if isinstance(target, str) else own_target(target, tokens=tokens, width=width)
    )


def method_for(method: Method | str | None) -> Method | None:
    """A method as it is or by its name; None for "auto"."""
    if method is None or method == AUTO:
        return None
    if isinstance(method, str):
        if method not in METHODS:
            hint = did_you_mean(method, METHODS)
            raise PlanError(f"the method must be one of {AUTO}, {', '.join(METHODS)}; got {method!r}.{hint}")
        return METHODS[method]
    if not isinstance(method, Method):
        raise PlanError(
            f"the method must be a name or a value such as Averaging(); got {reprlib.repr(method)}. "
            f"The names are {AUTO}, {', '.join(METHODS)}."
        )
    return method


def pattern_for(pattern: Pattern | str | None) -> Pattern | None:
    """A pattern as it is, or as it is typed on the command line: by name, combined, or as JSON."""
    from anyformer.patterns import read_pattern

    return read_pattern(pattern) if isinstance(pattern, str) else pattern
