import math

import pytest

import anyformer as af
from anyformer.construction import Resource
from anyformer.errors import PlanError


def plan(target, tolerance, method="selective-shift", **asked):
    return af.plan(target, tolerance, method=method, **asked)


def test_layer_counts_are_the_theorems():
    planned = plan(af.targets.mean_scale(tokens=2), 0.2)
    layers = {stage.name: stage.layers for stage in planned.stages}
    count = planned.lattice.columns
    assert layers["quantise"] == count
    assert layers["selective shifts"] + layers["global shift"] == count + 1
    assert layers["value map"] == 2 * math.comb(count, 2)
    placed = plan(af.targets.sort(tokens=3), 0.3)
    layers = {stage.name: stage.layers for stage in placed.stages}
    count = placed.lattice.columns
    assert layers["selective shifts"] == 3 * count
    assert layers["value map"] == 3 * count**3


def test_faithful_ids_have_2_n_plus_1_d_log_n_bits():
    planned = plan(af.targets.mean_scale(tokens=2, width=2), 0.2)
    assert planned.id_bits == 2 * (2 + 1) * 2 * math.log2(planned.lattice.counts[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tolerance": 0.0}, r"tolerance \(epsilon\) must be positive and finite; got 0.0"),
        ({"tolerance": math.nan}, r"tolerance \(epsilon\) must be positive and finite; got nan"),
        ({"tolerance": 0.1, "p": 0.5}, "p must be at least 1 and at most 64, or inf; got 0.5"),
        ({"tolerance": 0.1, "p": 65.0}, "p must be at least 1 and at most 64, or inf; got 65.0"),
        ({"tolerance": 0.1, "p": math.inf}, "selective-shift needs a finite p, at most 64; got inf"),
        (
            {"tolerance": 0.1, "method": "magic"},
            "must be one of auto, compile, interpolation, averaging, selective-shift, .*; got 'magic'",
        ),
    ],
)
def test_bad_requests_are_refused(arguments, message):
    with pytest.raises(PlanError, match=message):
        plan(af.targets.mean_scale(tokens=2), **arguments)


def test_too_many_layers_are_refused_with_what_would_fit():
    with pytest.raises(PlanError) as refusal:
        plan(af.targets.mean_scale(tokens=3), 0.05, max_layers=10_000)
    message, refused = str(refusal.value), refusal.value.refusal
    assert "layers where 10,000 are allowed" in message
    assert (refused.method, refused.shortage.resource, refused.shortage.allowed) == (
        "selective-shift", Resource.LAYERS, 10_000
    )  # fmt: skip
    assert refused.shortage.needed > 10_000
    assert f"a tolerance of {refused.fit.tolerance:.3g} or more" in message
    assert plan(af.targets.mean_scale(tokens=3), refused.fit.tolerance, max_layers=10_000).layers <= 10_000


def test_too_few_bits_are_refused_with_the_count():
    with pytest.raises(PlanError, match=r"ids of \d\d bits, where float64 has 53 for the id and the output together"):
        plan(af.targets.mean_scale(tokens=4), 0.2, max_layers=10**15)


def test_ramps_too_steep_for_float64_are_refused():
    with pytest.raises(PlanError, match=r"ramps of width .* where float64 keeps sums exact down to"):
        plan(af.targets.sort(tokens=2), 0.1, p=40.0)


def test_what_fits_is_certified():
    target = af.targets.softmax(tokens=3)
    with pytest.raises(PlanError) as refusal:
        plan(target, 0.01, max_layers=2_000)
    model = af.construct(target, refusal.value.refusal.fit.tolerance, method="selective-shift", max_layers=2_000)
    assert model.certificate.is_within_tolerance
