"""The options that `plan`, `build`, `compare` and `curve` share, written once, and the request they stand for."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from anyformer.certificates.bounds.bound import TIGHTNESS
from anyformer.certificates.bounds.effort import ORDINARY
from anyformer.cli.effort import GIGABYTE, HOUR, MaxCells, MaxHours, MaxMemory, effort_of
from anyformer.cli.failures import UsageError
from anyformer.cli.numbers import numbers_of
from anyformer.cli.workforce import Dask, Workers
from anyformer.construction.asking import AUTO, method_for
from anyformer.construction.methods import METHODS
from anyformer.construction.request import MAX_LAYERS, Request
from anyformer.networks.dtypes import DTYPES, FLOAT64, as_dtype
from anyformer.networks.probability_maps import probability_map
from anyformer.settings import Value, settings_of
from anyformer.targets import (
    CATALOGUE,
    Box,
    CompactSupport,
    Domain,
    Symmetry,
    Target,
    load_function,
    ready_made,
    target,
)
from anyformer.targets.target import EVALUATION_ERROR

OWN = "Own functions only."


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options as they were typed on the command line."""

    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="A ready-made target, path/to/file.py:function or package.module:function."
        ),
    ]
    epsilon: Annotated[float, typer.Option(help="The error to stay below, in L^p over the domain.")]
    p: Annotated[
        float, typer.Option("--p", help="The exponent of the error, from 1 to 64; or inf, the largest error anywhere.")
    ] = 2.0
    tokens: Annotated[int, typer.Option(help="The length of the sequences.")] = 2
    width: Annotated[int, typer.Option(help="Numbers per token.")] = 1
    positions: Annotated[
        bool, typer.Option("--positions", help="Give the network positions: the order of tokens may matter.")
    ] = False
    method: Annotated[
        str, typer.Option(help=f"How to build: {', '.join(METHODS)}; {AUTO} takes the smallest network.")
    ] = AUTO
    heads: Annotated[int | None, typer.Option(help="The most heads of a layer; at least 2 for tables.")] = None
    hidden_size: Annotated[
        int | None,
        typer.Option(help="The most hidden units of a layer; tables have at least 4, and more make them shallower."),
    ] = None
    tightness: Annotated[
        float, typer.Option(help="Refine the proof until its bound is this close to the truth: 1.1 takes time.")
    ] = TIGHTNESS
    max_layers: Annotated[int, typer.Option(help="Refuse to build more layers than this.")] = MAX_LAYERS
    max_cells: MaxCells = ORDINARY.cells
    max_memory: MaxMemory = ORDINARY.memory / GIGABYTE
    max_hours: MaxHours = ORDINARY.seconds / HOUR
    pattern: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="A sparsity pattern, as `anyformer pattern list` names them; with options as strided:stride=4, "
            "combined as 'union(ring, star)', or as JSON. The network is then sparse and has positions.",
        ),
    ] = None
    probability_map: Annotated[
        str,
        typer.Option(metavar="NAME", help="How scores become weights: softmax, sparsemax, entmax[:ALPHA]."),
    ] = "softmax"
    dtype: Annotated[
        str,
        typer.Option(metavar="TYPE", help=f"The type of weights and program that is proved: {', '.join(DTYPES)}."),
    ] = FLOAT64.name
    workers: Workers = None
    dask: Dask = None
    parameters: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter of a ready-made target.")
    ] = None
    lipschitz: Annotated[
        float | None, typer.Option(help=f"No output entry changes faster than this times the largest change. {OWN}")
    ] = None
    low: Annotated[
        str | None, typer.Option(metavar="A,B,…", help=f"Low end of the domain, or one per coordinate. {OWN}")
    ] = None
    high: Annotated[
        str | None, typer.Option(metavar="A,B,…", help=f"High end of the domain, or one per coordinate. {OWN}")
    ] = None
    compact_support: Annotated[
        bool, typer.Option("--compact-support", help=f"The function is 0 outside the domain. {OWN}")
    ] = False
    one_by_one: Annotated[
        bool, typer.Option("--one-by-one", help=f"The function takes one sequence, not a batch. {OWN}")
    ] = False
    evaluation_error: Annotated[
        float, typer.Option(help=f"How far rounding takes the function's values off, relative to 1 + |f|. {OWN}")
    ] = EVALUATION_ERROR


def takes_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Let a verb that takes `options` be called with the fields of Options instead, beside its own parameters."""
    shared = inspect.signature(Options).parameters
    own = {name: one for name, one in inspect.signature(verb).parameters.items() if name != "options"}

    @functools.wraps(verb)
    def expanded(**given: Any) -> None:
        verb(options=Options(**{name: given.pop(name) for name in shared}), **given)

    both = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*shared.values(), *own.values())]
    # Typer looks at the signature for the defaults and at the annotations for the types.
    expanded.__signature__ = inspect.Signature(both)  # type: ignore[attr-defined]
    expanded.__annotations__ = {one.name: one.annotation for one in both}
    return expanded


def request_of(options: Options) -> Request:
    """What the options ask for, as one value."""
    from anyformer.patterns import read_pattern

    return Request(
        target=target_of(options),
        tolerance=options.epsilon,
        p=options.p,
        method=method_for(options.method),
        pattern=None if options.pattern is None else read_pattern(options.pattern),
        probability_map=probability_map(options.probability_map),
        heads=options.heads,
        hidden_size=options.hidden_size,
        tightness=options.tightness,
        max_layers=options.max_layers,
        effort=effort_of(options.max_cells, options.max_memory, options.max_hours),
        dtype=as_dtype(options.dtype),
    )


def target_of(options: Options) -> Target:
    """The target that is named. One's own function is equivariant unless positions are asked for."""
    chosen = _own(options) if ":" in options.target else _ready_made(options)
    return replace(chosen, symmetry=Symmetry.NONE) if options.positions else chosen


def _own(options: Options) -> Target:
    if options.parameters:
        raise UsageError(
            f"--set must come with a ready-made target; got {options.target!r}. Write the values into the function."
        )
    return target(
        load_function(options.target),
        tokens=options.tokens,
        width=options.width,
        lipschitz=options.lipschitz,
        domain=_domain(options),
        vectorised=not options.one_by_one,
        evaluation_error=options.evaluation_error,
    )


def _domain(options: Options) -> Domain:
    kind: type[Domain] = CompactSupport if options.compact_support else Box
    ends = {"low": options.low, "high": options.high}
    return kind(**{name: _end(name, text) for name, text in ends.items() if text is not None})


def _end(name: str, text: str) -> float | tuple[float, ...]:
    ends = numbers_of(text, f"--{name}")
    return ends[0] if len(ends) == 1 else ends


def _ready_made(options: Options) -> Target:
    given = [name for name, value in _own_options(options).items() if value]
    if given and options.target in CATALOGUE:
        raise UsageError(
            f"{', '.join(given)} must come with your own function; {options.target!r} is ready-made and states "
            f"its own domain and modulus. Leave {'it' if len(given) == 1 else 'them'} out."
        )
    return ready_made(options.target, options.tokens, options.width, **_parameters(options))


def _own_options(options: Options) -> dict[str, bool]:
    return {
        "--lipschitz": options.lipschitz is not None,
        "--low": options.low is not None,
        "--high": options.high is not None,
        "--compact-support": options.compact_support,
        "--one-by-one": options.one_by_one,
        "--evaluation-error": options.evaluation_error != EVALUATION_ERROR,
    }


def _parameters(options: Options) -> dict[str, Value]:
    from anyformer.reports.catalogue import settable

    parameters = settings_of(options.parameters or [], "--set sharpness=5", UsageError)
    taken = settable(options.target) if options.target in CATALOGUE else parameters
    for name, value in parameters.items():
        if name not in taken:
            listed = ", ".join(f"{one}=NUMBER" for one in taken) or "none, as it has no parameters"
            raise UsageError(f"--set for {options.target!r} must be one of these: {listed}; got {name!r}.")
        if isinstance(value, bool | str | None):
            raise UsageError(f"--set must give a finite number, as KEY=NUMBER; got {name}={value}.")
    return parameters
