"""Squares and products by several layers: few units for small errors, proved from composed polylines."""

import math
from dataclasses import replace

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates.programs.error_bound import derive_program_bound
from anyformer.certificates.programs.hints import hint_from_json
from anyformer.construction.compiling import depths
from anyformer.errors import CertificateError, NotShown
from anyformer.runtime import run
from tests.construction.compiling.test_narrowing import damaged, inputs, standardised, target_of

CASES = {
    "product": (af.targets.mean_scale(tokens=3), 1e-6),
    "product of many tokens": (af.targets.mean_scale(tokens=64), 1e-9),
    "square": (target_of(lambda x: (2 * x - 0.7) ** 2 + x), 1e-7),
    "square of what has an error": (target_of(lambda x: np.exp(x) ** 2 * x.mean(axis=1, keepdims=True)), 1e-4),
    "variance": (target_of(lambda x: np.broadcast_to(x.var(axis=1, keepdims=True), x.shape)), 1e-6),
    "standardised": (target_of(standardised), 1e-4),
}


def built(name, **limits):
    target, tolerance = CASES[name]
    return af.construct(target, tolerance, p=math.inf, method="compile", **limits)


@pytest.mark.parametrize("name", CASES)
def test_depth_makes_networks_smaller(name, monkeypatch):
    deep = built(name)
    assert any(hint.is_helper for hint in deep.certificate.hints)
    x = inputs(deep, 2000)
    assert np.abs(deep(x) - deep.target(x)).max() <= deep.certificate.certified_error <= CASES[name][1]
    assert deep.verify().verdict is af.Verdict.PROVED
    monkeypatch.setattr(depths, "MOST_DEPTH", 1)
    flat = built(name)
    assert not any(hint.is_helper for hint in flat.certificate.hints)
    assert deep.network.parameter_count < flat.network.parameter_count


@pytest.mark.parametrize("exponent", [-4, -6, -8, -10])
def test_units_grow_with_the_logarithm_of_the_error(exponent):
    """u² on [0, 1] by L layers of K units is off by K^(−2L)/8: with K = 4 that takes 3/5 of a layer a digit."""
    target = target_of(lambda x: x**2)
    planned = af.plan(target, 10.0**exponent, p=math.inf, method="compile")
    assert planned.written.network.hidden_unit_count <= 8 * -exponent
    model = af.construct(target, 10.0**exponent, p=math.inf, method="compile")
    x = np.linspace(0, 1, 30_000).reshape(-1, 3, 1)
    assert np.abs(model(x) - x**2).max() <= model.certificate.certified_error <= 10.0**exponent


def test_where_depth_does_not_pay_there_is_none():
    plan = af.plan(af.targets.mean_scale(tokens=3), 1e-2, p=math.inf, method="compile")
    assert not any(hint.is_helper for hint in plan.written.hints)


def test_deep_networks_are_cut_saved_and_verified(tmp_path):
    model = built("standardised", heads=1, hidden_size=5)
    assert model.network.shape.hidden_size <= 5
    loaded = af.load(model.save(tmp_path / "deep"))
    assert loaded.certificate.hints == model.certificate.hints
    assert loaded.verify(model.target).verdict is af.Verdict.PROVED
    assert np.array_equal(loaded(inputs(model)), model(inputs(model)))


def bound_of(model, network=None, hints=None):
    hints = model.certificate.hints if hints is None else hints
    return derive_program_bound(network or model.network, model.target, hints, math.inf).upper


@pytest.mark.parametrize("name", ["product", "square", "square of what has an error", "variance"])
def test_damaged_deep_networks_are_never_called_better_than_they_are(name):
    model, rng = built(name), np.random.default_rng(2)
    x = inputs(model, 2000)
    y, seen, accepted = model.target(x), 0, 0
    for _ in range(250):
        network = damaged(model.network, rng)
        try:
            bound = bound_of(model, network)
        except NotShown:
            continue
        apart = float(np.abs(run(network, x) - y).max())
        assert apart <= bound
        accepted += 1
        seen += apart > model.certificate.certified_error
    assert accepted
    assert seen


def changed_hints(hints, rng):
    """One field of one hint is that of another hint, or off a little."""
    k, other = int(rng.integers(len(hints))), hints[int(rng.integers(len(hints)))]
    hint = hints[k]
    changes = [{name: getattr(other, name)} for name in ("node", "layer", "channel", "slopes", "constant", "is_helper")]
    changes += [{"helpers": hint.helpers[::-1]}, {"helpers": hint.helpers[1:], "slopes": hint.slopes[:-1]}]
    changes += [{"helpers": other.helpers}, {"stretch": hint.stretch * 2}, {"is_helper": not hint.is_helper}]
    changes += [{"slopes": tuple(slope + rng.choice([1e-3, -1e-6, 1.0]) for slope in hint.slopes)}]
    return (*hints[:k], replace(hint, **changes[int(rng.integers(len(changes)))]), *hints[k + 1 :])


@pytest.mark.parametrize("name", ["product", "standardised"])
def test_wrong_hints_never_make_a_bound_too_small(name):
    model, rng = built(name), np.random.default_rng(3)
    x = inputs(model, 2000)
    apart, refused = float(np.abs(model(x) - model.target(x)).max()), 0
    for _ in range(200):
        try:
            assert apart <= bound_of(model, hints=changed_hints(model.certificate.hints, rng))
        except NotShown:
            refused += 1
    assert refused > 50


def test_a_helper_is_read_as_it_is_and_by_its_own_node():
    model = built("product")
    network, hints = model.network, model.certificate.hints
    final = next(hint for hint in hints if hint.helpers)
    stage = network.stages[final.layer]
    W_1 = stage.W_1.copy()
    W_1[0, 0] *= 1 + 1e-3
    scaled = replace(network, stages=(*network.stages[: final.layer], replace(stage, W_1=W_1)))
    with pytest.raises(NotShown, match="a helper is read as it is"):
        bound_of(model, scaled)
    with pytest.raises(NotShown, match="a helper is its channel and nothing else"):
        bound_of(model, hints=[replace(h, constant=1e-9) if h.is_helper else h for h in hints])
    with pytest.raises(NotShown, match="a helper helps one node"):
        bound_of(model, hints=[replace(h, stretch=2.0) if h.is_helper and h.layer == 1 else h for h in hints])
    with pytest.raises(NotShown, match="a helper is known when it is read"):
        bound_of(model, hints=[replace(h, helpers=(0, *h.helpers[1:])) if h.helpers else h for h in hints])
    with pytest.raises(NotShown, match="every root and every helper has a slope"):
        bound_of(model, hints=[replace(h, slopes=h.slopes[:-1]) if h.helpers else h for h in hints])


def test_hints_of_helpers_in_json():
    hint = next(hint for hint in built("product").certificate.hints if hint.helpers)
    assert hint_from_json(hint.to_json(), "hints[0]") == hint
    for name, wrong in (("is_helper", 1), ("helpers", [1.5]), ("helpers", 3), ("helpers", [-1]), ("helpers", [True])):
        with pytest.raises(CertificateError, match=rf"hints\[0\].{name} must be"):
            hint_from_json({**hint.to_json(), name: wrong}, "hints[0]")
