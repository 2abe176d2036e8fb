"""Every model of the zoo, taken away: verified, written in every format that fits it, run by every runtime.

What does not fit is named with its reason. Then a million float32 inputs through onnxruntime, against the certificates.
"""

import math
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import anyformer as af
from anyformer.errors import AnyformerError
from anyformer.exports.formats import FORMATS, write
from anyformer.exports.onnx.model import to_onnx
from anyformer.exports.onnx.running import run_session, session
from anyformer.parity.rows import Outcome
from anyformer.targets.checks import samples
from benchmarks.results import Size

INPUTS = 1_000_000
AT_ONCE = 1 << 12


def measure(size: Size) -> dict[str, Any]:
    """All models in all their types; a model that does not hold ends everything."""
    recipes = af.zoo.recipes() if size is Size.FULL else af.zoo.recipes()[:2]
    models = [_measured(recipe.name, dtype, size) for recipe in recipes for dtype in recipe.dtypes]
    single = [one for one in models if one["dtype"] == "float32"]
    count = math.ceil((INPUTS if size is Size.FULL else 1000) / len(single))
    for one in single:
        one["sampled"] = _sampled(one["name"], count)
    return {"models": models}


def _measured(name: str, dtype: str, size: Size) -> dict[str, Any]:
    start = time.perf_counter()
    found = af.zoo.specimen(name, dtype)
    assert found.verification.verdict is af.Verdict.PROVED, name
    compared = af.parity(found.model, inputs=256 if size is Size.FULL else 16, dtypes=[dtype], proofs=False)
    assert compared.holds, (name, dtype, compared)
    assert compared.agrees, (name, dtype, compared)
    rows = [row for row in compared.rows if row.outcome is Outcome.RAN]
    on_cells = [row.difference_on_cells for row in rows if row.difference_on_cells is not None]
    return {
        "name": name,
        "method": found.recipe.method,
        "tokens": found.recipe.tokens,
        "dtype": dtype,
        "certified": found.model.certificate.certified_error,
        "layers": found.model.network.layer_count,
        "formats": _formats(found.model),
        "runtimes": {row.runtime: row.difference for row in rows},
        "rounding": rows[0].rounding,
        "on_cells": max(on_cells) if on_cells else None,
        "seconds": time.perf_counter() - start,
    }


def _formats(model: af.Model) -> dict[str, str]:
    """By format, nothing if it was written, or why it does not fit."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in FORMATS:
            options = {"target": model.target} if "target" in FORMATS[name].options else {}
            few = {"instances": 2} if name == "vnnlib" else {}
            place = Path(folder) / (f"{name}.onnx" if name == "onnx" else name)
            found[name] = _refused(lambda n=name, p=place, o=options | few: write(model, p, n, **o))
    found["nn.TransformerEncoder"] = _refused(lambda: af.to_transformer_encoder(model))
    return found


def _refused(act: Any) -> str:
    try:
        act()
    except AnyformerError as error:
        return str(error).split(";")[0].split(". ")[0]
    return ""


def _sampled(name: str, count: int) -> dict[str, Any]:
    """The largest error that onnxruntime shows in float32, on random inputs, corners and inputs close together."""
    model = af.zoo.load(name, "float32")
    target, network, certificate = model.target, model.network, model.certificate
    assert target is not None
    lows, highs = target.domain.lows(target.width), target.domain.highs(target.width)
    opened, rng = session(to_onnx(model)), np.random.default_rng(0)
    worst, power, done = 0.0, 0.0, 0
    while done < count:
        now = min(AT_ONCE, count - done)
        x = lows + rng.random((now, target.tokens, target.width)) * (highs - lows)
        if certificate.p == math.inf:  # an L^p error is about uniform inputs alone
            special = samples.inside(target, now // 4, rng)[: now // 2]
            x[: len(special)] = special
        x = network.dtype.rounded_inside(x, lows, highs)
        apart = np.abs(run_session(opened, x).astype(np.float64) - target(x))
        worst = max(worst, float(apart.max()))
        power += float((apart**certificate.p).sum()) if certificate.p < math.inf else 0.0
        done += now
    volume = float(np.prod(highs - lows)) ** target.tokens
    error = worst if certificate.p == math.inf else (power / done * volume) ** (1 / certificate.p)
    assert error <= certificate.certified_error, (name, error, certificate.certified_error)
    return {"inputs": done, "error": error, "certified": certificate.certified_error}


def render(numbers: dict[str, Any]) -> str:
    """Three tables: what fits which format, how far runtimes are apart, and float32 against its certificates."""
    models = numbers["models"]
    return "\n\n".join([_format_text(models), _parity_text(models), _sample_text(models)])


def _format_text(models: list[dict[str, Any]]) -> str:
    formats = list(models[0]["formats"])
    lines = [f"| model | method | dtype | {' | '.join(formats)} |", "|---" * (3 + len(formats)) + "|"]
    reasons: list[str] = []
    for one in models:
        cells = []
        for name in formats:
            reason = one["formats"][name]
            if reason and _kind(reason) not in reasons:
                reasons.append(_kind(reason))
            cells.append("yes" if not reason else f"({reasons.index(_kind(reason)) + 1})")
        lines.append(f"| {one['name']} | {one['method']} | {one['dtype']} | {' | '.join(cells)} |")
    why = "\n".join(f"- ({k + 1}) {reason}." for k, reason in enumerate(reasons))
    return f"**{len(models)} models, all verified, each in every format that fits it.**\n\n" + "\n".join(
        [*lines, "", "Why a format does not fit:", "", why]
    )


def _kind(reason: str) -> str:
    """A reason without what belongs to one model."""
    return reason.split(": got")[0]


def _parity_text(models: list[dict[str, Any]]) -> str:
    runtimes = list(dict.fromkeys(name for one in models for name in one["runtimes"]))
    head = ["model", "dtype", "certified", *runtimes, "at most", "on cells"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for one in models:
        cells = [f"{one['runtimes'][name]:.1e}" if name in one["runtimes"] else "—" for name in runtimes]
        on_cells = "" if one["on_cells"] is None else "exact" if one["on_cells"] == 0 else f"{one['on_cells']:.1e}"
        most = "" if one["rounding"] is None else f"{one['rounding']:.1e}"
        row = [one["name"], one["dtype"], f"{one['certified']:.2e}", *cells, most, on_cells]
        lines.append(f"| {' | '.join(row)} |")
    return (
        "The greatest difference of every runtime, in the model's own type, to the float64 definition with the same "
        "weights. *At most*: what roundings alone may add, derived by following them through the layers; no runtime is "
        "above it for any entry. On the centres of a table's cells the difference is 0, bit for bit.\n\n"
        + "\n".join(lines)
    )


def _sample_text(models: list[dict[str, Any]]) -> str:
    found = [one for one in models if "sampled" in one]
    total = sum(one["sampled"]["inputs"] for one in found)
    lines = ["| model | inputs | error | certified | share |", "|---|---|---|---|---|"]
    for one in found:
        error, certified = one["sampled"]["error"], one["sampled"]["certified"]
        share = f"{error / certified:.0%}" if certified else ""
        lines.append(f"| {one['name']} | {one['sampled']['inputs']:,} | {error:.2e} | {certified:.2e} | {share} |")
    return (
        f"**{total:,} float32 inputs through onnxruntime in float32: no error above its certificate.** In the norm of "
        f"the certificate: the largest of any entry for compiled models, an estimate of the L² error for tables.\n\n"
        + "\n".join(lines)
    )
