"""The range of a target on boxes: functions of one sequence are followed as those of a batch are."""

import numpy as np
import pytest
from scipy import special

from anyformer.targets import Symmetry, target
from anyformer.targets.ranges import range_on_boxes
from tests.intervals.samples import members

RNG = np.random.default_rng(4)
LOW = RNG.uniform(-0.9, 0.9, (5, 2, 3))
HIGH = LOW + RNG.uniform(0, 0.2, LOW.shape)

ONE_SEQUENCE = {
    "attention pooled": lambda x: x + np.average(x, axis=0, weights=np.exp(x @ x[0])),
    "convolved": lambda x: np.stack([np.convolve(row, [0.25, 0.5, 0.25], "same") for row in x]),
    "interpolated between tokens": lambda x: np.stack([np.interp(np.arange(3) / 2, [0, 1, 2], row) for row in x]),
    "scaled by quantiles": lambda x: (
        (x - np.median(x, axis=0)) / (1 + np.subtract(*np.percentile(x, [75, 25], axis=0)))
    ),
    "angles": lambda x: np.arctan2(x, np.hypot(x[0], 1.0)),
    "polynomial in the first token": lambda x: np.polyval(x[0], x),
    "similarities": lambda x: np.inner(x, x) @ x + np.outer(x[0], x[1])[:2],
    "positions": lambda x: np.diff(x, axis=0, prepend=x[-1:]) + np.sinc(x) + special.expit(x) * special.erf(x),
    "loop over tokens": lambda x: np.stack([np.logaddexp.reduce(x[: at + 1], axis=0) for at in range(len(x))]),
    "pieces": lambda x: np.piecewise(x, [x > 0.2], [1.0, -1.0]) + x % 0.5 + x // 0.5,
}


@pytest.mark.parametrize("name", ONE_SEQUENCE)
def test_functions_of_one_sequence(name):
    """The same functions on a target that is not vectorised."""
    function = ONE_SEQUENCE[name]
    one = target(function, tokens=2, width=3, symmetry=Symmetry.NONE, vectorised=False)
    least, greatest = range_on_boxes(one, LOW, HIGH)
    assert np.isfinite(least).all()
    assert np.isfinite(greatest).all()
    rng = np.random.default_rng(6)
    for member in (LOW, HIGH, *(members(rng, LOW, HIGH) for _ in range(6))):
        for x in (member, member.copy(order="F"), np.repeat(member, 2, axis=-1)[..., ::2]):
            values = np.stack([function(sequence) for sequence in x])
            assert ((least <= values) & (values <= greatest)).all()
