"""A verifier of others answers our instances. All of its answers are in docs/results/verifiers.md."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "verifiers_marabou.py"


@pytest.mark.slow
@pytest.mark.parametrize(("number", "answered"), [(0, {"sat", "unsat"}), (3, {"unsat"})])
def test_marabou_agrees_where_it_decides(folders, number, answered):
    pytest.importorskip("onnxruntime")
    command = [sys.executable, str(SCRIPT), str(folders[number]), "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No module named 'maraboupy'" in done.stderr:
        pytest.skip("Marabou is not installed")
    answers = {one["vnnlib"]: one["answer"] for one in map(json.loads, done.stdout.splitlines())}
    verdicts = json.loads((folders[number] / "verdicts.json").read_text())["instances"]
    assert set(answers) == {one["vnnlib"] for one in verdicts}
    decided = [
        (answers[one["vnnlib"]], one["verdict"]) for one in verdicts if answers[one["vnnlib"]] in ("sat", "unsat")
    ]
    assert len(decided) >= 4
    assert all(answer == verdict for answer, verdict in decided)
    # Of a network that keeps a softmax, it finds few witnesses.
    assert {verdict for _, verdict in decided} >= answered
