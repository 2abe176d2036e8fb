import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyformer.construction.dyadic import power_of_two_above, power_of_two_below
from anyformer.construction.stages.coordinates import clamp_rows, rowwise_stage, vanish
from anyformer.construction.stages.draft import Draft
from anyformer.construction.stages.soften import relu_units, soften
from anyformer.networks import BlockShape, Network, evaluate
from anyformer.networks.activations import pieces, step
from anyformer.networks.probability_maps import Softmax
from anyformer.networks.roles import Role

SHAPES = {
    "quantise": (pieces((0.0, 0.25), (0, 0), (-1, 0), (0, 0)), 2.0**-6),
    "step": (step(3.0), 0.5),
    "mark": (pieces((-0.5, 0.75), (0, 6), (0, 0), (0, 6)), 2.0**-4),
    "clamp": (pieces((-1.0, 1.0), (-1, -1), (0, 0), (-1, 1)), 1.0),
    "fall": (pieces((2.0,), (0, 0), (-1, 0)), 1.0),
}


@pytest.mark.parametrize("name", SHAPES)
def test_relu_units_are_the_activation_outside_the_ramps(name):
    activation, ramp = SHAPES[name]
    t = np.arange(-4, 4, 2.0**-9)
    soft = sum(unit.slope * np.maximum(unit.direction * (t - unit.kink), 0) for unit in relu_units(activation, ramp))
    differs = soft != activation(t)
    zero_piece = activation(t) == 0
    near_jump = np.zeros_like(differs)
    for place in activation.breaks:
        near_jump |= np.abs(t - place) <= ramp
    assert not (differs & ~near_jump).any()
    # Ramps bridge jumps without overshooting.
    assert soft.min() >= activation(t).min() - 1e-12
    assert soft.max() <= activation(t).max() + 1e-12
    assert zero_piece.any()


def test_at_most_four_units():
    assert max(len(relu_units(*shape)) for shape in SHAPES.values()) == 4


@given(st.floats(1e-300, 1e300))
def test_powers_of_two_bracket(x):
    above, below = power_of_two_above(x), power_of_two_below(x)
    assert below <= x <= above <= 2 * below
    assert np.frexp(above)[0] == np.frexp(below)[0] == 0.5


def as_network(drafts: list[Draft], width: int) -> Network:
    return Network(2, width, BlockShape(2, 1, 4), tuple(soften(draft, 4, Softmax()) for draft in drafts))


@pytest.mark.parametrize("size", [1.5, 1e3, 1e17, 1e40, 1e120, 1e300])
def test_the_ladder_clamps_every_float(size):
    network = as_network([clamp_rows("clamp", Role.CLIP, 2, 1.0, reach=np.inf)], 2)
    x = np.array([[[size, -size], [0.3, -0.7]]])
    assert evaluate(network, x).tolist() == [[[1.0, -1.0], [0.3, -0.7]]]


def test_a_single_rung_would_not():
    network = as_network([clamp_rows("clamp", Role.CLIP, 1, 1.0, reach=0.0)], 1)
    assert evaluate(network, np.full((1, 2, 1), 1e40)).tolist() != [[[1.0], [1.0]]]


def test_vanish_sends_whole_tokens_to_zero_and_leaves_the_others():
    network = as_network(vanish("vanish", Role.CLIP, 3, threshold=16.0, others=8.0), 3)
    x = np.array([[[16.0, 1.25, 3.0], [7.5, 1.25, 3.0]], [[1e6, 0.0, 4.0], [-3.0, -1.0, 0.5]]])
    expected = np.array([[[0.0, 0.0, 0.0], [7.5, 1.25, 3.0]], [[0.0, 0.0, 0.0], [-3.0, -1.0, 0.5]]])
    assert np.array_equal(evaluate(network, x), expected)


def test_rowwise_layers_touch_one_coordinate():
    stage = rowwise_stage("rows", Role.OTHER, 3, [2, 0], [0.5, 0.25], step(1.0))
    assert stage.W_1[:, 0].tolist() == [[0, 0, 1], [1, 0, 0]]
    assert stage.b_1.ravel().tolist() == [-0.5, -0.25]
