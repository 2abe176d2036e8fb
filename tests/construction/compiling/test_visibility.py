"""Compiled networks within sparsity patterns: what a step reads must be seen."""

import numpy as np
import pytest

import anyformer as af
from anyformer.errors import PlanError


def asked(name, pattern, tokens=7, **others):
    return af.plan(name, 1e-3, tokens=tokens, p=np.inf, method="compile", pattern=pattern, **others)


@pytest.mark.parametrize("heads", [None, 1])
def test_a_window_within_the_pattern_is_built_and_proved(heads):
    model = af.construct(
        "moving-average", 1e-3, tokens=7, p=np.inf, method="compile", pattern="sliding-window", heads=heads
    )
    assert model.network.pattern is not None
    assert model.verify().verdict is af.Verdict.PROVED


@pytest.mark.parametrize("name", ["mean-scale", "softmax", "attention", "cumulative-mean", "copy-first"])
def test_what_the_pattern_hides_is_named(name):
    with pytest.raises(PlanError, match=r"needs token \d to attend to token \d, and the pattern does not let it"):
        asked(name, "ring")


def test_steps_of_single_tokens_need_no_pattern():
    assert asked(lambda x: np.tanh(x), "ring").attention_layers == 0
