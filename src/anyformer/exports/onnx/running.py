"""Running an ONNX model by onnxruntime, on one thread and without surprises."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from onnx import ModelProto

from anyformer.extras import require

# Warnings are onnxruntime's own notes on what it optimises.
_ERRORS_ALONE = 3


def session(made: ModelProto | bytes, threads: int = 1) -> Any:
    """An onnxruntime session on the processor."""
    runtime = require("onnxruntime", extra="onnx", what="running ONNX models")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = _ERRORS_ALONE
    content = made if isinstance(made, bytes) else made.SerializeToString()
    return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def run_onnx(made: ModelProto | bytes, x: ArrayLike) -> NDArray[Any]:
    """The outputs for sequences (batch, tokens, width), in the model's own type."""
    return run_session(session(made), x)


def run_session(opened: Any, x: ArrayLike) -> NDArray[Any]:
    """The same for a session that is open: loading takes longer than running."""
    (given,) = opened.get_inputs()
    kind = {"tensor(double)": np.float64, "tensor(float)": np.float32, "tensor(float16)": np.float16}[given.type]
    (outputs,) = opened.run(None, {given.name: np.asarray(x, dtype=kind)})
    return np.asarray(outputs)
