"""Marabou on a benchmark: `python verifiers_marabou.py FOLDER SECONDS` prints a line of JSON for every instance.

Every alternative is a query of its own. Marabou's reader drops the batch axis after a product, but not from the
Transpose after it; the graph that it gets has the axes that it expects.
"""

import json
import multiprocessing
import sys
import tempfile
import time
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from verifiers_reading import Asked, instances

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # TensorFlow is not there, and not needed
    from maraboupy import Marabou


def main() -> None:
    """Answer every instance in a process of its own, which may crash."""
    folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
    for asked in instances(folder):
        start = time.perf_counter()
        answer = _apart(asked, seconds)
        print(json.dumps({"vnnlib": asked.vnnlib, "seconds": time.perf_counter() - start, **answer}), flush=True)


def _apart(asked: Asked, seconds: float) -> dict[str, Any]:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(asked, seconds, theirs))
    process.start()
    theirs.close()
    try:
        if not ours.poll(seconds * len(asked.alternatives) + 10):
            return {"answer": "timeout"}
        return ours.recv()
    except EOFError:
        return {"answer": "error", "note": "the process ended without an answer"}
    finally:
        process.kill()
        process.join()


def _answer(asked: Asked, seconds: float, to: Connection) -> None:
    try:
        to.send(_solved(asked, seconds))
    except Exception as error:
        to.send({"answer": "error", "note": f"{type(error).__name__}: {error}"[:200]})


def _solved(asked: Asked, seconds: float) -> dict[str, Any]:
    answers = []
    for alternative in asked.alternatives:
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(_without_batch(asked.onnx))
            file.flush()
            network = Marabou.read_onnx(file.name)
        x, y = np.array(network.inputVars[0]).flatten(), np.array(network.outputVars[0]).flatten()
        for variable, low, high in zip(x, asked.low, asked.high, strict=True):
            network.setLowerBound(variable, low)
            network.setUpperBound(variable, high)
        for operator, k, threshold in alternative:
            (network.setLowerBound if operator == ">=" else network.setUpperBound)(y[k], threshold)
        options = Marabou.createOptions(timeoutInSeconds=int(seconds), verbosity=0)
        code, values, _ = network.solve(verbose=False, options=options)
        if code == "sat":
            return {"answer": "sat", "x": [values[variable] for variable in x]}
        answers.append(code)
    if set(answers) == {"unsat"}:
        return {"answer": "unsat"}
    return {"answer": "timeout" if "TIMEOUT" in answers else "unknown", "note": ", ".join(answers)}


def _without_batch(place: Path) -> bytes:
    made = onnx.load(place)
    for node in made.graph.node:
        if node.op_type == "Transpose":
            node.attribute[0].ints[:] = [1, 0]
    return made.SerializeToString()


if __name__ == "__main__":
    main()
