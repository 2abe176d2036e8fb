import numpy as np
import pytest

import anyformer as af
from anyformer.errors import ExportError
from anyformer.exports.vnnlib.boxes import largest_box, random_box, random_points
from anyformer.networks import FLOAT32

DOMAINS = [af.targets.Box(0.0, 1.0), af.targets.Box((-1.3, 0.1), (2.7, 0.35)), af.targets.Box(-1e6, 1e-3)]


def target_on(domain):
    return af.target(lambda x: x, tokens=3, width=2, domain=domain, name="same")


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("share", [0.0, 2.0**-12, 0.1, 1.0])
def test_boxes_and_points_are_float32_numbers_in_the_domain(domain, share):
    target, rng = target_on(domain), np.random.default_rng(1)
    for _ in range(20):
        low, high = random_box(target, rng, share)
        assert FLOAT32.holds(low)
        assert FLOAT32.holds(high)
        assert (domain.lows(2) <= low).all()
        assert (low < high).all() if share else (low == high).all()
        assert (high <= domain.highs(2)).all()
        points = random_points(rng, low, high, 40)
        assert FLOAT32.holds(points)
        assert ((low <= points) & (points <= high)).all()


def test_the_whole_domain_is_a_box():
    low, high = largest_box(target_on(DOMAINS[0]))
    assert (low == 0).all()
    assert (high == 1).all()


def test_a_domain_without_float32_numbers_is_refused():
    with pytest.raises(ExportError, match="wide enough for boxes of float32 numbers"):
        largest_box(target_on(af.targets.Box(1e9, 1e9 + 1)))
