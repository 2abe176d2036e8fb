"""A verdict says what was proved, and nothing that a certificate states passes unchecked."""

import json
from dataclasses import replace

import pytest

import anyformer as af
from anyformer.certificates import Claim, Evidence
from anyformer.certificates.claims.certificate import certificate_from_json
from anyformer.certificates.claims.declaration import Declaration
from anyformer.certificates.propagation.walls import Reach
from anyformer.errors import CertificateError
from anyformer.reports.verification import verification_data, verification_view
from anyformer.targets import Box, CompactSupport, Symmetry
from anyformer.targets.moduli import Lipschitz
from tests.reports.rendering import render

SOFT = Declaration.of(af.targets.softmax(tokens=2))
CLAIM = Claim(SOFT, 2.0, 0.1, Evidence.UNCONDITIONAL, "0" * 64)
MODULUS = replace(CLAIM, kind=Evidence.MODULUS)
OTHERS = [
    *(
        replace(CLAIM, target=replace(SOFT, **change))
        for change in (
            {"name": "other"},
            {"is_ready_made": False},
            {"parameters": {"sharpness": 2.0**-1060}},
            {"parameters": {"sharpness": 3.0000000000000004}},
            {"tokens": 3},
            {"width": 2},
            {"symmetry": Symmetry.NONE},
            {"domain": Box(0.0, 1.0000000000000002)},
            {"domain": CompactSupport(0.0, 1.0)},
        )
    ),
    replace(CLAIM, p=2.0000000000000004),
    replace(CLAIM, tolerance=0.10000000000000002),
    replace(CLAIM, weights_digest="1" * 64),
    replace(CLAIM, reach=Reach.DOMAIN),
    MODULUS,
    replace(MODULUS, target=replace(SOFT, modulus=Lipschitz(1.0))),
    replace(MODULUS, target=replace(SOFT, modulus=Lipschitz(1.0000000000000002))),
    replace(MODULUS, target=replace(SOFT, evaluation_error=0.0)),
]


def test_claims_that_differ_never_look_alike():
    claims = [CLAIM, *OTHERS]
    assert len({json.dumps(claim.facts()) for claim in claims}) == len(claims)
    assert len({json.dumps(claim.to_json()) for claim in claims}) == len(claims)


def test_the_verdict_shows_its_claim_in_text_json_and_python(averaged_models):
    model = averaged_models[-1]
    result = model.verify()
    assert result.claim.target == model.certificate.target
    text = " ".join(render(verification_view(result, model.certificate), 200).split())
    for fact in result.claim.facts().values():
        assert " ".join(fact.split()) in text
    assert "softmax(sharpness=3.0) on 3 tokens of width 1" in text
    claim = verification_data(result, model.certificate)["claim"]
    assert claim == json.loads(json.dumps(result.claim.to_json()))
    assert claim["domain"] == {"kind": "box", "low": [0.0], "high": [1.0]}
    assert claim["dtype"] == {"real": "the whole domain", "float64": "the whole domain"}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"domain": Box(0.0, 2.0)}, "another domain"),
        ({"evaluation_error": 0.0}, "another evaluation error"),
        ({"modulus": Lipschitz(1e-9)}, "another modulus"),
    ],
)
def test_a_certificate_that_speaks_of_another_target_is_not_proved(averaged_models, change, named):
    model = averaged_models[0]
    stated = replace(model.certificate, target=replace(model.certificate.target, **change))
    result = af.verify(model.network, stated)
    assert result.verdict is af.Verdict.UNDECIDED
    assert named in result.reason


def test_what_was_measured_is_measured_again(averaged_models):
    model = averaged_models[0]
    measured = model.certificate.measured
    for wrong in (
        replace(measured, error=measured.error * 0.99),
        replace(measured, low=0.0),
        replace(measured, high=measured.high * 1.01),
        replace(measured, samples=measured.samples + 1),
    ):
        result = af.verify(model.network, replace(model.certificate, measured=wrong))
        assert result.verdict is af.Verdict.UNDECIDED
        assert "measured again" in result.reason


def test_terms_that_do_not_exist_are_not_proved(averaged_models):
    model = averaged_models[0]
    stated = replace(model.certificate, terms={**model.certificate.terms, "luck": 0.1})
    assert "a term 'luck'" in af.verify(model.network, stated).reason


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"assumptions": []}, "assumptions must say what follows"),
        ({"assumptions": ["Nothing is assumed."]}, "assumptions must say what follows"),
        ({"claim": "the largest error is 1e-9"}, "claim must say what follows"),
        ({"guarantee": "sup norm"}, "guarantee' must not be there"),
    ],
)
def test_sentences_that_mislead_are_refused(averaged_models, change, message):
    data = averaged_models[0].certificate.to_json()
    certificate_from_json(json.dumps(data))
    with pytest.raises(CertificateError, match=message):
        certificate_from_json(json.dumps({**data, **change}))


def test_a_target_is_named_as_the_catalogue_names_it():
    declared = Declaration.of(af.targets.mean_scale(tokens=2))
    assert declared.target().name == "mean-scale"
    with pytest.raises(CertificateError, match="as the catalogue does; got 'mean_scale'"):
        replace(declared, name="mean_scale").target()
    with pytest.raises(CertificateError, match=r"does not exist: .* got 'mean-scal'. Did you mean 'mean-scale'"):
        replace(declared, name="mean-scal").target()


def test_a_function_of_the_user_s_is_not_taken_for_one_of_the_catalogue():
    mine = replace(af.targets.mean_scale(tokens=2), name="mean_scale")
    assert not Declaration.of(mine).is_ready_made
