import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates.bounds.evidence import Evidence
from anyformer.errors import CertificateError, ExportError
from anyformer.exports.vnnlib import Sense, Verdict, to_vnnlib
from anyformer.exports.vnnlib.generator import CLOSENESS, REACHES, SAT_MARGIN, SHAPES, round_out
from anyformer.exports.vnnlib.writing import files
from anyformer.networks import FLOAT32
from tests.exports.onnx.conftest import Claimed
from tests.exports.vnnlib.conftest import proved


@pytest.fixture(scope="module")
def many(narrow_models):
    """Enough instances for every kind to be among them."""
    return to_vnnlib(narrow_models[3], seed=5, instances=80)


def test_every_kind_is_there_and_both_verdicts_are_common(many):
    assert Counter(one.verdict for one in many.instances) == {Verdict.SAT: 40, Verdict.UNSAT: 40}
    assert {one.reach for one in many.instances} == set(REACHES)
    assert {one.closeness for one in many.instances} == set(CLOSENESS)
    assert {one.shape for one in many.instances} == set(SHAPES)
    for one in many.instances:
        sizes = {len(alternative) for alternative in one.asked.alternatives}
        assert (len(one.asked.alternatives) > 1) == one.shape.startswith("disjunction")
        assert (max(sizes) > 1) == ("conjunction" in one.shape)


def test_all_numbers_are_float32_numbers_inside_the_domain(many):
    for one in many.instances:
        thresholds = [each.threshold for alternative in one.asked.alternatives for each in alternative]
        for numbers in (one.asked.low, one.asked.high, np.array(thresholds)):
            assert FLOAT32.holds(numbers)
        assert (one.asked.low >= 0).all()
        assert (one.asked.low == one.asked.high).all() == (one.reach == "point")
        assert (one.asked.low <= one.asked.high).all()
        assert (one.asked.high <= 1).all()


def test_unsat_thresholds_are_beyond_the_target_by_more_than_the_error(many, narrow_models):
    model, rng = narrow_models[3], np.random.default_rng(0)
    for one in many.instances:
        if one.verdict is Verdict.SAT:
            continue
        x = one.asked.low + rng.random((2000, *one.asked.low.shape)) * (one.asked.high - one.asked.low)
        for reason, alternative in zip(one.reason.impossible, one.asked.alternatives, strict=True):
            assert reason.comparison in alternative
            assert reason.slack > 0
            assert reason.certified_error == model.certificate.certified_error
            assert reason.comparison.margin(model.target(x)).max() < -model.certificate.certified_error


def test_witnesses_are_float32_inputs_on_which_all_agree(many):
    for one in many.instances:
        if one.verdict is Verdict.SAT:
            assert one.asked.contains(one.reason.x)
            assert FLOAT32.holds(one.reason.x)
            assert set(one.reason.outputs) == {"anyformer in float32", "anyformer in float64", "onnxruntime"}
            assert min(one.asked.margin(y) for y in one.reason.outputs.values()) == one.reason.margin >= SAT_MARGIN


def test_a_seed_decides_everything(narrow_models):
    model = narrow_models[0]
    one, two, other = (files(to_vnnlib(model, seed=seed, instances=3)) for seed in (4, 4, 5))
    assert one == two
    texts = {content for name, content in one.items() if name.startswith("vnnlib/")}
    assert len(texts) == 3
    assert not texts & set(other.values())


def test_round_out_goes_the_safe_way():
    rng = np.random.default_rng(1)
    for value in rng.normal(size=200):
        assert value <= round_out(value, Sense.AT_LEAST) < value + 2**-20
        assert value - 2**-20 < round_out(value, Sense.AT_MOST) <= value
    assert round_out(0.5, Sense.AT_LEAST) == round_out(0.5, Sense.AT_MOST) == 0.5


def test_other_domains():
    def shifted(x):
        return x / 2 + x.mean(axis=1, keepdims=True)

    target = af.target(shifted, tokens=3, width=2, domain=af.targets.Box((-1.3, 0.1), (2.7, 0.35)))
    made = to_vnnlib(proved(target, 0.01), instances=6, target=target)
    for one in made.instances:
        assert (one.asked.low >= [-1.3, 0.1]).all()
        assert (one.asked.high <= [2.7, 0.35]).all()


def test_models_without_a_proof_in_float32_are_refused(narrow_models, compiled_models):
    wide = af.construct(af.targets.mean_scale(tokens=3), 0.02, p=math.inf, method="compile")
    with pytest.raises(ExportError, match="must be of float32; got float64"):
        to_vnnlib(wide)
    model = narrow_models[0]
    in_mean = Claimed(model.network, replace(model.certificate, p=2.0))
    with pytest.raises(ExportError, match="p = inf; got p = 2"):
        to_vnnlib(in_mean)
    declared = Claimed(model.network, replace(model.certificate, kind=Evidence.INTERPOLATED_MODULUS))
    with pytest.raises(ExportError, match="must be unconditional"):
        to_vnnlib(declared)
    elsewhere = Claimed(model.network, narrow_models[1].certificate)
    with pytest.raises(CertificateError, match="about others"):
        to_vnnlib(elsewhere)


def test_a_claim_that_is_too_good_has_no_verdicts(narrow_models):
    """The certificate is proved again, so that nobody's file makes a wrong verdict."""
    model = narrow_models[0]
    certificate = model.certificate
    boasting = replace(certificate, certified_error=certificate.certified_error / 2)
    with pytest.raises(CertificateError, match="must be proved"):
        to_vnnlib(Claimed(model.network, boasting))


def test_a_users_own_function_must_be_named(narrow_models):
    def halve(x):
        return x / 2

    target = af.target(halve, tokens=2, name="../../evil\n(assert true)")
    model = proved(target, 0.01)
    loaded = Claimed(model.network, model.certificate)
    with pytest.raises(CertificateError, match="name it again"):
        to_vnnlib(loaded)
    made = to_vnnlib(loaded, target=target, instances=2)
    assert files(made) == files(to_vnnlib(model, instances=2))
    assert made.name == "______evil__assert_true_-2x1"


@pytest.mark.parametrize(("name", "value"), [("instances", 0), ("instances", 1.5), ("seed", -1), ("seed", True)])
def test_counts_are_checked(narrow_models, name, value):
    with pytest.raises(ExportError, match=f"{name} must be"):
        to_vnnlib(narrow_models[0], **{name: value})
