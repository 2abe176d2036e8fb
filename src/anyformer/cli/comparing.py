"""`compare` and `curve`: the methods side by side, and what a smaller error costs."""

import inspect
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyformer.certificates.powers import MOST_P
from anyformer.cli.failures import CHECK_FAILED, UsageError
from anyformer.cli.output import Json, at_work, emit
from anyformer.cli.request import Request, effort_for, map_of, pattern_of, takes_request, target_of
from anyformer.cli.workforce import workforce
from anyformer.construction.select import AUTO, METHODS
from anyformer.pictures import SUFFIXES, require_matplotlib

if TYPE_CHECKING:
    from anyformer.reports.comparison import Asked

Patience = Annotated[float, typer.Option(metavar="SECONDS", help="Do not build what is expected to take longer.")]


@takes_request
def compare(request: Request, patience: Patience = 120.0, json: Json = False) -> None:
    """Build a target with every method, or the one asked for, and show sizes, errors and times side by side."""
    from anyformer.reports.comparison import compare as compare_methods
    from anyformer.reports.comparison import comparison_data, comparison_view

    _check_shared(request, patience)
    _check_tolerance("--epsilon", request.epsilon)
    with workforce(request.workers, request.dask), at_work("proving") as progress:
        target = target_of(request)
        rows = compare_methods(
            target,
            request.epsilon,
            request.p,
            None if request.method == AUTO else (request.method,),
            request.max_layers,
            request.hidden_size,
            request.tightness,
            patience,
            progress,
            pattern_of(request),
            map_of(request),
            effort_for(request),
        )
    about = (target, request.epsilon, request.p, rows)
    emit(json, comparison_data(*about), comparison_view(*about))
    _finish(any(row.is_certified for row in rows))


@takes_request
def curve(
    request: Request,
    largest: Annotated[float, typer.Option("--to", help="The largest error to stay below.")],
    points: Annotated[int, typer.Option(help="How many errors, equal ratios apart, at least 2.")] = 6,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="A picture: .svg, .png or .pdf.")
    ] = None,
    patience: Patience = 120.0,
    json: Json = False,
) -> None:
    """Build a target for a range of errors and show what each takes: layers, parameters and time."""
    from anyformer.reports.curves import curve as curve_of
    from anyformer.reports.curves import curve_data, curve_view, tolerances, write_picture

    _check_range(request, largest, points)
    _check_shared(request, patience)
    if output is not None:
        _check_picture(output)
    with workforce(request.workers, request.dask), at_work("proving") as progress:
        asked = _asked(request, patience)
        made = curve_of(asked, tolerances(request.epsilon, largest, points), request.method, progress)
        has_any = any(point.is_certified for point in made)
        place = str(write_picture(asked, made, output)) if output is not None and has_any else None
    emit(json, curve_data(asked, made, place), curve_view(asked, made, place))
    _finish(has_any)


def _with_option(verb: Callable[..., None], name: str, annotation: Any) -> None:
    """Let a shared option of a verb have another name or meaning."""
    signature = inspect.signature(verb)
    changed = signature.parameters[name].replace(annotation=annotation)
    both = [changed if one.name == name else one for one in signature.parameters.values()]
    verb.__signature__ = signature.replace(parameters=both)  # type: ignore[attr-defined]
    verb.__annotations__[name] = annotation


# A curve begins where `build` has its one tolerance.
_with_option(curve, "epsilon", Annotated[float, typer.Option("--from", help="The smallest error to stay below.")])


def _asked(request: Request, patience: float) -> "Asked":
    from anyformer.reports.comparison import Asked

    return Asked(
        target_of(request),
        request.p,
        request.max_layers,
        request.hidden_size,
        request.tightness,
        patience,
        pattern_of(request),
        map_of(request),
        effort_for(request),
    )


def _finish(has_any: bool) -> None:
    if not has_any:
        raise typer.Exit(CHECK_FAILED)


def _check_shared(request: Request, patience: float) -> None:
    """What no method could do is a mistake in the request, not a refusal of a method."""
    if not 1 <= request.p <= MOST_P:
        raise UsageError(f"--p must be at least 1 and at most {MOST_P:g}; got {request.p!r}.")
    if request.method not in (AUTO, *METHODS):
        raise UsageError(f"--method must be one of {AUTO}, {', '.join(METHODS)}; got {request.method!r}.")
    if request.hidden_size < 4:
        raise UsageError(f"--hidden-size must be at least 4; got {request.hidden_size}.")
    if not patience > 0:
        raise UsageError(f"--patience must be a positive number of seconds; got {patience!r}.")


def _check_tolerance(option: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"{option} must be positive and finite; got {value!r}.")


def _check_range(request: Request, largest: float, points: int) -> None:
    _check_tolerance("--from", request.epsilon)
    _check_tolerance("--to", largest)
    if not request.epsilon < largest:
        raise UsageError(f"--from must be smaller than --to; got {request.epsilon!r} and {largest!r}.")
    if points < 2:
        raise UsageError(f"--points must be at least 2, the two ends; got {points}.")


def _check_picture(place: Path) -> None:
    """Better to fail now than after an hour of building."""
    if place.suffix.lower() not in SUFFIXES:
        raise UsageError(f"--output must end in {', '.join(SUFFIXES)}; got {str(place)!r}.")
    if place.is_dir() or not place.parent.is_dir() or not os.access(place.parent, os.W_OK):
        raise UsageError(f"--output must be a file in a folder one may write to; {str(place)!r} is not.")
    try:
        require_matplotlib()
    except ImportError as missing:
        raise UsageError(f"--output: {missing}") from None
