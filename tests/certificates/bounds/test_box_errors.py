"""Bounds on boxes hold what dense quadrature finds, by ranges and by slopes; old certificates stay proved."""

from dataclasses import replace

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates.bounds import box_errors, interval_bound
from anyformer.certificates.bounds.box_errors import BoxErrors, Boxes
from anyformer.certificates.bounds.interval_bound import interval_sums
from anyformer.certificates.bounds.job import Job
from anyformer.construction import Averaging, Request
from anyformer.intervals.slopes import table

TARGETS = {
    "softmax": af.targets.softmax(tokens=3),
    "mean-scale": af.targets.mean_scale(tokens=2, width=2),
    "sort": af.targets.sort(tokens=3),
    "attention": af.targets.attention(tokens=2, width=2),
    "own": af.target(lambda x: np.tanh(3 * x) * np.abs(x - 0.4).sum(axis=1, keepdims=True), tokens=2, width=1),
    "jumps": af.target(lambda x: np.where(x > 0.5, x * x, x / 2), tokens=2, width=1),
}
BOXES, POINTS = 24, 1 << 14


def drawn(target, seed=0, width=0.15):
    """Boxes with unequal sides, and a g near f that is not quite constant."""
    rng = np.random.default_rng(seed)
    shape = (BOXES, target.tokens, target.width)
    low = rng.uniform(0, 1 - width, shape)
    high = low + width * rng.uniform(0.2, 1.0, shape)
    g = target((low + high) / 2) + rng.normal(size=shape) * rng.choice([0.0, 0.02, 0.3], shape)
    return Boxes(low, high, g - 1e-3 * rng.random(shape), g)


def mean_powers(target, boxes, entries, p, seed=1):
    """Means of |f − g|^p over boxes on many points, where g jumps between its ends, and their standard errors."""
    rng = np.random.default_rng(seed)
    means, errors = [], []
    for k in range(BOXES):
        share = rng.random((POINTS, target.tokens, target.width))
        x = boxes.low[k] * (1 - share) + boxes.high[k] * share
        g = np.where(np.sin(50 * x) > 0, boxes.g_low[k], boxes.g_high[k])
        powers = (np.abs(target(x) - g) ** p).reshape(POINTS, -1)[:, entries].sum(axis=1)
        means.append(powers.mean())
        errors.append(powers.std() / np.sqrt(POINTS))
    return np.array(means), np.array(errors)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.5])
@pytest.mark.parametrize("name", TARGETS)
def test_bounds_hold_what_points_show(name, p):
    target = TARGETS[name]
    boxes, entries = drawn(target), np.arange(target.tokens * target.width)[::-1][:2]
    means, errors = mean_powers(target, boxes, entries, p)
    ranges, slopes = (
        bounds(boxes, entries) for bounds in (BoxErrors(target, 1.0, p).by_ranges, BoxErrors(target, 1.0, p).by_slopes)
    )
    for upper, lower in (ranges, slopes):
        # Five standard errors: below one in a million for each of a few hundred means.
        assert (means <= upper + 5 * errors).all()
        assert (means >= lower - 5 * errors).all()
    assert (slopes[0] <= ranges[0]).all()
    assert (slopes[1] >= ranges[1]).all()
    assert slopes[0].sum() - slopes[1].sum() < 0.8 * (ranges[0].sum() - ranges[1].sum()) or name == "jumps"


def test_the_unit_changes_nothing():
    target = TARGETS["softmax"]
    boxes, entries = drawn(target), np.arange(3)
    one, other = (BoxErrors(target, unit, 2.0).by_slopes(boxes, entries) for unit in (1.0, 2.0**-9))
    assert np.allclose(one[0], other[0] * 2.0**-18, rtol=1e-9)


def test_pieces_change_nothing(monkeypatch):
    target = TARGETS["softmax"]
    boxes, entries = drawn(target), np.arange(3)
    whole = BoxErrors(target, 1.0, 2.0).by_slopes(boxes, entries)
    monkeypatch.setattr(box_errors, "ENTRIES_WITH_SLOPES", 15)
    parts = BoxErrors(target, 1.0, 2.0).by_slopes(boxes, entries)
    assert np.array_equal(whole, parts)


def test_wrong_slopes_give_wrong_bounds(monkeypatch):
    """What the bounds are compared with finds a wrong rule: this test can fail."""
    monkeypatch.setitem(table.ELEMENTWISE, np.exp, lambda y, a: tuple(None for _ in a.slopes))
    with pytest.raises(AssertionError):
        test_bounds_hold_what_points_show("softmax", 2.0)


@pytest.fixture(scope="module")
def job():
    built = Averaging().build(Averaging().plan_with(Request(target=af.targets.softmax(tokens=3), tolerance=0.2), (4,)))
    return Job(built.network, built.plan.target, built.grid, 2.0, up_to_order=True)


def test_slopes_are_used_where_they_pay(job):
    assert interval_sums(job, ((0, 10), np.inf)).by_slopes
    jumping = af.target(lambda x: np.remainder(x, 0.7), tokens=3)
    assert not interval_sums(replace(job, target=jumping), ((0, 10), np.inf)).by_slopes


@pytest.mark.parametrize("tried", [(0,), (2, 5), (4, 6), (12,)])
def test_thresholds_in_any_order_give_the_same_bits(job, monkeypatch, tried):
    """Whichever level slopes are used from, and whatever was done before."""
    monkeypatch.setattr(interval_bound, "TRIED_LEVELS", tried)
    monkeypatch.setattr(
        interval_bound.CellIntegrals,
        "_slopes_pay",
        lambda self, level: self.tried.setdefault(level, level == max(tried)),
    )
    interval_bound.forget()
    stepwise = [interval_sums(job, ((2, 15), threshold)) for threshold in (1e-2, 1e-3, 3e-5, 1e-6)][-1]
    interval_bound.forget()
    at_once = interval_sums(job, ((2, 15), 1e-6))
    interval_bound.forget()
    assert stepwise.parts == at_once.parts
    assert stepwise.lower == at_once.lower
    assert stepwise.boxes == at_once.boxes


def test_certificates_that_ranges_proved_stay_proved(monkeypatch):
    for target, tolerance in ((af.targets.sort(tokens=2), 0.1), (af.targets.mean_scale(tokens=3), 0.2)):
        with monkeypatch.context() as patch:
            patch.setattr(interval_bound.CellIntegrals, "_slopes_pay", lambda self, level: False)
            old = af.construct(target, tolerance)
        interval_bound.forget()
        assert old.verify().verdict is af.Verdict.PROVED


def test_a_certificate_that_states_too_little_is_not_proved():
    built = af.construct(af.targets.softmax(tokens=2), 0.1)
    certificate = built.certificate
    terms = {name: value * 0.97 if name == "cells" else value for name, value in certificate.terms.items()}
    too_good = replace(certificate, terms=terms, certified_error=certificate.certified_error * 0.97)
    again = af.verify(built.network, too_good)
    assert again.verdict in (af.Verdict.PROVED, af.Verdict.UNDECIDED)
    assert again.verdict is af.Verdict.UNDECIDED or again.bound.upper <= too_good.certified_error * (1 + 1e-9)
    far = replace(certificate, terms={**terms, "cells": 1e-3}, certified_error=2e-3)
    assert af.verify(built.network, far).verdict is af.Verdict.UNDECIDED
