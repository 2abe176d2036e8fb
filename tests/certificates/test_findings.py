"""What an attack on the checker found, one test each: networks and claims made by hand that it once called proved."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates import Certificate, Evidence, Grid, MeasuredError, derive_bound, measure_error
from anyformer.certificates.claims.declaration import Declaration
from anyformer.certificates.propagation.enclosures import Arithmetic, Enclosure
from anyformer.certificates.propagation.propagate import propagate, propagate_stage
from anyformer.networks import AttentionStage, BlockShape, FeedForwardStage, Network
from anyformer.networks.digest import digest
from anyformer.runtime import run
from tests.hunt.build import clip, scalar_network

TOKENS = 2
UNIT_BOX = Enclosure.box(np.zeros((1, TOKENS, 1)), np.ones((1, TOKENS, 1)))


def grid(cells: int = 1, low: float = 0.0, high: float = 1.0) -> Grid:
    edges = np.linspace(low, high, cells + 1)
    return Grid((edges[:-1],), (edges[1:],))


def claimed(network: Network, target: af.Target, tolerance: float, p: float = 2.0) -> Certificate:
    """What an adversary writes: whatever is convenient, with the right digest."""
    terms = dict.fromkeys(("cells", "coincidence", "rest", "rest_volume"), 1e300)
    kind, measured = Evidence.UNCONDITIONAL, MeasuredError(0.0, 0.0, 0.0, 1)
    return Certificate(
        kind, Declaration.of(target), p, tolerance, tolerance, terms, digest(network), measured, {}, grid()
    )


def is_proved(network: Network, target: af.Target, tolerance: float, p: float = 2.0) -> bool:
    """Whether the checker says so; an error that a user can fix counts as no."""
    certificate = claimed(network, target, tolerance, p)
    try:
        with np.errstate(all="ignore"):
            measured = measure_error(lambda x: run(network, x), target, p, strata=certificate.grid)
        return af.verify(network, replace(certificate, measured=measured), target).verdict is af.Verdict.PROVED
    except (af.AnyformerError, OverflowError):
        return False


def holds_what_is_computed(network: Network, x: np.ndarray, boxes: Enclosure) -> bool:
    """Whether the enclosure holds the float64 output at x; saying nothing about it is fine."""
    try:
        found = propagate(network, boxes)
    except af.AnyformerError:
        return True
    with np.errstate(all="ignore"):
        computed = af.evaluate(network, x)
    return bool(((found.low <= computed) & (computed <= found.high)).all())


ZERO = af.target(lambda x: 0 * x, tokens=TOKENS, name="zero")


def test_a_threshold_that_overflows_hides_no_layer_that_is_awake():
    # −b/a = 2^200·1e308 overflows; ∞ − CAUTION·∞ was NaN, which hid the second layer: it adds 500·x.
    network = scalar_network([[[(2.0**-200, -1e308, 1.0)], [(1.0, 0.0, 500.0)]]])
    assert not is_proved(network, ZERO, 1.0)
    x = np.array([[[0.5], [1.0]]])
    assert np.array_equal(run(network, x), af.evaluate(network, x))


def test_units_that_only_seem_parallel_because_a_product_underflows():
    W_1 = np.array([[[1.0, 0.75 * 2.0**-100], [2.0**-976, 0.0]]])
    W_2 = np.array([[[1.0, 2.0**976], [0.0, 0.0]]])
    stage = FeedForwardStage("seems", W_1, np.zeros((1, 2)), W_2, np.zeros((1, 2)))
    network = Network(TOKENS, 2, BlockShape(2, 1, 2), (stage,))
    x = np.array([[[0.5, 0.25], [0.5, -(2.0**110)]]])
    assert np.array_equal(run(network, x), af.evaluate(network, x))


def test_a_kink_that_overflows_does_not_bound_what_has_no_bound():
    # Beyond its kink, at 1e308·2^300, the unit would stop x from growing; no float gets there.
    stage = scalar_network([[[(2.0**-300, -1e308, -(2.0**300))]]]).stages[0]
    anything = np.full((1, TOKENS, 1), np.inf)
    try:
        found = propagate_stage(stage, Enclosure.box(-anything, anything), Arithmetic.REAL)
    except af.AnyformerError:
        return
    assert found.high.max() == np.inf
    assert not is_proved(scalar_network([[[(2.0**-300, -1e308, -(2.0**300))]]]), ZERO, 0.5)


@pytest.mark.parametrize("p", [65.0, 400.0, 1e5])
def test_powers_do_not_underflow_for_large_p(p):
    off = af.target(lambda x: 0 * x + 0.9, tokens=TOKENS, name="off")
    vanish = scalar_network([[[(1.0, 0.0, -1.0), (-1.0, 0.0, 1.0)]]])
    assert not is_proved(vanish, off, 0.5, p)


@pytest.mark.parametrize(("size", "p"), [(1e-170, 2.0), (1e-100, 4.0), (1e-120, 3.0)])
def test_powers_do_not_underflow_for_small_values(size, p):
    small = af.target(lambda x: size * x, tokens=TOKENS, name="small")
    vanish = scalar_network([[[(1.0, 0.0, -1.0), (-1.0, 0.0, 1.0)]]])
    true_error = size * (TOKENS / (p + 1)) ** (1 / p)
    assert not is_proved(vanish, small, 0.5 * true_error, p)
    bound = derive_bound(vanish, small, grid(), p, 1.0 if size < 1e-150 else true_error)
    assert bound.upper >= true_error * (1 - 1e-12)


def attention(queries: float, bias: float, keys: float, values: float, outputs: float, heads: int = 1) -> Network:
    shape = (1, heads, 1, 1)
    arrays = (np.full(shape, queries), np.full(shape[:3], bias), *(np.full(shape, w) for w in (keys, values, outputs)))
    return Network(TOKENS, 1, BlockShape(heads, 1, 1), (AttentionStage("attention", *arrays),))


@pytest.mark.parametrize(
    ("weights", "end"),
    [
        ((2.0**600, 0.0, 2.0**600, 1.0, 1.0), 1.0),  # scores overflow
        ((2.0**900, 0.0, 1.0, 1.0, 1.0), 2.0**200),  # queries do
        ((1.0, 0.0, 1.0, 2.0**800, 2.0**800), 1.0),  # what is put out
    ],
)
def test_attention_that_overflows_is_not_enclosed_by_numbers(weights, end):
    network = attention(*weights)
    box = Enclosure.box(np.zeros((1, TOKENS, 1)), np.full((1, TOKENS, 1), end))
    assert holds_what_is_computed(network, np.array([[[end], [end / 2]]]), box)


def test_a_feed_forward_layer_that_overflows_is_not_enclosed_by_numbers():
    # ∞ − ∞ in float64; in real arithmetic the two units cancel.
    network = scalar_network([[[(2.0**700, 0.0, 2.0**700), (2.0**700, 0.0, -(2.0**700))]]])
    assert holds_what_is_computed(network, np.array([[[0.5], [1.0]]]), UNIT_BOX)


def test_heads_that_put_out_nothing_do_nothing_even_if_they_overflow():
    network = attention(2.0**600, 0.0, 2.0**600, 1.0, 0.0)
    x = np.array([[[0.5], [1.0]]])
    with np.errstate(all="ignore"):
        assert np.array_equal(run(network, x), x)
        assert np.array_equal(af.evaluate(network, x), x)
    # Another program multiplies NaN by 0, so nothing may be said of it.
    with pytest.raises(af.AnyformerError, match="overflow"):
        propagate(network, UNIT_BOX)


@pytest.mark.parametrize("scale", [2.0**-1023, 2.0**-1000, 2.0**-534])
def test_a_product_that_underflows_is_not_exact(scale):
    # t − (1/scale)·ReLU(scale·t) is 0 in real arithmetic and t in float64, where scale·t is 0.
    network = scalar_network([[[(scale, 0.0, -1 / scale if scale > 2.0**-1023 else -(2.0**1023))]]])
    tiny = 2.0**-560
    x = np.full((1, TOKENS, 1), tiny)
    assert holds_what_is_computed(network, x, Enclosure.box(np.zeros_like(x), 2 * x))


def test_shares_of_a_subnormal_key_are_not_exact():
    # Two tied keys of 5e-324 share their weight, and half of the smallest float is 0.
    network = attention(0.0, 1.0, 1.0, 1.0, 1.0)
    x = np.full((1, TOKENS, 1), 5e-324)
    assert holds_what_is_computed(network, x, Enclosure.box(x, x))


def test_a_third_of_a_value_is_not_rounded_down():
    # fl(1/3) < 1/3, and with values (1, 0, 0) the sum of products counted as exact.
    inward = np.zeros((1, 1, 1, 1))
    stage = AttentionStage("mean", inward, inward[..., 0], inward, inward + 1, inward + 1)
    network = Network(3, 1, BlockShape(1, 1, 1), (stage,))
    low, high = np.zeros((1, 3, 1)), np.array([[[1.0], [0.0], [0.0]]])
    found = propagate(network, Enclosure.box(low, high), Arithmetic.REAL)
    most = Fraction(float(found.high[0, 1, 0])) + Fraction(float(found.slack[0, 1, 0]))
    assert most >= Fraction(1, 3)


def test_the_clip_still_bounds_what_comes_from_far_away():
    stage = scalar_network([[clip(-0.5, 2.0)]]).stages[0]
    anything = np.full((1, TOKENS, 1), np.inf)
    found = propagate_stage(stage, Enclosure.box(-anything, anything), Arithmetic.REAL)
    assert (found.low.min(), found.high.max()) == (-0.5, 2.0)
