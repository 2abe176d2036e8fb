"""`check_enclosures` and the layouts of `check_target`: silent on honest functions, and they find planted faults."""

import numpy as np
import pytest

from anyformer.certificates.bounds.evidence import Evidence, evidence_for
from anyformer.errors import TargetError
from anyformer.targets import CATALOGUE, Box, Symmetry, check_enclosures, check_target, ready_made, target
from anyformer.targets.ranges import range_on_boxes

DOMAIN = Box(-1.0, 2.0)


def own(function, **how):
    return target(function, tokens=2, width=3, domain=DOMAIN, symmetry=Symmetry.NONE, **how)


@pytest.mark.parametrize("name", CATALOGUE)
def test_ready_made_targets_pass(name):
    check_enclosures(ready_made(name, tokens=3, width=2))


HONEST = {
    "filled in place": lambda x: np.cumsum(np.maximum(x, 0.25), axis=1),
    "undefined on a part": lambda x: np.where(x > 0, np.sqrt(x), 0.0),
    "refused": lambda x: np.linalg.qr(x)[0][:, :, :1] * np.ones(x.shape),
    "undecided": lambda x: x if (x > 0.5).all() else x * 1.0,
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_functions_pass(name):
    check_enclosures(own(HONEST[name]))


def by_type(x):
    return x * 2 if type(x) is np.ndarray else x * 3


def large_batches(x):
    return x * 2 if len(x) < 1000 or type(x) is np.ndarray else x * 3


def two_at_once(x):
    return x * 3 if len(x) == 2 and type(x) is not np.ndarray else x * 2


def wide_boxes(x):
    # An enclosure that is wrong on boxes only, not on points.
    return x + (0.0 if type(x) is np.ndarray else np.maximum(x - x, 1e-9) * 50)


FAULTS = {
    "another function on intervals": (by_type, "at the input"),
    "another function of large batches": (large_batches, "one of 5461"),
    "another function of two": (two_at_once, "one of 2,"),
    "another function of boxes": (wide_boxes, "must mean the same on intervals and on arrays"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_found(name):
    function, message = FAULTS[name]
    check_target(own(function))
    with pytest.raises(TargetError, match=message):
        check_enclosures(own(function))


def mean_of_tokens(x):
    """Of one sequence: on a batch it would take the mean over the batch."""
    return np.broadcast_to(x.mean(axis=0), x.shape)


def test_one_sequence_at_a_time():
    one = own(mean_of_tokens, vectorised=False)
    check_enclosures(one)
    check_target(one)
    assert evidence_for(one) is Evidence.UNCONDITIONAL
    assert evidence_for(own(mean_of_tokens, vectorised=False, lipschitz=1.0)) is Evidence.MODULUS
    low = np.random.default_rng(0).uniform(-1, 1, (4, 2, 3))
    f_low, f_high = range_on_boxes(one, low, low + 0.5)
    for x in (low, low + 0.25, low + 0.5):
        assert ((f_low <= one(x)) & (one(x) <= f_high)).all()
    with pytest.raises(TargetError, match="must mean the same on intervals"):
        check_enclosures(own(by_type, vectorised=False))


def flat_view(x):
    x.ravel()[0] += 1.0
    return x


def own_order(x):
    return x.ravel(order="K").reshape(x.shape)


@pytest.mark.parametrize("function", [flat_view, own_order])
def test_functions_that_look_at_memory(function):
    with pytest.raises(TargetError, match="not on how they lie in memory"):
        check_target(own(function, vectorised=False))
    with pytest.raises(TargetError, match=r"not on how they lie in memory|must treat the elements of a batch apart"):
        check_target(own(function))


def test_functions_that_work_in_place_pass():
    def doubled(x):
        x *= 2
        return x

    check_target(own(doubled))
    check_target(own(doubled, vectorised=False))


def test_what_is_defined_nowhere_is_said():
    with pytest.raises(TargetError, match=r"nothing can be proved of it unaided: On the box from .* np\.sqrt needs"):
        evidence_for(own(lambda x: np.maximum(np.sqrt(x - 9), 0.0), name="nowhere"))
    assert evidence_for(own(lambda x: np.where(x > 0, np.sqrt(x), 0.0))) is Evidence.UNCONDITIONAL
    assert evidence_for(own(lambda x: np.sqrt(x - 9), lipschitz=1.0)) is Evidence.MODULUS
