"""`verify`, `run`, `describe` and `trace`: what can be done with a model folder."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyformer.certificates.bounds.effort import ORDINARY
from anyformer.cli.effort import GIGABYTE, HOUR, MaxCells, MaxHours, MaxMemory, effort_of
from anyformer.cli.failures import CHECK_FAILED
from anyformer.cli.output import Json, at_work, emit, emit_json, emit_text, note
from anyformer.cli.workforce import Dask, Workers, workforce
from anyformer.errors import UsageError

if TYPE_CHECKING:
    from anyformer.arrays import Array
    from anyformer.certificates.claims.certificate import Certificate
    from anyformer.model import Model
    from anyformer.targets import Target

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder, as `anyformer build -o` writes it.")]


def verify(
    folder: Folder,
    target: Annotated[
        str | None, typer.Option(metavar="PLACE:FUNCTION", help="The function, if the target is not a ready-made one.")
    ] = None,
    one_by_one: Annotated[
        bool, typer.Option("--one-by-one", help="The function takes one sequence, not a batch.")
    ] = False,
    dtype: Annotated[
        str | None,
        typer.Option(metavar="TYPE", help="Round the weights to this type and prove the program in it: float32, …"),
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    max_cells: MaxCells = ORDINARY.cells,
    max_memory: MaxMemory = ORDINARY.memory / GIGABYTE,
    max_hours: MaxHours = ORDINARY.seconds / HOUR,
    json: Json = False,
) -> None:
    """Prove a model's error again, trusting neither its certificate nor its builder. Exit code 0 only if proved."""
    from anyformer.certificates.checker import Verdict
    from anyformer.model import load
    from anyformer.reports.verification import verification_data, verification_view

    model = load(folder)
    named = named_target(model.certificate, target, one_by_one)
    with workforce(workers, dask), at_work("proving") as progress:
        result = model.verify(named, progress, effort_of(max_cells, max_memory, max_hours), dtype)
    emit(json, verification_data(result, model.certificate), verification_view(result, model.certificate))
    if result.verdict is not Verdict.PROVED:
        raise typer.Exit(CHECK_FAILED)


def named_target(certificate: "Certificate", spec: str | None, one_by_one: bool = False) -> "Target | None":
    """The target that --target names; None for a ready-made one, which the certificate names."""
    from anyformer.targets import load_function

    if spec is not None:
        return certificate.target.target(load_function(spec), vectorised=not one_by_one)
    if one_by_one:
        raise UsageError("--one-by-one must come with --target; got it alone. Name the function or leave it out.")
    if not certificate.target.is_ready_made:
        raise UsageError(
            f"--target must name the function: {certificate.target.name!r} is a user's own, and a model file "
            "never runs code. Add --target path/to/file.py:function."
        )
    return None


def run(
    folder: Folder,
    source: Annotated[
        str,
        typer.Argument(metavar="INPUT", help="Sequences: .npy (batch, tokens, width), .csv, or - for CSV on stdin."),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .npy or .csv file; CSV on standard output without.")
    ] = None,
    json: Json = False,
) -> None:
    """Run a model on sequences. A CSV row is one sequence, its numbers token by token."""
    from anyformer.cli.sequences import check_output, csv_lines, read_sequences, write_sequences
    from anyformer.model import load

    if output is not None:
        check_output(output)
    model = load(folder)
    sequences = read_sequences(source, model.network.tokens, model.network.width)
    outputs, outside = _outputs(model, sequences), _count_outside(model, sequences)
    if output is not None:
        write_sequences(output, outputs)
    elif not json:
        sys.stdout.writelines(csv_lines(outputs))
    _report_run(outputs, outside, output, json)


def _outputs(model: "Model", sequences: "Array") -> "Array":
    import numpy as np

    with np.errstate(all="ignore"):  # an overflow shows in the outputs
        outputs = model(sequences)
    if not np.isfinite(outputs).all():
        where = int(np.argwhere(~np.isfinite(outputs))[0][0])
        raise UsageError(
            f"the outputs must be finite; sequence {where}, {sequences[where].tolist()}, overflows. "
            "Give inputs nearer to the domain."
        )
    return outputs


def _report_run(outputs: "Array", outside: int, output: Path | None, json: bool) -> None:
    from anyformer.reports.terminal import paragraph

    if outside:
        note(f"{outside} of {len(outputs)} sequences leave the domain, where the certificate promises nothing")
    if json:
        where = {"outputs": outputs.tolist()} if output is None else {"output": str(output)}
        emit_json({"sequences": len(outputs), "shape": list(outputs.shape), "outside_domain": outside, **where})
    elif output is not None:
        emit_text(paragraph(f"{len(outputs)} sequences written to {output}"))


def _count_outside(model: "Model", sequences: "Array") -> int:
    """How many sequences the certificate does not cover. With compact support it covers all."""
    from anyformer.targets import CompactSupport

    domain, width = model.certificate.target.domain, model.network.width
    if isinstance(domain, CompactSupport):
        return 0
    outside = (sequences < domain.lows(width)) | (sequences > domain.highs(width))
    return int(outside.any(axis=(1, 2)).sum())


def describe(folder: Folder, json: Json = False) -> None:
    """Say what a model is made of and what its certificate states, without proving it."""
    from anyformer.model import load
    from anyformer.reports.models import describe_data, describe_view

    model = load(folder)
    emit(json, describe_data(model), describe_view(model))


def trace(
    folder: Folder,
    given: Annotated[
        str,
        typer.Option("--input", metavar="NUMBERS", help="One sequence, token by token: '0.15, 0.8' or '1, 2; 3, 4'."),
    ],
    target: Annotated[
        str | None,
        typer.Option(metavar="PLACE:FUNCTION", help="The function of a compiled model, if it is not a ready-made one."),
    ] = None,
    json: Json = False,
) -> None:
    """Walk one input through every stage of the proof, or through every step of a compiled program."""
    from anyformer.cli.numbers import sequence_of
    from anyformer.model import load
    from anyformer.reports.tracing.program_trace import trace_program
    from anyformer.reports.tracing.program_views import program_trace_data, program_trace_view
    from anyformer.reports.tracing.trace import trace as follow
    from anyformer.reports.tracing.views import trace_data, trace_view

    model = load(folder)
    sequence = sequence_of(given, model.network.tokens, model.network.width)
    if model.certificate.grid is None:
        function = named_target(model.certificate, target, one_by_one=False) or model.certificate.target.target()
        steps = trace_program(model.network, model.certificate, function, sequence)
        emit(json, program_trace_data(steps), program_trace_view(steps))
        return
    if target is not None:
        raise UsageError("--target must come with a compiled model; this one is a table. Leave it out.")
    followed = follow(model.network, model.certificate, sequence)
    emit(json, trace_data(followed), trace_view(followed))
