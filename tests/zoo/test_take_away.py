"""Every model of the zoo, taken away: verified, written, run by every runtime, and never above its certificate."""

import math

import numpy as np
import pytest

import anyformer as af
from anyformer.exports.formats import FORMATS, write
from anyformer.exports.onnx.model import to_onnx
from anyformer.exports.onnx.running import run_session, session
from anyformer.parity.rows import Outcome
from anyformer.parity.runners import Engine, OnnxRuntime, PyTorch
from anyformer.targets.checks import samples

FEW = ("mean-scale-3", "reverse-7x2", "sort-4-sparse-averaging")
ALL = [(recipe.name, dtype) for recipe in af.zoo.recipes() for dtype in recipe.dtypes]


def taken_away(name, dtype, place):
    model = af.zoo.load(name, dtype)  # which verifies
    found = af.parity(model, inputs=32, dtypes=[dtype], runners=[Engine(), PyTorch(), OnnxRuntime()], proofs=False)
    assert all(row.outcome is Outcome.RAN for row in found.rows)
    assert found.holds
    assert found.agrees
    for form in ("torch", "huggingface", "onnx"):
        assert form in FORMATS
        assert write(model, place / (f"{form}.onnx" if form == "onnx" else form), form).exists()
    if dtype == "float32":
        never_above(model, 500)


def never_above(model, count):
    """Errors that onnxruntime shows in float32, in the norm of the certificate."""
    target, certificate = model.target, model.certificate
    rng = np.random.default_rng(1)
    lows, highs = target.domain.lows(target.width), target.domain.highs(target.width)
    x = lows + rng.random((count, target.tokens, target.width)) * (highs - lows)
    if certificate.p == math.inf:
        x = np.concatenate([x, samples.inside(target, count // 4, rng)])
    x = model.network.dtype.rounded_inside(x, lows, highs)
    errors = np.abs(run_session(session(to_onnx(model)), x).astype(np.float64) - target(x))
    if certificate.p == math.inf:
        assert errors.max() <= certificate.certified_error
        return
    # The mean of so many powers may be above the integral by chance: four standard errors are allowed.
    powers = (errors**certificate.p).sum(axis=(1, 2)) * float(np.prod(highs - lows)) ** target.tokens
    surely = powers.mean() - 4 * powers.std(ddof=1) / math.sqrt(count)
    assert max(surely, 0.0) ** (1 / certificate.p) <= certificate.certified_error


@pytest.mark.parametrize(("name", "dtype"), [one for one in ALL if one[0] in FEW])
def test_a_few_models(name, dtype, tmp_path):
    taken_away(name, dtype, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dtype"), [one for one in ALL if one[0] not in FEW])
def test_all_the_others(name, dtype, tmp_path):
    taken_away(name, dtype, tmp_path)


def test_a_wrong_certificate_would_be_found_out():
    from dataclasses import replace

    model = af.zoo.load("mean-scale-3", "float32")
    with pytest.raises(AssertionError):
        never_above(replace(model, certificate=replace(model.certificate, certified_error=1e-3)), 500)
