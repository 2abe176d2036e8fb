"""A function's own rounding, as declared, is part of what a declared modulus proves, and of what `verify` says."""

from dataclasses import replace

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates.bounds.bound import derive_bound
from anyformer.certificates.bounds.evidence import Evidence, evidence_for
from anyformer.certificates.checker import Verdict
from anyformer.errors import TargetError

ERROR = 2.0**-12
TOLERANCE = 0.5


def in_float32(x):
    return 0.5 * x.astype(np.float32)


def own(**changes):
    return af.target(in_float32, **{"tokens": 3, "lipschitz": 0.5, "evaluation_error": ERROR, **changes})


@pytest.fixture(scope="module")
def built():
    return af.construct(own(), TOLERANCE, method="averaging")


def test_a_function_in_float32_is_refused_until_its_rounding_is_declared(built):
    with pytest.raises(TargetError, match=r"It returned float32, which rounds by up to 5\.96e-08\. Compute in float64"):
        af.construct(own(evaluation_error=2.0**-40), TOLERANCE, method="averaging")
    assert built.certificate.kind is Evidence.MODULUS
    assert built.certificate.target.evaluation_error == ERROR


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (0.1 * x.astype(np.float32)).astype(np.float64),
        lambda x: x - x.mean(axis=1, keepdims=True, dtype=np.float32),
        lambda x: np.exp(x, dtype=np.float32) + 0.0,
        lambda x: np.full_like(x, 0.1, dtype=np.float32) * x,
        lambda x: np.where(x > 0.5, np.float32(0.1), np.float32(0.3)) * np.float32(0.7),
        lambda x: (x > 0.5) * np.float32(0.1) * np.float32(0.7),
        lambda x: np.concatenate([x, x], axis=1, dtype=np.float32)[:, :3],
    ],
)
def test_intervals_do_not_follow_a_function_into_float32(function):
    with pytest.raises(TargetError, match="cannot be run on intervals"):
        evidence_for(af.target(function, tokens=3))


def test_the_certified_error_grows_by_what_is_declared(built):
    """Each of the three entries is off by at most ERROR (1 + |f|), |f| <= 1/2, on a domain of volume 1."""

    def certified(error):
        grid = built.construction.grid
        return derive_bound(built.network, own(evaluation_error=error), grid, 2.0, evidence=Evidence.MODULUS)

    coarse, fine = certified(ERROR), certified(2.0**-24)
    more = coarse.upper - fine.upper
    assert 0 < more <= 1.5 * np.sqrt(3) * ERROR
    assert coarse.lower <= fine.lower


def test_the_verdict_names_it_and_a_certificate_that_hides_it_is_not_believed(built):
    result = built.verify()
    assert result.verdict is Verdict.PROVED
    assert result.claim.facts()["evaluation error"] == repr(ERROR)
    hidden = replace(built.certificate, target=replace(built.certificate.target, evaluation_error=2.0**-24))
    told = replace(built, certificate=hidden).verify()
    assert told.verdict is not Verdict.PROVED
    assert "evaluation error" in told.reason
