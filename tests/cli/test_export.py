import json
import math

import numpy as np
import pytest

import anyformer as af
from anyformer.exports import formats
from anyformer.exports.onnx import run_onnx


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    """A float32-proved model's folder."""
    model = af.construct(af.targets.mean_scale(tokens=3), 0.02, p=math.inf, method="compile", dtype="float32")
    return model.save(tmp_path_factory.mktemp("narrow") / "model")


@pytest.fixture(scope="module")
def wide(tmp_path_factory, averaged_models):
    """A float64 table's folder."""
    return averaged_models[0].save(tmp_path_factory.mktemp("wide") / "model")


def test_a_model_becomes_an_onnx_file(call, wide, tmp_path):
    out = tmp_path / "model.onnx"
    done = call("export", wide, "--format", "onnx", "-o", out, "--batch", 2, "--json")
    assert (done.code, done.err) == (0, "")
    assert done.data == {"format": "onnx", "output": str(out), "bytes": out.stat().st_size, "dtype": "float64"}
    x = np.array([[[0.1], [0.9]], [[0.4], [0.3]]])
    assert np.array_equal(run_onnx(out.read_bytes(), x), af.load(wide)(x))


def test_a_model_becomes_a_benchmark(call, narrow, tmp_path):
    out = tmp_path / "bench"
    options = ("--format", "vnnlib", "--seed", 3, "--instances", 4, "--fold-uniform")
    done = call("export", narrow, *options, "-o", out)
    assert done.code == 0
    assert "benchmark for verifiers written to" in done.out
    assert len((out / "instances.csv").read_text().splitlines()) == 4
    assert json.loads((out / "verdicts.json").read_text())["seed"] == 3
    again = call("export", narrow, *options, "-o", out)
    assert again.code == 2
    assert "Pass overwrite" in again.err
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert call("export", narrow, *options, "-o", out, "--overwrite").code == 0
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_claim_that_is_not_proved_has_no_verdicts(call, narrow, tmp_path):
    certificate = narrow / "certificate.json"
    honest = certificate.read_text()
    data = json.loads(honest)
    data["weights_digest"] = "0" * 64
    try:
        certificate.write_text(json.dumps(data))
        done = call("export", narrow, "--format", "vnnlib", "-o", tmp_path / "bench", "--json")
    finally:
        certificate.write_text(honest)
    assert done.code == 1
    assert done.data["error"]["kind"] == "CertificateError"
    assert not (tmp_path / "bench").exists()


def test_only_float32_models_become_benchmarks(call, wide, tmp_path):
    done = call("export", wide, "--format", "vnnlib", "-o", tmp_path / "bench")
    assert done.code == 2
    assert "must be of float32; got float64" in done.err


def test_options_of_other_formats_are_refused(call, wide, tmp_path):
    done = call("export", wide, "--format", "onnx", "-o", tmp_path / "m.onnx", "--seed", 1)
    assert (done.code, "the format onnx takes batch; got seed" in done.err) == (2, True)
    done = call("export", wide, "--format", "pickle", "-o", tmp_path / "m.onnx")
    assert (done.code, "must be one of torch, huggingface, onnx, vnnlib, transformer-lens" in done.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_every_format_is_imported_late(monkeypatch):
    asked = []

    class Module:
        @staticmethod
        def write(model, out, overwrite):
            return asked.append((model, out, overwrite)) or out

    monkeypatch.setattr(formats, "require", lambda module, extra, what: asked.append((module, extra)) or Module)
    assert formats.write("model", "place", "torch", overwrite=True) == "place"
    assert asked == [("anyformer.exports.pytorch", "torch"), ("model", "place", True)]
