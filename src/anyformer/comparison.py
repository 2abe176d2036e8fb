"""Compare methods, or build one target at several tolerances: each attempt has a proved model or a reason why not."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anyformer.certificates.checker import Verdict, Verification
from anyformer.construction.methods import METHODS, Method
from anyformer.construction.planning import plan
from anyformer.construction.plans.plan import Plan
from anyformer.construction.refusal import Refusal
from anyformer.construction.request import Request
from anyformer.errors import CertificateError, PlanError
from anyformer.model import Model, carry_out
from anyformer.workers import Progress

PATIENCE = 120.0
"""Seconds that a build may be expected to take before it is skipped."""


@dataclass(frozen=True, eq=False)
class Attempt:
    """How one build went: a model, or why there is none."""

    request: Request
    method: str
    """The one that was used; "auto" if all were tried and refused."""
    plan: Plan | None = None
    """Missing where planning itself refused."""
    model: Model | None = None
    build_seconds: float | None = None
    refused: str | None = None
    """Why there is no model, in words."""
    refusal: Refusal | None = None
    """The same as data, where a method refused."""
    verification: Verification | None = None
    verify_seconds: float | None = None

    @property
    def is_certified(self) -> bool:
        """Whether it was built and proved and, if it was verified again, the verdict was PROVED."""
        if self.verification is not None and self.verification.verdict is not Verdict.PROVED:
            return False
        return self.model is not None

    @property
    def is_skipped(self) -> bool:
        """Whether it was planned but not built, because it was expected to take too long."""
        return self.plan is not None and self.model is None


def attempt(request: Request, patience: float = PATIENCE, progress: Progress | None = None) -> Attempt:
    """Plan, and build and prove if that is not expected to take longer than `patience` seconds."""
    asked = "auto" if request.method is None else request.method.name
    try:
        planned = plan(request)
        if planned.expected_seconds > patience:
            return Attempt(request, planned.method.name, planned)
        start = time.perf_counter()
        model = carry_out(planned, progress)
    except (PlanError, CertificateError) as error:
        refusal = getattr(error, "refusal", None)
        return Attempt(request, asked, refused=str(error), refusal=refusal if isinstance(refusal, Refusal) else None)
    assert model.construction is not None, "what was built here knows its plan"
    made = model.construction.plan
    return Attempt(request, made.method.name, made, model, time.perf_counter() - start)


def compare(
    request: Request,
    methods: Sequence[Method] | None = None,
    patience: float = PATIENCE,
    progress: Progress | None = None,
) -> tuple[Attempt, ...]:
    """Build a target with every method, prove each network and verify it again.

    Args:
        request: what is asked for; its method is ignored. With a pattern all networks have positions.
        methods: the methods to compare; all dense ones, and with a pattern the sparse ones too, if none are given.
        patience: skip a method that is expected to take more seconds than this.
        progress: called with (done, total) while a proof is under way.

    Returns:
        An attempt per method, in that order.

    Example:
        >>> from anyformer import targets
        >>> [one.method for one in compare(Request(target=targets.mean_scale(tokens=2), tolerance=0.4))]
        ['compile', 'interpolation', 'averaging', 'selective-shift']
    """
    if methods is None:
        methods = [one for one in METHODS.values() if request.pattern is not None or not one.is_sparse]
    return tuple(_verified(attempt(_by(method, request), patience, progress), progress) for method in methods)


def _by(method: Method, request: Request) -> Request:
    """The request for one method; dense methods take no pattern."""
    return request.but(method=method, pattern=None if method.is_sparse is False else request.pattern)


def _verified(tried: Attempt, progress: Progress | None) -> Attempt:
    if tried.model is None:
        return tried
    start = time.perf_counter()
    result = tried.model.verify(progress=progress, effort=tried.request.effort)
    return replace(tried, verification=result, verify_seconds=time.perf_counter() - start)


def tolerances(smallest: float, largest: float, points: int) -> tuple[float, ...]:
    """Tolerances with equal ratios, both ends among them.

    >>> tolerances(0.25, 1.0, 3)
    (0.25, 0.5, 1.0)
    """
    return tuple(float(one) for one in np.geomspace(smallest, largest, points))


def curve(
    request: Request, tolerances: Iterable[float], patience: float = PATIENCE, progress: Progress | None = None
) -> tuple[Attempt, ...]:
    """Build and prove the requested target at every tolerance, with the requested method."""
    return tuple(attempt(request.but(tolerance=one), patience, progress) for one in tolerances)
