"""The gate before the proof: wild weights, numbers that may overflow and NaN leave a claim undecided, and say where."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import anyformer as af
from anyformer.certificates import NotShown
from anyformer.certificates.bounds.powers import power_above, power_below
from anyformer.certificates.propagation.enclosures import Enclosure, up, up_times
from anyformer.certificates.propagation.gate import (
    check_attention,
    check_feed_forward,
    check_weights,
    largest,
    vigilant,
)
from anyformer.networks import FeedForwardStage
from anyformer.networks.layers import weights
from anyformer.networks.magnitudes import tame
from tests.hunt.build import scalar_network


@pytest.mark.parametrize("wild", [5e-324, 2.0**-1001, 2.0**1001, -1.7e308])
def test_wild_weights_are_named_by_stage_and_layer(averaged_models, wild):
    model = averaged_models[0]
    for k, stage in enumerate(model.network.stages):
        for name, array in weights(stage).items():
            changed = array.copy()
            changed[len(stage) - 1].flat[0] = wild
            stages = list(model.network.stages)
            stages[k] = replace(stage, **{name: changed})
            with pytest.raises(NotShown, match=f"layer {len(stage) - 1} of the stage '{stage.name}' has a weight"):
                check_weights(replace(model.network, stages=tuple(stages)))


def test_quotients_that_are_not_tame_are_named():
    with pytest.raises(NotShown, match="layer 1 of the stage 'layers' has weights in W_1 and b_1 whose quotients"):
        check_weights(scalar_network([[[(1.0, 1.0, 1.0)], [(2.0**-600, 2.0**600, 1.0)]]]))
    check_weights(scalar_network([[[(2.0**-600, 2.0**300, 1.0)]]]))


def test_a_verdict_about_wild_weights_is_undecided(averaged_models):
    model = averaged_models[0]
    k = next(k for k, stage in enumerate(model.network.stages) if isinstance(stage, FeedForwardStage))
    b_1 = model.network.stages[k].b_1.copy()
    b_1[0, -1] = -1e308
    stages = list(model.network.stages)
    stages[k] = replace(stages[k], b_1=b_1)
    result = af.verify(replace(model.network, stages=tuple(stages)), model.certificate, model.target)
    assert result.verdict is af.Verdict.UNDECIDED
    assert f"layer 0 of the stage '{stages[k].name}'" in result.reason


def test_layers_that_may_overflow_are_named():
    stage = scalar_network([[[(1.0, 0.0, 1.0)], [(2.0**600, 0.0, 2.0**300)]]]).stages[0]
    check_feed_forward(stage, 2.0**100)
    with pytest.raises(NotShown, match=r"feed-forward layer 1 of the stage 'layers' may overflow in float64"):
        check_feed_forward(stage, 2.0**120)
    for unknown in (np.inf, np.nan):
        with pytest.raises(NotShown, match="up to an unknown size"):
            check_feed_forward(stage, unknown)


def test_attention_that_may_overflow_is_named(small_models):
    network = small_models[0].network
    layer = next(stage[0] for stage in network.stages if stage.kind == "attention")
    x = Enclosure.box(np.zeros((1, 2, 1)), np.ones((1, 2, 1)))
    check_attention(layer, x, "here")
    for wrong in (1e300, np.inf, np.nan):
        with pytest.raises(NotShown, match="here may overflow in float64"):
            check_attention(layer, Enclosure.box(x.low, x.high * wrong), "here")


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_nan_is_never_small(x):
    array = np.array([x])
    for of in (up(np.abs(array)), up_times(np.abs(array), np.ones(1)), power_above(np.abs(array), 1.0, 2.0)):
        assert np.isnan(of).all() == np.isnan(x)
    assert not tame(np.array([np.nan, np.inf])).any()
    # The largest of several numbers is NaN if one of them is.
    assert np.isnan(largest(Enclosure.box(np.array([0.0, x]), np.array([1.0, np.nan]))))


@pytest.mark.parametrize(
    "slip",
    [
        lambda: np.array([np.inf]) - np.inf,
        lambda: np.array([0.0]) * np.inf,
        lambda: np.array([1e300]) * 1e300,
        lambda: np.array([1.0]) / 0.0,
        lambda: 2.0**2000,
        lambda: 1.0 / 0.0,
    ],
)
def test_the_checkers_own_arithmetic_is_watched(slip):
    with pytest.raises(NotShown, match="the checker's own arithmetic"), vigilant():
        slip()


@given(
    st.floats(0, 1e300),
    st.sampled_from([2.0**-500, 2.0**-40, 1.0, 2.0**500]),
    st.floats(1, 64),
)
@example(2.0, 3.273390607896142e150, 2.125)  # a power below the smallest normal float, which used to be rounded up
def test_powers_enclose_the_truth(x, unit, p):
    from flint import arb

    truth = (arb(x) / arb(unit)) ** arb(p) if x else arb(0)
    above, below = (float(of(np.array([x]), unit, p)[0]) for of in (power_above, power_below))
    assert not arb(above) < truth or above == np.inf
    assert not arb(below) > truth
    assert (above == 0) == (x == 0)
