"""A NumPy function run once on an array that remembers what is done with it, and turned into a program."""

from anyformer.programs.tracing.checks import check_program
from anyformer.programs.tracing.tracer import trace, traced_program

__all__ = ["check_program", "trace", "traced_program"]
