"""`compare` and `curve`: the methods side by side, and what a smaller error costs."""

import inspect
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from anyformer.cli.failures import CHECK_FAILED, UsageError
from anyformer.cli.options import Options, request_of, takes_options
from anyformer.cli.output import Json, at_work, emit
from anyformer.cli.workforce import workforce
from anyformer.pictures import SUFFIXES, require_matplotlib

Patience = Annotated[float, typer.Option(metavar="SECONDS", help="Do not build what is expected to take longer.")]


@takes_options
def compare(options: Options, patience: Patience = 120.0, json: Json = False) -> None:
    """Build a target with every method, or the one asked for, and show sizes, errors and times side by side."""
    from anyformer.comparison import compare as compare_methods
    from anyformer.construction.planning import methods_for
    from anyformer.reports.comparisons.comparison import comparison_data, comparison_view

    _check_patience(patience)
    with workforce(options.workers, options.dask), at_work("proving") as progress:
        request = request_of(options)
        methods = None if request.method is None else methods_for(request)
        tried = compare_methods(request, methods, patience, progress)
    emit(json, comparison_data(request, tried), comparison_view(request, tried))
    _finish(any(one.is_certified for one in tried))


@takes_options
def curve(
    options: Options,
    largest: Annotated[float, typer.Option("--to", help="The largest error to stay below.")],
    points: Annotated[int, typer.Option(help="How many errors, equal ratios apart, at least 2.")] = 6,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="A picture: .svg, .png or .pdf.")
    ] = None,
    patience: Patience = 120.0,
    json: Json = False,
) -> None:
    """Build a target for a range of errors and show what each takes: layers, parameters and time."""
    from anyformer.comparison import curve as curve_of
    from anyformer.comparison import tolerances
    from anyformer.reports.comparisons.curve_pictures import write_picture
    from anyformer.reports.comparisons.curves import curve_data, curve_view

    _check_range(options, largest, points)
    _check_patience(patience)
    if output is not None:
        _check_picture(output)
    with workforce(options.workers, options.dask), at_work("proving") as progress:
        request = request_of(options)
        tried = curve_of(request, tolerances(options.epsilon, largest, points), patience, progress)
        has_any = any(one.is_certified for one in tried)
        place = str(write_picture(request, tried, output)) if output is not None and has_any else None
    emit(json, curve_data(request, tried, place), curve_view(request, tried, place))
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


def _finish(has_any: bool) -> None:
    if not has_any:
        raise typer.Exit(CHECK_FAILED)


def _check_patience(patience: float) -> None:
    if not patience > 0:
        raise UsageError(f"--patience must be a positive number of seconds; got {patience!r}.")


def _check_tolerance(option: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"{option} must be positive and finite; got {value!r}.")


def _check_range(options: Options, largest: float, points: int) -> None:
    _check_tolerance("--from", options.epsilon)
    _check_tolerance("--to", largest)
    if not options.epsilon < largest:
        raise UsageError(f"--from must be smaller than --to; got {options.epsilon!r} and {largest!r}.")
    if points < 2:
        raise UsageError(f"--points must be at least 2, the two ends; got {points}.")


def _check_picture(place: Path) -> None:
    """Check the place now, not after an hour of building."""
    if place.suffix.lower() not in SUFFIXES:
        raise UsageError(f"--output must end in {', '.join(SUFFIXES)}; got {str(place)!r}.")
    if place.is_dir() or not place.parent.is_dir() or not os.access(place.parent, os.W_OK):
        raise UsageError(f"--output must be a file in a folder one may write to; {str(place)!r} is not.")
    try:
        require_matplotlib()
    except ImportError as missing:
        raise UsageError(f"--output: {missing}") from None
