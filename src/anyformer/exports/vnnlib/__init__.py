"""A proved model as a benchmark for verifiers: ONNX, VNN-LIB 2.0 and 1.0, every instance with its known verdict.

Needs anyformer[vnnlib].
"""

from anyformer.extras import require

require("onnx", extra="vnnlib", what="VNN-LIB benchmarks")

from anyformer.exports.vnnlib.benchmark import Benchmark, to_vnnlib
from anyformer.exports.vnnlib.checking import Checked, check_benchmark
from anyformer.exports.vnnlib.instances import Instance, Verdict
from anyformer.exports.vnnlib.properties import Comparison, Property, Sense
from anyformer.exports.vnnlib.writing import write

__all__ = [
    "Benchmark",
    "Checked",
    "Comparison",
    "Instance",
    "Property",
    "Sense",
    "Verdict",
    "check_benchmark",
    "to_vnnlib",
    "write",
]
