"""Methods side by side: each builds the same target, is proved and verified anew, or says why it cannot."""

import dataclasses
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group, RenderableType

from anyformer.certificates.bound import TIGHTNESS
from anyformer.certificates.checker import Verdict
from anyformer.certificates.effort import ORDINARY, Effort
from anyformer.construction.drafts import SOFTMAX
from anyformer.construction.limits import MAX_LAYERS, Pattern
from anyformer.construction.plans import Plan
from anyformer.construction.select import AUTO, SPARSE, methods_for, plan
from anyformer.errors import CertificateError, PlanError
from anyformer.model import Model, construct
from anyformer.networks.probability_maps import ProbabilityMap
from anyformer.reports.plans import asked as asked_line
from anyformer.reports.plans import connections_of
from anyformer.reports.terminal import count, duration, facts, heading, narrow_table, number
from anyformer.targets.checks import check_target
from anyformer.targets.target import Symmetry, Target

Progress = Callable[[int, int], None]
PATIENCE = 120.0
"""Seconds that a build may be expected to take before it is skipped."""


@dataclass(frozen=True)
class Asked:
    """What every build of a comparison or a curve has in common."""

    target: Target
    p: float = 2.0
    max_layers: int = MAX_LAYERS
    hidden_size: int = 4
    tightness: float = TIGHTNESS
    patience: float = PATIENCE
    pattern: Pattern | None = None
    """What the sparse methods use; the dense ones do without."""
    probability_map: ProbabilityMap = SOFTMAX
    effort: Effort = field(default_factory=Effort)

    def pattern_for(self, method: str) -> Pattern | None:
        """The pattern, if the method takes one."""
        return self.pattern if method in (AUTO, *SPARSE) else None


@dataclass(frozen=True, eq=False)
class Attempt:
    """How one build went: a model, or why there is none. `plan` is missing only where planning itself refused."""

    method: str
    plan: Plan | None = None
    model: Model | None = None
    seconds: float | None = None
    refused: str | None = None
    skipped: str | None = None


def attempt(asked: Asked, tolerance: float, method: str = AUTO, progress: Progress | None = None) -> Attempt:
    """Plan, and build and prove if that is not expected to take longer than one is patient for."""
    try:
        pattern = asked.pattern_for(method)
        planned = plan(
            asked.target,
            tolerance,
            asked.p,
            method,
            asked.max_layers,
            asked.hidden_size,
            pattern,
            asked.probability_map,
            asked.effort,
        )
        if planned.expected_seconds > asked.patience:
            wait = f"not built: about {duration(planned.expected_seconds)} expected"
            return Attempt(planned.method, planned, skipped=wait)
        start = time.perf_counter()
        model = construct(
            asked.target,
            tolerance,
            asked.p,
            planned.method,
            asked.max_layers,
            asked.hidden_size,
            asked.tightness,
            progress,
            pattern,
            asked.probability_map,
            asked.effort,
        )
    except (PlanError, CertificateError) as error:
        return Attempt(method, refused=str(error))
    assert model.construction is not None, "what was built here knows its plan"
    return Attempt(planned.method, model.construction.plan, model, time.perf_counter() - start)


@dataclass(frozen=True)
class ComparisonRow:
    """What one method makes of the target: all of it, the planned sizes if `skipped`, or nothing if `refused`."""

    method: str
    cells_per_axis: tuple[int, ...] | None = None
    layers: int | None = None
    attention_layers: int | None = None
    connections: int | None = None
    """Pairs of tokens that a layer connects, in the layer that has most."""
    parameters: int | None = None
    id_bits: int | None = None
    certified_error: float | None = None
    measured_error: float | None = None
    kind: str | None = None
    build_seconds: float | None = None
    verify_seconds: float | None = None
    refused: str | None = None
    """Why there is no certified model, in full."""
    needed: str | None = None
    """The size that was too large, where a refusal names one: at least that much."""
    skipped: str | None = None
    """Why it was not built although it could be."""

    @property
    def is_certified(self) -> bool:
        """Whether it was built, proved and verified."""
        return self.verify_seconds is not None and self.refused is None


def compare(
    target: Target,
    tolerance: float,
    p: float = 2.0,
    methods: Sequence[str] | None = None,
    max_layers: int = MAX_LAYERS,
    hidden_size: int = 4,
    tightness: float = TIGHTNESS,
    patience: float = PATIENCE,
    progress: Progress | None = None,
    pattern: Pattern | None = None,
    probability_map: ProbabilityMap = SOFTMAX,
    effort: Effort = ORDINARY,
) -> tuple[ComparisonRow, ...]:
    """Build a target with every method, prove each network and verify it anew.

    Args:
        target: what to approximate.
        tolerance: the ε of d_p(f, g) <= ε.
        p: the exponent of the error, 1 <= p <= 64.
        methods: names of methods, keys of `METHODS`; all that apply if none are named.
        max_layers: refuse to build above this many layers.
        hidden_size: hidden units a layer, at least 4.
        tightness: how close the proof is to bring its bound to the truth.
        patience: skip a method that is expected to take more seconds than this.
        progress: told (done, of) while a proof is under way.
        pattern: who may look at whom, for the sparse methods.
        probability_map: how scores become weights.
        effort: what a proof may cost.

    Returns:
        A row per method, in the order asked for.

    Example:
        `[row.layers for row in compare(targets.mean_scale(tokens=2), tolerance=0.3)]`
    """
    check_target(target)
    asked = Asked(target, p, max_layers, hidden_size, tightness, patience, pattern, probability_map, effort)
    if methods is None:
        methods = methods_for(None) + (methods_for(pattern) if pattern is not None else [])
    return tuple(_row(asked, attempt(asked, tolerance, method, progress), progress) for method in methods)


def _row(asked: Asked, tried: Attempt, progress: Progress | None) -> ComparisonRow:
    if tried.plan is None:
        return ComparisonRow(tried.method, refused=tried.refused, needed=size_named(tried.refused or ""))
    sizes = _planned_row(tried.method, tried.plan)
    if tried.model is None:
        return dataclasses.replace(sizes, skipped=tried.skipped)
    start = time.perf_counter()
    result = tried.model.verify(progress=progress, effort=asked.effort)
    proved = dataclasses.replace(
        sizes,
        certified_error=tried.model.certificate.certified_error,
        measured_error=tried.model.certificate.measured.error,
        kind=tried.model.certificate.kind.value,
        build_seconds=tried.seconds,
        verify_seconds=time.perf_counter() - start,
    )
    if result.verdict is Verdict.PROVED:
        return proved
    return dataclasses.replace(proved, refused=f"built, but not verified: {result.reason}")


def _planned_row(method: str, planned: Plan) -> ComparisonRow:
    return ComparisonRow(
        method,
        cells_per_axis=tuple(planned.lattice.counts),
        layers=planned.layers,
        attention_layers=planned.attention_layers,
        connections=connections_of(planned),
        parameters=planned.parameters,
        id_bits=planned.id_bits,
    )


def size_named(refusal: str) -> str | None:
    """The size in the first sentence of a refusal that was more than there is.

    >>> size_named("it needs 4 cells per token, and that means 17 layers where 10 are allowed. What would fit: …")
    '17 layers'
    """
    found = re.search(r"(?:more than |over )?[\d,]+ layers|ids of \d+ bits|ramps of width \S+", first_sentence(refusal))
    return found[0] if found else None


def first_sentence(message: str) -> str:
    """A message up to its first full stop: a point inside a number is none.

    >>> first_sentence("an error of 0.25 is too much. Ask for more.")
    'an error of 0.25 is too much'
    """
    return re.split(r"[.;](?:\s|$)", message, maxsplit=1)[0]


def in_short(refusal: str) -> str:
    """Why a method refused, without repeating what was asked of it.

    >>> in_short("sort on 2 tokens cannot be built by averaging: it needs 17 layers. What would fit: …")
    'it needs 17 layers'
    """
    return re.split(r"cannot be built by \S+: ", first_sentence(refusal), maxsplit=1)[-1]


def comparison_data(target: Target, tolerance: float, p: float, rows: Iterable[ComparisonRow]) -> dict[str, Any]:
    """The comparison as a JSON object."""
    return {**asked_data(target, p), "epsilon": tolerance, "methods": [dataclasses.asdict(row) for row in rows]}


def asked_data(target: Target, p: float) -> dict[str, Any]:
    """The target and the norm as the start of a JSON object."""
    return {
        "target": target.name,
        "tokens": target.tokens,
        "width": target.width,
        "positions": target.symmetry is Symmetry.NONE,
        "p": p,
    }


HEADS = (
    *("method", "cells\nper\naxis", "layers", "at-\nten-\ntion", "links\na\nlayer", "para-\nme-\nters", "id\nbits"),
    *("certi-\nfied", "mea-\nsured", "build\n(s)", "verify\n(s)"),
)


def comparison_view(target: Target, tolerance: float, p: float, rows: Sequence[ComparisonRow]) -> RenderableType:
    """The comparison as text: the table, and below it why some methods have no model."""
    notes = [(row.method, text) for row in rows if (text := _note(row))]
    return Group(
        heading(title(target)),
        heading(f"every method, asked for an error of at most {number(tolerance)} in L^{number(p)}"),
        narrow_table(HEADS, [_cells(row) for row in rows]),
        *([facts(notes)] if notes else []),
    )


def title(target: Target) -> str:
    """What is approximated, in one line."""
    return asked_line(target.name, target.tokens, target.width, target.symmetry is Symmetry.NONE)


def _note(row: ComparisonRow) -> str | None:
    return row.skipped if row.refused is None else f"refused: {in_short(row.refused)}"


def _cells(row: ComparisonRow) -> tuple[str, ...]:
    return (
        row.method,
        axes(row.cells_per_axis),
        *map(whole, (row.layers, row.attention_layers, row.connections, row.parameters, row.id_bits)),
        _status(row),
        error(row.measured_error),
        seconds(row.build_seconds),
        seconds(row.verify_seconds),
    )


def _status(row: ComparisonRow) -> str:
    if row.refused is not None:
        return "refused"
    return "skipped" if row.skipped is not None else error(row.certified_error)


def axes(counts: Sequence[int] | None) -> str:
    """Cells per axis, or nothing."""
    return "×".join(map(count, counts or ()))


def whole(value: int | None) -> str:
    """A whole number, or nothing."""
    return "" if value is None else count(value)


def error(value: float | None) -> str:
    """An error to four digits, or nothing: a table has no room for more."""
    return "" if value is None else f"{value:.4g}"


def seconds(value: float | None) -> str:
    """Seconds to a hundredth, or nothing."""
    return "" if value is None else f"{value:,.2f}"
