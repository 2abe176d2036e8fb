"""Float32-proved models, and benchmarks of them."""

import math

import pytest

import anyformer as af
from anyformer.exports.vnnlib import write


def proved(target: af.Target, tolerance: float) -> af.Model:
    return af.construct(target, tolerance, p=math.inf, method="compile", dtype="float32")


@pytest.fixture(scope="session")
def narrow_models() -> list[af.Model]:
    """Mean heads of 3 and 4 tokens; heads that compare tokens, of width 2; positions."""
    return [
        proved(af.targets.mean_scale(tokens=3), 0.02),
        proved(af.targets.softmax(tokens=4), 0.02),
        proved(af.targets.attention(tokens=3, width=2), 0.01),
        proved(af.targets.running_maximum(tokens=5), 0.01),
    ]


@pytest.fixture(scope="session")
def folders(narrow_models, tmp_path_factory):
    """A benchmark of every model."""
    home = tmp_path_factory.mktemp("benchmarks")
    return [
        write(model, home / str(k), seed=k, instances=8, fold_uniform=k % 2 == 0)
        for k, model in enumerate(narrow_models)
    ]
