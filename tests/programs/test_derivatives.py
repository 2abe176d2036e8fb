"""Derivatives of programs on boxes: they hold differences of the function itself, and are nearly exact at points."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

import anyformer as af
from anyformer.errors import NotTraceable
from anyformer.programs.derivatives import expansions, is_position_free
from anyformer.programs.tracing import trace
from anyformer.targets.domains import Box
from anyformer.targets.target import Symmetry

DOMAIN = Box(0.2, 1.7)
SMOOTH = {
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True),
    "products": lambda x: x * x.mean(axis=1, keepdims=True) * np.sin(x),
    "powers": lambda x: x**3 / (1 + x) + np.sqrt(x) * np.log(x.mean(axis=1, keepdims=True)),
    "norms": lambda x: np.sqrt(x**2 + x.mean(axis=1, keepdims=True) ** 2),
}
KINKED = {
    "deviation": lambda x: np.abs(x - x.mean(axis=1, keepdims=True)),
    "largest": lambda x: x * x.max(axis=1, keepdims=True),
    "least": lambda x: np.minimum(x, x.mean(axis=1, keepdims=True) ** 2),
}
PLACED = {
    "running sums": lambda x: np.cumsum(x**2, axis=1),
    "weighted": lambda x: x * np.array([1.0, -2.0, 0.3])[:, None] + np.tanh(x[:, ::-1]),
}


def target_of(function, symmetry=Symmetry.EQUIVARIANT):
    return af.target(function, tokens=3, domain=DOMAIN, symmetry=symmetry)


@pytest.fixture(params=[*SMOOTH, *PLACED])
def smooth(request):
    symmetry = Symmetry.NONE if request.param in PLACED else Symmetry.EQUIVARIANT
    return target_of({**SMOOTH, **PLACED}[request.param], symmetry)


@pytest.fixture(params=[*SMOOTH, *KINKED, *PLACED])
def any_target(request):
    symmetry = Symmetry.NONE if request.param in PLACED else Symmetry.EQUIVARIANT
    return target_of({**SMOOTH, **KINKED, **PLACED}[request.param], symmetry)


def boxes(width, count=40):
    low = np.random.default_rng(0).uniform(0.2, 1.7 - width, (count, 3, 1))
    return low, low + width


def test_second_differences_lie_in_the_bends(smooth):
    """A second difference over a box is a mean of second derivatives there."""
    low, high = boxes(0.25)
    (one,) = expansions(trace(smooth), low, high)
    step = 0.25 / 2
    for (k, q), bend in zip(combinations_with_replacement(range(3), 2), one.bends, strict=True):
        total = np.zeros((40, 3))
        for first, second in ((0, 0), (0, 1), (1, 0), (1, 1)):
            x = low.copy()
            x[:, k, 0] += first * step
            x[:, q, 0] += second * step
            total += (-1.0) ** (first + second) * smooth(x)[:, :, 0]
        difference = total / step**2
        rounding = 16 * 2.0**-40 / step**2
        least, most = (0.0, 0.0) if bend is None else (bend.low, bend.high)
        assert (difference >= least - rounding).all(), (k, q)
        assert (difference <= most + rounding).all(), (k, q)


def test_differences_lie_in_the_slopes(any_target):
    low, high = boxes(0.25)
    (one,) = expansions(trace(any_target), low, high)
    for k, slope in enumerate(one.slopes):
        x = low.copy()
        x[:, k, 0] = high[:, k, 0]
        difference = (any_target(x) - any_target(low))[:, :, 0] / 0.25
        least, most = (0.0, 0.0) if slope is None else (slope.low, slope.high)
        assert (difference >= least - 2.0**-34).all(), k
        assert (difference <= most + 2.0**-34).all(), k


def test_values_lie_between_the_ends(any_target):
    low, high = boxes(0.25)
    (one,) = expansions(trace(any_target), low, high)
    rng = np.random.default_rng(4)
    for _ in range(8):
        f = any_target(rng.uniform(low, high))[:, :, 0]
        assert (one.value.low - 2.0**-40 <= f).all()
        assert (f <= one.value.high + 2.0**-40).all()


def test_at_points_bends_are_nearly_exact(smooth):
    low, _ = boxes(0.0)
    (one,) = expansions(trace(smooth), low, low)
    assert max(float((bend.high - bend.low).max()) for bend in one.bends if bend is not None) < 1e-9


def test_bends_are_unknown_at_kinks_and_known_beside_them():
    program = trace(target_of(KINKED["deviation"]))
    low = np.array([[[0.5], [0.5], [0.5]], [[0.3], [0.9], [1.5]]])
    (one,) = expansions(program, low, low + 0.1)
    sizes = [np.zeros((2, 3)) if bend is None else bend.high - bend.low for bend in one.bends]
    assert np.isinf(sum(sizes)[0]).all()
    assert not sum(sizes)[1, [0, 2]].any()


def test_what_depends_on_places_is_seen():
    assert is_position_free(trace(target_of(SMOOTH["softmax"])))
    for function in PLACED.values():
        assert not is_position_free(trace(target_of(function, Symmetry.NONE)))


def attention(x):
    scores = np.exp(np.einsum("bjc,bkc->bjk", x, x))
    return np.einsum("bjk,bkc->bjc", scores / scores.sum(axis=2, keepdims=True), x)


def test_a_step_without_derivatives_is_named():
    program = trace(af.target(attention, tokens=3, width=2))
    with pytest.raises(NotTraceable, match=r"attend.* has no derivatives"):
        expansions(program, np.zeros((1, 3, 2)), np.ones((1, 3, 2)))
