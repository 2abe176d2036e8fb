"""Models as ONNX: for onnxruntime, to the bits of the definition on cells; and plain graphs, for verifiers.

Needs anyformer[onnx].
"""

from anyformer.extras import require

require("onnx", extra="onnx", what="ONNX files")

from anyformer.exports.onnx.model import MOST_UNROLLED, to_onnx
from anyformer.exports.onnx.plain import to_plain_onnx
from anyformer.exports.onnx.running import run_onnx
from anyformer.exports.onnx.writing import write

__all__ = ["MOST_UNROLLED", "run_onnx", "to_onnx", "to_plain_onnx", "write"]
