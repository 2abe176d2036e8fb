"""onnxruntime, by the graph of `to_onnx`."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anyformer.arrays import Array
from anyformer.extras import require
from anyformer.parity.runners.runner import Cast, Run, Runner


@dataclass(frozen=True)
class OnnxRuntime(Runner):
    """On the processor, one thread."""

    name: ClassVar[str] = "onnxruntime"

    def prepare(self, model: Cast) -> Run:
        """A session; loading takes longer than running."""
        require("onnxruntime", extra="onnx", what="parity with onnxruntime")
        made = require("anyformer.exports.onnx", extra="onnx", what="parity with onnxruntime").to_onnx(model)
        running = require("anyformer.exports.onnx.running", extra="onnx", what="parity with onnxruntime")
        session = running.session(made)

        def run(x: Array) -> Array:
            return np.asarray(running.run_session(session, x), dtype=np.float64)

        return run
