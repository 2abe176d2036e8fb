"""Thousands of damaged networks, hints and programs: the checker refuses them, or its bound is one."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates.checker import Verdict, verify
from anyformer.errors import CertificateError
from anyformer.networks.digest import digest
from tests.certificates.programs.damages import TARGETS, TOLERANCE, Damaged, Outcome, case, damage, judged, measured

FEW, MANY = 16, 140


def _tally(name: str, count: int, seed: int) -> Counter[Outcome]:
    one, rng, tally = case(name), np.random.default_rng([seed, list(TARGETS).index(name)]), Counter[Outcome]()
    for _ in range(count):
        outcome, what = judged(one, damage(one, rng))
        assert outcome not in (Outcome.UNSOUND, Outcome.CRASH), f"{name}: {outcome.value}: {what}"
        tally[outcome] += 1
    return tally


@pytest.mark.parametrize("name", TARGETS)
def test_no_damage_gets_a_bound_below_its_error(name: str) -> None:
    tally = _tally(name, FEW, seed=0)
    # Damages that change nothing would test nothing.
    assert tally[Outcome.REFUSED] + tally[Outcome.LARGER] >= FEW // 4


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_nor_do_many_more(name: str) -> None:
    _tally(name, MANY, seed=1)


@pytest.mark.parametrize("name", TARGETS)
def test_undamaged_the_bound_is_met(name: str) -> None:
    one = case(name)
    assert measured(Damaged("nothing", one.program, one.network, one.hints), one.x) <= one.bound <= TOLERANCE


@pytest.mark.parametrize("name", ["softmax", "gate", "kinks", "masked-attention"])
def test_a_damaged_model_with_a_new_digest_is_not_called_proved_unless_it_is(name: str) -> None:
    """Through the certificate, with a digest that fits: only the mathematics can notice."""
    one, rng = case(name), np.random.default_rng([2, list(TARGETS).index(name)])
    model = af.construct(one.target, TOLERANCE, p=np.inf, method="compile")
    proved = 0
    for _ in range(12):
        damaged = damage(one, rng)
        if damaged.program is not one.program:
            continue
        certificate = replace(model.certificate, weights_digest=digest(damaged.network), hints=damaged.hints)
        try:
            result = verify(damaged.network, certificate, one.target)
        except CertificateError:
            continue
        if result.verdict is Verdict.PROVED:
            proved += 1
            assert measured(damaged, one.x) <= certificate.certified_error
    assert proved < 12
