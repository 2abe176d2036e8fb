"""The compiled engine, every layer computed for every token, as a user calls it: from sequences to sequences."""

from anyformer.runtime import Engine, Layers, run
from benchmarks.cases import Case
from benchmarks.interleave import Program
from benchmarks.machine import THREADS


def program(case: Case) -> Program:
    """Checking the input and arranging it are part of the call."""
    network, sequences = case.network, case.sequences
    return Program(
        "compiled engine, skipping off",
        lambda: run(network, sequences, layers=Layers.ALL, engine=Engine.COMPILED, threads=THREADS),
        lambda output: output.reshape(-1, case.width),
        peer="anyformer",
    )
