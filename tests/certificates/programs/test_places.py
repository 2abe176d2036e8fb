"""What reading positions can be off by, at every place, against exact sums in random orders."""

from fractions import Fraction

import numpy as np
import pytest

import anyformer as af
from anyformer.arrays import Array
from anyformer.certificates.programs.stream import Stream
from anyformer.construction.request import Request
from anyformer.errors import NotShown
from anyformer.networks.layers import BlockShape
from anyformer.networks.network import Network

TOKENS, STREAM = 5, 9


def _stream(positions: Array) -> Stream:
    """Channel 0 holds the input, the others positions."""
    target = af.targets.centre(tokens=TOKENS)
    W_E = np.eye(STREAM, 1)
    network = Network(TOKENS, 1, BlockShape(), (), positions, W_E=W_E, W_R=W_E.T, b_R=np.zeros(1))
    return Stream(Request(target=target, tolerance=0.1).program, network)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_sums_of_positions_are_within_the_bound_at_every_place(share: float) -> None:
    rng = np.random.default_rng(7)
    for _ in range(40):
        positions = rng.normal(size=(TOKENS, STREAM)) * (rng.random((TOKENS, STREAM)) < share)
        positions[:, 0] = 0.0
        row, bias = rng.normal(size=STREAM) * 10.0 ** rng.integers(-8, 8, STREAM), float(rng.normal())
        row[0] = 0.0
        bounds = _stream(positions).rounding_at_places(row, bias)
        for place in range(TOKENS):
            exact = sum((Fraction(a) * Fraction(b) for a, b in zip(row, positions[place], strict=True)), Fraction(bias))
            found = bias
            for k in rng.permutation(STREAM):
                found += row[k] * positions[place, k]
            assert abs(Fraction(found) - exact) <= Fraction(float(bounds[place]))


def test_the_bound_counts_only_what_a_place_has() -> None:
    one_hot = np.concatenate([np.zeros((TOKENS, 1)), np.eye(TOKENS, STREAM - 1)], axis=1)
    row = np.full(STREAM, 800.0)
    row[0] = 0.0
    stream = _stream(one_hot)
    assert stream.rounding_at_places(row, 0.0).max() < stream.rounding(row, 0.0)


def test_a_row_that_reads_inputs_is_refused() -> None:
    with pytest.raises(NotShown, match="reads nothing else"):
        _stream(np.zeros((TOKENS, STREAM))).rounding_at_places(np.ones(STREAM), 0.0)
