"""Comparisons and curves: the attempts are what `construct` builds, or say why there is nothing."""

import pytest

import anyformer as af
from anyformer import comparison
from anyformer.certificates import Claim, Evidence
from anyformer.certificates.checker import Verdict, Verification
from anyformer.certificates.claims.declaration import Declaration
from anyformer.comparison import compare, curve, tolerances
from anyformer.construction import METHODS, Averaging, Request, Resource, SelectiveShift
from anyformer.errors import CertificateError, PlanError, TargetError
from anyformer.patterns import Ring

MEAN = af.targets.mean_scale(tokens=2)


def asked(tolerance, **others):
    return Request(**{"target": MEAN, "tolerance": tolerance} | others)


def test_every_method_builds_what_construct_builds():
    tried = compare(asked(0.3))
    assert [one.method for one in tried] == [name for name, method in METHODS.items() if not method.is_sparse]
    for one in tried:
        built = af.construct(MEAN, 0.3, method=one.method)
        assert one.is_certified
        assert one.plan.stages == built.construction.plan.stages
        assert getattr(one.plan, "lattice", None) == getattr(built.construction.plan, "lattice", None)
        assert hasattr(one.plan, "lattice") == (one.method not in ("compile", "interpolation"))
        assert one.model.certificate.to_json() == built.certificate.to_json()
        assert one.build_seconds > 0
        assert one.verify_seconds > 0
        assert (one.refused, one.refusal, one.is_skipped) == (None, None, False)


def test_a_refusal_is_an_attempt_with_what_was_too_large():
    with pytest.raises(PlanError) as raised:
        af.plan(MEAN, 0.1, method="averaging", max_layers=10)
    (one,) = compare(asked(0.1, max_layers=10), methods=[Averaging()])
    assert one.refused == str(raised.value)
    assert (one.refusal.shortage.resource, one.refusal.shortage.needed) == (Resource.LAYERS, 17)
    assert one.refusal.shortage.amount == "17 layers"
    assert (one.plan, one.model, one.build_seconds, one.is_certified) == (None, None, None, False)


def test_bits_are_an_amount_too():
    (one,) = compare(asked(0.01, max_layers=10**12), methods=[SelectiveShift()])
    assert one.refusal.shortage.resource is Resource.ID_BITS
    assert one.refusal.shortage.amount.startswith("ids of ")


def test_a_proof_that_fails_is_an_attempt(monkeypatch):
    def failing(*_):
        raise CertificateError("the proof reaches 0.31, not 0.3.")

    monkeypatch.setattr(comparison, "carry_out", failing)
    for one in compare(asked(0.3)):
        assert one.refused == "the proof reaches 0.31, not 0.3."
        assert (one.refusal, one.plan) == (None, None)


def test_a_model_that_is_not_verified_is_not_certified(monkeypatch):
    claim = Claim(Declaration.of(MEAN), 2.0, 0.3, Evidence.UNCONDITIONAL, "0" * 64)
    verdict = Verification(claim, Verdict.UNDECIDED, "the bound is 0.4", None)
    monkeypatch.setattr(af.Model, "verify", lambda self, **_: verdict)
    (one,) = compare(asked(0.3), methods=[Averaging()])
    assert one.model is not None
    assert not one.is_certified


def test_a_target_that_is_not_as_declared_is_no_attempt():
    with pytest.raises(TargetError):
        compare(asked(0.3, target=af.target(lambda x: x * [[1], [2]], tokens=2, lipschitz=2.0)))


def test_with_a_pattern_the_dense_methods_do_without_it():
    tried = compare(asked(0.6, target=af.targets.sort(tokens=3), pattern=Ring()))
    assert [one.method for one in tried] == list(METHODS)
    for one in tried:
        assert (one.request.pattern is None) == (METHODS[one.method].is_sparse is False)
        assert one.model.network.positional_encoding is not None


def test_patience_leaves_the_planned_sizes():
    (one,) = compare(asked(0.1), methods=[SelectiveShift()], patience=1e-3)
    assert one.plan.stages == af.plan(MEAN, 0.1, method="selective-shift").stages
    assert (one.is_skipped, one.model, one.is_certified) == (True, None, False)


def test_tolerances_keep_both_ends():
    assert tolerances(0.1, 0.4, 3) == pytest.approx((0.1, 0.2, 0.4))
    made = tolerances(0.07, 0.9, 5)
    assert (made[0], made[-1]) == (0.07, 0.9)


def test_curve_points_are_what_construct_builds():
    refused, *others = curve(asked(1.0, method=Averaging(), max_layers=20), [0.05, 0.1, 0.4])
    assert "layers where 20 are allowed" in refused.refused
    assert not refused.is_certified
    for one in others:
        built = af.construct(MEAN, one.request.tolerance, method="averaging")
        assert one.method == built.construction.plan.method.name
        assert one.model.certificate.to_json() == built.certificate.to_json()
        assert one.plan.stages == built.construction.plan.stages
        assert one.build_seconds > 0


def test_a_curve_without_a_method_takes_the_fewest_parameters_at_every_point():
    for one in curve(asked(1.0), [0.1, 0.4]):
        built = af.construct(MEAN, one.request.tolerance)
        assert one.method == built.construction.plan.method.name == "compile"
        assert one.model.certificate.to_json() == built.certificate.to_json()


def test_curve_skips_what_takes_too_long():
    (one,) = curve(asked(1.0), [0.3], patience=1e-9)
    assert one.plan.stages == af.plan(MEAN, 0.3).stages
    assert one.is_skipped
