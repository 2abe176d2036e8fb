"""Methods are values, and a new one is one file."""

import contextlib
import inspect
from pathlib import Path

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates import Verdict
from anyformer.comparison import compare
from anyformer.construction import METHODS, Averaging, Method, Request, SelectiveShift
from anyformer.errors import PlanError
from anyformer.networks import Sparsemax
from anyformer.networks.roles import Role
from anyformer.reports import trace
from anyformer.targets import Symmetry
from tests.construction.methods import toy_method
from tests.construction.methods.toy_method import Powers

SOFTMAX = af.targets.softmax(tokens=3)


def test_methods_are_values_with_a_file_of_their_name():
    for name, method in METHODS.items():
        assert method.name == name
        assert method == type(method)()
        assert Path(inspect.getfile(type(method))).stem == name.replace("-", "_")
        assert isinstance(method, Method)


def test_names_and_values_mean_the_same():
    by_name, by_value = (af.construct(SOFTMAX, 0.4, method=method) for method in ("averaging", Averaging()))
    assert by_name.certificate.to_json() == by_value.certificate.to_json()
    assert by_value.construction.plan.method == Averaging() != SelectiveShift()


def test_without_a_method_the_plan_with_the_fewest_parameters_is_taken():
    for target, tolerance in ((SOFTMAX, 0.3), (af.targets.mean_scale(tokens=2), 0.2), (af.targets.bump(tokens=2), 0.3)):
        chosen, each = af.plan(target, tolerance), []
        for name in ("compile", "averaging", "selective-shift"):
            with contextlib.suppress(PlanError):
                each.append(af.plan(target, tolerance, method=name))
        assert chosen.parameters == min(plan.parameters for plan in each)
    # A layer that is wide may still have fewer parameters than layers that are many, and the other way round.
    rough = af.plan(af.target(wavy, tokens=2), 1.2)
    assert rough.method == Averaging()
    assert rough.parameters < af.plan(af.target(wavy, tokens=2), 1.2, method="compile").parameters


def wavy(x):
    return np.sin(40 * x)


def ordered(x):
    return np.take_along_axis(x, np.argsort(x, axis=1), axis=1)


@pytest.mark.parametrize(
    ("target", "asked", "reason"),
    [
        (af.target(ordered, tokens=2, lipschitz=1.0, symmetry=Symmetry.NONE), {}, "compile cannot build ordered: "),
        (af.targets.bump(tokens=2), {}, "compile needs a box as the domain"),
        (af.targets.mean_scale(tokens=2), {"probability_map": Sparsemax()}, "compile builds softmax networks"),
    ],
)
def test_what_cannot_be_compiled_gets_a_table_and_says_why(target, asked, reason):
    made = af.construct(target, 0.5, **asked).construction.plan
    assert made.method == Averaging()
    assert made.instead_of.startswith(reason)
    with pytest.raises(PlanError, match=reason):
        af.plan(target, 0.5, method="compile", **asked)
    assert af.plan(target, 0.5, method="averaging", **asked).instead_of is None


def test_where_programs_can_be_compiled_nothing_is_said():
    assert af.plan(SOFTMAX, 0.3).instead_of is None


def test_a_method_of_ones_own_takes_one_short_file():
    assert Path(toy_method.__file__).read_text().count("\n") < 60
    model = af.construct(SOFTMAX, 0.4, method=Powers())
    assert model.certificate.certified_error <= 0.4
    assert model.verify().verdict is Verdict.PROVED
    assert model.construction.plan.method == Powers()


def test_a_method_of_ones_own_is_saved_traced_and_compared_like_the_others(tmp_path):
    model = af.construct(SOFTMAX, 0.25, method=Powers())
    again = af.load(model.save(tmp_path / "model"))
    assert again.certificate.construction["method"] == "powers"
    seen = trace(again.network, again.certificate, [[0.1], [0.5], [0.9]])
    assert len(set(seen.context_ids)) == len(set(seen.columns)) > 1
    assert Role.OTHER not in {stage.role for stage in seen.stages}
    request = Request(target=SOFTMAX, tolerance=0.4)
    toy, ours = compare(request, methods=[Powers(), Averaging()])
    assert toy.is_certified
    assert toy.plan.id_bits > ours.plan.id_bits


def test_a_method_of_ones_own_refuses_with_what_would_fit():
    with pytest.raises(PlanError) as raised:
        af.plan(SOFTMAX, 0.02, method=Powers())
    fit = raised.value.refusal.fit
    assert "averaging" in fit.methods
    assert af.plan(SOFTMAX, fit.tolerance, method=Powers()).method == Powers()
    with pytest.raises(PlanError, match="powers is for functions without positions"):
        af.plan(af.targets.sort(tokens=3), 0.5, method=Powers())
