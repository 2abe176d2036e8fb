"""What would fit instead of a request that does not: found by trying, so the advice really works."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from anyformer.construction.plans.plan import Method
from anyformer.construction.refusal import Fit
from anyformer.construction.request import Request
from anyformer.errors import AnyformerError
from anyformer.targets.catalogue import is_ready_made, ready_made
from anyformer.targets.target import Symmetry, Target

# Finding codes for one grid may take a second; advice is not worth more than a few of them.
TRIES = 4


def fit_for(method: Method, request: Request, tolerances: Iterator[float]) -> Fit:
    """The first of some tolerances, from the smallest up, and the largest number of tokens, for which a plan fits."""
    return Fit(tolerance=_fitting_tolerance(method, request, tolerances), tokens=_fitting_tokens(method, request))


def _fitting_tolerance(method: Method, request: Request, tolerances: Iterator[float]) -> float | None:
    larger = (tolerance for tolerance in tolerances if tolerance > request.tolerance)
    for tolerance in itertools.islice(larger, TRIES):
        if _fits(method, request.but(tolerance=tolerance)):
            return tolerance
    return None


def _fitting_tokens(method: Method, request: Request) -> int | None:
    """The largest length below the one asked for that fits, if longer ones never fit where shorter ones do not.

    Lengths double from 2 until one does not fit, and are halved from there: long sequences take long to look at.
    """

    def fits(tokens: int) -> bool:
        shorter = _shorter(request.target, tokens)
        return shorter is not None and _fits(method, request.but(target=shorter))

    low, high = 1, 2
    while high < request.target.tokens and fits(high):
        low, high = high, 2 * high
    high = min(high, request.target.tokens)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low if low > 1 else None


def _shorter(target: Target, tokens: int) -> Target | None:
    """The target on fewer tokens; None if its function or modulus is for one length only."""
    try:
        if is_ready_made(replace(target, symmetry=Symmetry.EQUIVARIANT)) or is_ready_made(target):
            return replace(ready_made(target.name, tokens, target.width, **target.parameters), symmetry=target.symmetry)
        shorter = replace(target, tokens=tokens)
        low, high = shorter.domain.lows(target.width), shorter.domain.highs(target.width)
        shorter(np.broadcast_to((low + high) / 2, (1, tokens, target.width)))
    except AnyformerError:
        return None
    return shorter


def _fits(method: Method, request: Request) -> bool:
    try:
        return method.surely_fits(request)
    except AnyformerError:  # no codes, or nothing can be proved at this length
        return False
