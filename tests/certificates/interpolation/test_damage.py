"""Damaged networks, hints, grids and certificates: never a bound below the error that is there."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates.claims.certificate import certificate_from_json
from anyformer.certificates.interpolation.error_bound import derive_interpolation_bound
from anyformer.errors import CertificateError, NotShown
from anyformer.networks.layers import AttentionStage, weights
from anyformer.runtime.run import run
from tests.programs.kuhn_samples import points_of

TARGET = af.targets.softmax(tokens=3)


@pytest.fixture(scope="module")
def model():
    return af.construct(TARGET, 0.03, p=math.inf, method="interpolation")


def largest_error(network):
    x = points_of(TARGET, 3000)
    x[:1000] = np.round(4 * x[:1000]) / 4
    return float(np.abs(run(network, x) - TARGET(x)).max())


def bound(model, network=None, hints=None, cells=None):
    """The bound derived from these; infinite if none can be."""
    certificate = model.certificate
    try:
        return derive_interpolation_bound(
            model.network if network is None else network,
            TARGET,
            certificate.hints if hints is None else hints,
            certificate.cells if cells is None else cells,
            math.inf,
            0.03,
        ).upper
    except NotShown:
        return math.inf


def test_undamaged(model):
    assert largest_error(model.network) <= bound(model) <= 0.03
    assert model.verify().verdict is af.Verdict.PROVED


def damaged(network, rng):
    """One weight somewhere, changed by something between a little and a lot."""
    amount = rng.choice([-1, 1]) * 10.0 ** rng.uniform(-4, 1)
    place = rng.integers(len(network.stages) + 2)
    if place >= len(network.stages):
        name = ("W_R", "b_R")[place - len(network.stages)]
        changed = getattr(network, name).copy()
        changed.flat[rng.integers(changed.size)] += amount
        return replace(network, **{name: changed})
    stage = network.stages[place]
    names = [name for name in weights(stage) if weights(stage)[name].size]
    name = names[rng.integers(len(names))]
    changed = weights(stage)[name].copy()
    used = np.flatnonzero(changed) if rng.random() < 0.7 and changed.any() else np.arange(changed.size)
    changed.flat[rng.choice(used)] += amount
    stages = list(network.stages)
    stages[place] = replace(stage, **{name: changed})
    return replace(network, stages=tuple(stages))


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_damaged_weights_are_never_called_better_than_they_are(model, count):
    rng, worse = np.random.default_rng(0), 0
    for _ in range(count):
        network = damaged(model.network, rng)
        error = largest_error(network)
        worse += error > 0.03
        assert error <= bound(model, network)
    assert worse > count / 8


def test_a_changed_value_of_a_node_is_paid_for(model):
    W_R = model.network.W_R.copy()
    hat = np.flatnonzero(W_R[0])[12]
    W_R[0, hat] += 0.01
    network = replace(model.network, W_R=W_R)
    # The channel is a hat: it reaches 1.
    assert largest_error(network) <= bound(model, network)
    assert bound(model, network) >= bound(model) + 0.0099


def test_another_number_of_cells_is_not_shown(model):
    for cells in (1, model.certificate.cells + 1, 10**6):
        assert bound(model, cells=cells) == math.inf
        changed = replace(model.certificate, cells=cells)
        assert af.Model(model.network, changed, TARGET).verify().verdict is af.Verdict.UNDECIDED


def test_wrong_hints_are_refused(model):
    hints = list(model.certificate.hints)
    rng = np.random.default_rng(3)
    for _ in range(30):
        first, second = rng.choice(len(hints), 2, replace=False)
        swapped = list(hints)
        swapped[first] = replace(hints[first], channel=hints[second].channel)
        swapped[second] = replace(hints[second], channel=hints[first].channel)
        assert bound(model, hints=tuple(swapped)) >= largest_error(model.network)
    assert bound(model, hints=tuple(hints[:-1])) == math.inf


def test_heads_that_copy_the_wrong_token_are_seen(model):
    stage = model.network.stages[0]
    assert isinstance(stage, AttentionStage)
    turned = replace(stage, W_Q=stage.W_Q[:, ::-1].copy(), b_Q=stage.b_Q[:, ::-1].copy())
    network = replace(model.network, stages=(replace(turned, W_O=0 * stage.W_O), *model.network.stages[1:]))
    assert bound(model, network) >= largest_error(network) > 0.03


def test_a_certificate_survives_its_json(model):
    text = json.dumps(model.certificate.to_json())
    read = certificate_from_json(text)
    assert (read.cells, read.hints, read.grid) == (model.certificate.cells, model.certificate.hints, None)
    assert json.dumps(read.to_json()) == text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cells": None}, "cells must be a int; got NoneType"),
        ({"cells": 0}, "from 1 up; got 0"),
        ({"cells": True}, "cells must be a int"),
        ({"grid": []}, "'grid' must not be there"),
        ({"kind": "unconditional, step by step"}, "'cells' must not be there"),
    ],
)
def test_json_that_does_not_fit_is_refused(model, change, words):
    with pytest.raises(CertificateError, match=words):
        certificate_from_json(json.dumps({**model.certificate.to_json(), **change}))


def test_a_better_error_than_can_be_derived_is_not_proved(model):
    stated = replace(model.certificate, certified_error=model.certificate.certified_error / 2)
    assert af.Model(model.network, stated, TARGET).verify().verdict is af.Verdict.UNDECIDED


def test_a_tolerance_below_the_error_is_refuted_with_an_input(model):
    result = af.Model(model.network, replace(model.certificate, tolerance=0.001), TARGET).verify()
    assert result.verdict is af.Verdict.REFUTED
    x = result.witness[None]
    assert np.abs(TARGET(x) - run(model.network, x)).max() > 0.001
