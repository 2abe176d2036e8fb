"""Rounding to float32 inside of a function is found, however it is hidden; float64 is never taken for it."""

import re

import numpy as np
import pytest

from anyformer.errors import TargetError
from anyformer.targets import CATALOGUE, Box, Symmetry, check_target, ready_made, target

TOKENS, WIDTH = 3, 2
single = np.float32


def weighted_in_float32(x):
    return (x.astype(single) @ np.array([[0.3, 0.1], [0.2, 0.7]], dtype=single)).astype(np.float64)


def mean_in_float32(x):
    return x - x.mean(axis=1, keepdims=True, dtype=single)


def exponential_in_float32(x):
    filled = np.empty(x.shape, dtype=single)
    filled[...] = -x
    return 0.5 * x + np.exp(filled)


def half_precision(x):
    return np.float64(1.0) * np.sin(x.astype(np.float16))


HIDDEN = [weighted_in_float32, mean_in_float32, exponential_in_float32, half_precision]


def own(function, **changes):
    return target(function, **{"tokens": TOKENS, "width": WIDTH, "lipschitz": 3.0, **changes})


@pytest.mark.parametrize("function", HIDDEN, ids=lambda function: function.__name__)
@pytest.mark.parametrize("vectorised", [True, False])
@pytest.mark.parametrize("domain", [Box(), Box(-3.0, 5.0), Box((0.5, 0.25), (0.75, 1.0))])
def test_hidden_rounding_is_found(function, vectorised, domain):
    called = function if vectorised else lambda x: function(x[None])[0]
    with pytest.raises(TargetError, match="it jumps there, or it rounds to float32 inside") as caught:
        check_target(own(called, vectorised=vectorised, domain=domain, name="mine"))
    assert "The target 'mine' must be as accurate as its evaluation_error, 9.09e-13" in str(caught.value)
    numbers = (
        r"Between X = (.*) and Y = (.*) its output at token (\d), coordinate (\d) changes by (.*), and the modulus"
    )
    x, y, token, coordinate, change = (eval(text) for text in re.search(numbers, str(caught.value)).groups())
    jump = abs(function(np.array([x])) - function(np.array([y])))[0, token, coordinate]
    assert jump == pytest.approx(change, rel=1e-2)  # what the message shows can be seen again
    assert jump > 1000 * 3.0 * abs(np.array(x) - np.array(y)).max()


@pytest.mark.parametrize("function", HIDDEN, ids=lambda function: function.__name__)
def test_a_function_passes_once_its_rounding_is_declared(function):
    check_target(own(function, evaluation_error=2.0**-8 if function is half_precision else 2.0**-20))


def test_asymmetry_as_small_as_the_rounding_of_float32_is_named_so():
    with pytest.raises(TargetError, match=r"symmetry=Symmetry.NONE in Python. If .* rounds to float32 inside: Compute"):
        check_target(own(mean_in_float32, lipschitz=None))
    with pytest.raises(TargetError, match=r"symmetry=Symmetry.NONE in Python.$"):
        check_target(own(lambda x: x[:, ::-1], lipschitz=None))


def test_the_error_declared_must_be_large_enough():
    with pytest.raises(TargetError, match=r"must be as accurate as its evaluation_error, 2.91e-11 "):
        check_target(own(weighted_in_float32, evaluation_error=2.0**-35))


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("seed", range(4))
def test_ready_made_targets_are_not_suspected(name, seed):
    check_target(ready_made(name, tokens=TOKENS, width=WIDTH), seed=seed)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.full(x.shape, 0.25),
        lambda x: np.clip(8 * x - 4, 0.0, 1.0),
        lambda x: np.sort(x, axis=1),
        lambda x: x * np.float32(0.1),  # a constant of float32 is a number like any other
        lambda x: x @ np.array([[0.3, 0.1], [0.2, 0.7]], dtype=single),
        lambda x: np.maximum(x, 0.5),
    ],
)
def test_honest_functions_with_round_values_are_not_suspected(function):
    check_target(own(function, symmetry=Symmetry.NONE, lipschitz=8.0))
