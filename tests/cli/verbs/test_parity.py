"""`parity`: a table of runtimes, and exit code 1 if the model's own type breaks the guarantee."""

import json

import pytest

from anyformer.networks.dtypes import DTYPES
from anyformer.parity import RUNNERS, parity, runners


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Two runtimes are enough here."""
    monkeypatch.setitem(parity.__kwdefaults__, "runners", (runners.Definition(), runners.Engine()))


def test_parity_says_where_the_guarantee_ends(call, folders):
    outcome = call("parity", folders["softmax"], "--inputs", 8, "--json")
    assert outcome.code == 0
    assert outcome.data["holds"] is True
    assert [row["dtype"] for row in outcome.data["rows"]] == [dtype for dtype in DTYPES for _ in range(2)]
    assert [proof["dtype"] for proof in outcome.data["proofs"]] == list(DTYPES)
    text = call("parity", folders["softmax"], "--inputs", 8)
    for words in ("NumPy", "engine", "bfloat16", "Proved by the checker", "float64 definition"):
        assert words in text.out


def test_a_table_has_cells(call, folders):
    outcome = call("parity", folders["sort"], "--inputs", 8, "--measured-only", "--json")
    assert outcome.data["proofs"] == []
    assert outcome.data["rows"][0]["difference_on_cells"] == 0
    assert "On cells" in call("parity", folders["sort"], "--inputs", 8, "--measured-only").out


def test_a_claim_that_does_not_hold_ends_with_1(call, folders, tmp_path):
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    for path in folders["softmax"].iterdir():
        (wrong / path.name).write_bytes(path.read_bytes())
    data = json.loads((wrong / "certificate.json").read_text())
    data.update(tolerance=(1e-9).hex(), certified_error=(1e-9).hex())
    data["claim"] = f"d_p(f, g) <= {1e-9:.6g} in L^{data['claim'].rsplit('L^', 1)[1]}"
    (wrong / "certificate.json").write_text(json.dumps(data))
    outcome = call("parity", wrong, "--inputs", 64, "--measured-only")
    assert outcome.code == 1
    assert "the guarantee is broken in float64" in outcome.out


def test_mistakes_are_named(refused, folders, tmp_path):
    assert "must be a model's folder" in refused("parity", tmp_path / "none", kind="ModelFileError")
    refused("parity", folders["softmax"], "--inputs", 1)


def test_all_runtimes_are_listed():
    assert [runner.name for runner in RUNNERS] == ["NumPy", "engine", "PyTorch", "onnxruntime", "JAX"]
