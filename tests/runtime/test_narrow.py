"""Networks of narrower types run to the bits of their definition, by both engines, also where numbers overflow."""

import numpy as np
import pytest

import anyformer as af
from anyformer.networks import BFLOAT16, FLOAT16, FLOAT32, cast, evaluate
from anyformer.patterns import parse
from anyformer.runtime.run import Engine, run
from tests.random_networks import embedded_network, random_network

NARROW = [FLOAT32, FLOAT16, BFLOAT16]


def check(network, x):
    with np.errstate(all="ignore"):
        meaning = evaluate(network, x)
        for engine in Engine:
            for threads in (1, 2):
                assert np.array_equal(run(network, x, engine=engine, threads=threads), meaning, equal_nan=True)
    return meaning


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("positions", [False, True])
def test_random_networks(dtype, positions):
    x = np.random.default_rng(0).normal(size=(37, 4, 3))
    assert dtype.holds(check(cast(random_network(2, 4, 3, positions), dtype), x))


@pytest.mark.parametrize("dtype", NARROW)
def test_embedded_networks_with_a_pattern(dtype):
    pattern = parse("ring").at(5)
    x = np.random.default_rng(1).normal(size=(11, 5, 3))
    check(cast(embedded_network(3, pattern=pattern), dtype), x)


@pytest.mark.parametrize("scale", [1e3, 1e5])
def test_numbers_that_overflow_are_those_of_the_definition(scale):
    x = np.random.default_rng(2).normal(size=(9, 5, 3)) * 50
    with np.errstate(all="ignore"):
        network = cast(embedded_network(4, scale=min(scale, 2e4)), FLOAT16)
    meaning = check(network, x)
    assert not np.isfinite(meaning).all()


def test_no_sequence_and_one():
    network = cast(random_network(5, 4, 3), FLOAT32)
    assert run(network, np.zeros((0, 4, 3))).shape == (0, 4, 3)
    check(network, np.ones((1, 4, 3)) / 3)


def test_a_model_built_in_float32_answers_in_float32_numbers():
    model = af.construct("mean-scale", 1e-3, tokens=5, p=np.inf, dtype="float32")
    assert FLOAT32.holds(model(np.random.default_rng(0).random((4, 5, 1))))
