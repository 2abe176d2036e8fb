import re

import numpy as np
import pytest

from anyformer.errors import TargetError
from anyformer.targets import (
    Box,
    CompactSupport,
    EntrywiseLipschitz,
    Lipschitz,
    Symmetry,
    check_target,
    same_coordinate,
    target,
)

TOKENS, WIDTH = 3, 2


def declared(function, **changes):
    return target(function, **{"tokens": TOKENS, "width": WIDTH, "lipschitz": 9.0, "name": "mine", **changes})


def refused(function, message, samples=64, **changes):
    with pytest.raises(TargetError, match=message) as caught:
        check_target(declared(function, **changes), samples=samples)
    return str(caught.value)


@pytest.mark.parametrize("tokens", [2, 3, 4, 5, 7])
@pytest.mark.parametrize("domain", [Box(), Box(low=(-3.0, 5.0), high=(1.0, 5.5))])
def test_an_honest_target_passes(tokens, domain):
    check_target(declared(np.sin, tokens=tokens, domain=domain, lipschitz=1.0))
    check_target(declared(np.sin, tokens=tokens, domain=domain, lipschitz=1.0, vectorised=False), samples=16)


@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
def test_faults_at_corners_and_the_centre_are_found(place):
    bad = f"At the input {[[place] * WIDTH] * TOKENS!r} it returned nan"
    refused(lambda x: np.where((x == place).all(axis=(1, 2), keepdims=True), np.nan, x), re.escape(bad))


def test_faults_at_equal_tokens_are_found():
    refused(lambda x: x / (x[:, :1] != x[:, 1:2]), "it returned (nan|inf)")


def test_wrong_shapes_and_raising_are_found():
    refused(lambda x: x[:, :2], r"it returned shape \(1, 2, 2\)")
    refused(lambda x: x.nothing, "it raised AttributeError")


@pytest.mark.parametrize("tokens", [2, 3, 4, 5, 6])
def test_a_function_of_the_order_is_not_equivariant(tokens):
    message = refused(
        lambda x: np.concatenate([x[:, :-1], x[:, -1:] ** 2], axis=1), "permutation equivariant", tokens=tokens
    )
    assert "--positions on the command line, symmetry=Symmetry.NONE in Python" in message
    shown = re.search(
        r"For X = (.*) and the token order (.*), f\(X permuted\) = (.*) but f\(X\) permuted = (.*)\. Ask", message
    )
    x, order, one, other = (np.array(eval(text)) for text in shown.groups())
    assert sorted(order) == list(range(tokens))
    squared = np.eye(tokens, dtype=bool)[-1][:, None]  # what the message shows can be worked out again by hand
    np.testing.assert_array_equal(one, np.where(squared, x[order] ** 2, x[order]))
    np.testing.assert_array_equal(other, np.where(squared, x**2, x)[order])


def test_a_function_that_treats_only_the_last_two_tokens_apart_is_caught():
    refused(lambda x: x * np.where(np.arange(6) == 5, 1.001, 1)[:, None], "equivariant", tokens=6)


def test_without_the_claim_of_symmetry_the_order_may_matter():
    check_target(declared(lambda x: x[:, ::-1], symmetry=Symmetry.NONE))


def test_rounding_is_not_taken_for_asymmetry():
    check_target(declared(lambda x: x.mean(axis=1, keepdims=True) + 0 * x, tokens=7))


@pytest.mark.parametrize("tokens", [2, 3, 5])
def test_a_constant_a_little_too_small_is_caught(tokens):
    def softmax(x):
        weights = np.exp(3 * x)
        return weights / weights.sum(axis=1, keepdims=True)

    check_target(declared(softmax, lipschitz=1.5, tokens=tokens))
    message = refused(softmax, "Declare a larger constant", lipschitz=1.4, tokens=tokens, samples=256)
    numbers = (
        r"From X = (.*) to Y = (.*) its output at token (\d), coordinate (\d) changes by (.*), and .* allows (.*)\. D"
    )
    x, y, token, coordinate, change, allowed = (eval(text) for text in re.search(numbers, message).groups())
    x, y = np.array([x]), np.array([y])
    assert abs(softmax(x) - softmax(y))[0, token, coordinate] == pytest.approx(change, rel=1e-5)
    assert 1.4 * abs(x - y).max() == pytest.approx(allowed, rel=1e-5)
    assert change > allowed


def test_a_constant_that_one_direction_in_a_million_breaks_is_caught():
    contrast = lambda x: 2 * x - x.mean(axis=1, keepdims=True)  # noqa: E731
    constant = 2 - 1 / 24 + 23 / 24  # attained only if one token moves against all the others
    check_target(declared(contrast, lipschitz=constant, tokens=24, width=1))
    refused(contrast, "Declare a larger constant", lipschitz=0.98 * constant, tokens=24, width=1)


def test_one_entrywise_bound_too_small_is_caught():
    weights = np.eye(TOKENS) + 1 / TOKENS
    scale = lambda x: x * x.mean(axis=1, keepdims=True)  # noqa: E731
    honest = same_coordinate(weights, WIDTH)
    check_target(declared(scale, lipschitz=honest))
    bounds = honest.bounds.copy()
    bounds[1, 0, 2, 0] = 0.0
    message = refused(scale, "must not change faster than its modulus says", lipschitz=EntrywiseLipschitz(bounds))
    assert "token 1, coordinate 0" in message


def test_a_jump_is_caught_whatever_the_constant():
    refused(lambda x: np.where(x > 0.5, 1.0, 0.0), "it jumps there", lipschitz=50.0, samples=256)


def test_mixing_the_batch_is_caught():
    message = refused(lambda x: x - x.mean(axis=0), "must treat the elements of a batch apart")
    assert "alone" in message
    assert "vectorised=False" in message


def test_a_function_of_one_element_declared_vectorised_is_caught():
    single = lambda x: np.sort(x, axis=0)  # noqa: E731
    refused(single, "vectorised=False", symmetry=Symmetry.NONE)
    check_target(declared(single, symmetry=Symmetry.NONE, vectorised=False))


def test_randomness_is_caught():
    rng = np.random.default_rng(0)
    refused(lambda x: x + rng.random(x.shape) * 1e-6, "must depend on its input alone", vectorised=False)


def test_in_place_mutation_does_no_harm():
    def mutating(x):
        x *= 0.5
        return x

    check_target(declared(mutating, lipschitz=0.5))


def tent(x):
    return np.maximum(0, 1 - 2 * np.abs(x - 0.5).max(axis=(1, 2), keepdims=True)) + 0 * x


def test_a_function_that_vanishes_has_compact_support():
    check_target(declared(tent, domain=CompactSupport(), lipschitz=2.0))


def test_support_that_does_not_vanish_on_the_boundary_is_caught():
    message = refused(
        lambda x: np.where((np.abs(x - 0.5) <= 0.5).all(axis=(1, 2), keepdims=True), x, 0.0),
        "with compact support must be 0",
        domain=CompactSupport(),
    )
    shown = eval(re.search(r"At the input (.*), on the boundary of the box, it is", message).group(1))
    assert np.isin(shown, (0.0, 1.0)).any()
    assert "use a Box as the domain" in message


def test_support_that_returns_outside_is_caught():
    message = refused(
        lambda x: np.where(x.max(axis=(1, 2), keepdims=True) > 4, 1e-30, tent(x)),
        "with compact support must be 0",
        domain=CompactSupport(),
    )
    shown = eval(re.search(r"At the input (.*), outside the box, it is", message).group(1))
    assert np.max(shown) > 4


def test_the_same_seed_finds_the_same_fault_and_samples_must_be_some():
    first, second = (refused(lambda x: x, "faster", lipschitz=0.9) for _ in range(2))
    assert first == second
    refused(lambda x: x, "samples must be at least 1", samples=0)


def test_a_modulus_of_zero_means_constant():
    check_target(declared(np.ones_like, lipschitz=Lipschitz(0.0)))
    refused(lambda x: x * 1e-6, "the modulus allows 0", lipschitz=0.0)
