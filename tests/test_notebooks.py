"""What a notebook shows: the facts, and other people's names as text."""

import dataclasses

import pytest

import anyformer as af

EVIL = "<script>alert('x')</script>"


@pytest.fixture(scope="module", params=["averaging", "compile"])
def model(request):
    return af.construct(af.targets.centre(tokens=2), 0.3, method=request.param)


def test_models_certificates_and_plans_have_a_table(model):
    error = f"{model.certificate.certified_error:.6g}"
    for shown in (model, model.certificate, model.construction.plan):
        table = shown._repr_html_()
        assert table.startswith("<table><caption>")
        assert "centre" in table
        assert "0.3 in L^2" in table
    assert f"<td>{error}</td>" in model._repr_html_()
    assert f"<td>{error}</td>" in model.certificate._repr_html_()
    assert f"<td>{model.network.layer_count}</td>" in model._repr_html_()
    assert f"<td>{model.construction.plan.method.name}</td>" in model.construction.plan._repr_html_()


def test_names_are_shown_as_text(model):
    hostile = dataclasses.replace(model.certificate.target, name=EVIL, is_ready_made=False)
    certificate = dataclasses.replace(model.certificate, target=hostile)
    for shown in (certificate, dataclasses.replace(model, certificate=certificate)):
        assert "<script>" not in shown._repr_html_()
        assert "&lt;script&gt;" in shown._repr_html_()
