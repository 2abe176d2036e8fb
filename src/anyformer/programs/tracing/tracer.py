"""A user's function as a program: run once on a tracing array, then compared with itself."""

from typing import Any, cast

import numpy as np

from anyformer.errors import NotTraceable, words_of
from anyformer.programs.builder import Builder
from anyformer.programs.forms import Form
from anyformer.programs.program import Program
from anyformer.programs.tracing.arrays import TracingArray
from anyformer.programs.tracing.axes import Axis, Kind, sized
from anyformer.programs.tracing.broadcasting import aligned
from anyformer.programs.tracing.checks import check_program
from anyformer.programs.tracing.pruning import pruned
from anyformer.programs.tracing.rules.refusals import ADVICE
from anyformer.programs.tracing.runs import Run, pretended_batch
from anyformer.programs.tracing.traced import Traced, as_single, boxed
from anyformer.targets.target import Target


def trace(target: Target) -> Program:
    """The program of a target: what its function does to every token, step by step.

    Raises:
        NotTraceable: if a step cannot be part of a program, or if the function gives other values than the program on
            samples: it then looks at something besides the numbers of its input.

    Example:
        >>> from anyformer.targets.equivariant import mean_scale
        >>> [type(node.step).__name__ for node in trace(mean_scale(tokens=3)).nodes]
        ['Input', 'Mean', 'Product']
    """
    program = traced_program(target)
    check_program(program, target)
    return program


def traced_program(target: Target) -> Program:
    """The same without comparing it to the function."""
    batch = pretended_batch(target.tokens, target.width) if target.vectorised else None
    run = Run(Builder(target.tokens, target.width), batch)
    outputs = _outputs(target, run)
    domain = target.domain
    return pruned(run.builder.program(domain.lows(target.width), domain.highs(target.width), outputs))


def _outputs(target: Target, run: Run) -> list[Form]:
    try:
        x = _argument(run)
        result = target.function(cast(Any, x))
        if run.faults:
            raise run.faults[0]
        return _forms(run, result, x._data)
    except Exception as error:
        # The function may have caught a recorded error, and failed because of it.
        first = run.faults[0] if run.faults else error
        raise NotTraceable(_message(target, first)) from error


def _argument(run: Run) -> TracingArray:
    entries = np.empty(run.builder.width, dtype=object)
    for coordinate in range(run.builder.width):
        entries[coordinate] = run.builder.input(coordinate)
    batch = () if run.batch is None else (Axis(Kind.BATCH, run.batch),)
    return TracingArray(Traced(run, (*batch, Axis(Kind.TOKENS, run.tokens), sized(run.builder.width)), entries))


def _forms(run: Run, result: Any, argument: Traced) -> list[Form]:
    """The outputs, one form for every coordinate."""
    data = result._opened() if type(result) is TracingArray else np.asarray(result, dtype=np.float64)
    shape = data.shape
    if shape != argument.shape:
        raise NotTraceable(f"it must return the shape of its argument, {argument.shape}; got {shape}.")
    if isinstance(data, Traced) and data.is_condition:
        raise NotTraceable("it returns a condition; a step from 0 to 1 cannot be traced.")
    axes, (entries, _) = aligned(run, (data, argument))
    if axes != argument.axes:
        raise NotTraceable("it mixes up the axes of its result.")
    whole = np.broadcast_to(boxed(entries), (run.builder.width,))
    return [as_single(run.builder, entry) for entry in whole]


def _message(target: Target, error: Exception) -> str:
    said = words_of(error)
    if not isinstance(error, NotTraceable):
        said = f"on a traced array it raised {type(error).__name__}: {said}. {ADVICE}".removesuffix(".")
    return f"The target {target.name!r} cannot be made a program: {said}."
