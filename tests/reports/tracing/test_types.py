"""A trace follows a network in its own type: what it ends with is what the network returns, to the bit."""

import numpy as np
import pytest

import anyformer as af
from anyformer.networks import FLOAT32, FLOAT64, cast
from anyformer.reports.tracing.program_trace import trace_program
from anyformer.reports.tracing.trace import trace


@pytest.mark.parametrize("seed", range(5))
def test_a_table_in_float32(seed):
    model = af.construct("mean-scale", 0.2, tokens=3, method="averaging", dtype="float32")
    x = np.random.default_rng(seed).random((3, 1))
    assert np.array_equal(trace(model.network, model.certificate, x).output, model(x))


@pytest.mark.parametrize("seed", range(5))
def test_a_program_in_float32(seed):
    target = af.targets.softmax(tokens=4)
    model = af.construct(target, 1e-3, p=np.inf, dtype="float32")
    x = np.random.default_rng(seed).random((4, 1))
    traced = trace_program(model.network, model.certificate, target, x)
    assert np.array_equal(traced.output, model(x))
    assert np.array_equal(traced.input, FLOAT32.rounded(x))
    wide = trace_program(cast(model.network, FLOAT64), model.certificate, target, x)
    assert not np.array_equal(wide.output, traced.output)
    assert all(
        abs(a - b) <= step.proved for step in traced.steps for a, b in zip(step.exact, step.network, strict=True)
    )
