"""What is asked for is one value, checked once; names and functions stand for values."""

import copy
import dataclasses
import inspect
import math
import pickle

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates import Effort, Evidence
from anyformer.certificates.bounds.effort import Visits
from anyformer.construction import Averaging, Request
from anyformer.errors import AnyformerError, PatternError, PlanError, TargetError
from anyformer.networks import Hardmax, Sparsemax
from anyformer.patterns import Ring
from anyformer.targets import CompactSupport, Symmetry

MEAN = af.targets.mean_scale(tokens=2)


def asked(**changes):
    return Request(**{"target": MEAN, "tolerance": 0.3} | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tolerance": 0}, r"the tolerance \(epsilon\) must be positive and finite; got 0.0"),
        ({"tolerance": math.nan}, "must be positive and finite; got nan"),
        ({"tolerance": 1e-200}, r"between 2\^-500 and 2\^500; got 1e-200"),
        ({"tolerance": "0.3"}, "tolerance must be a number; got '0.3'"),
        ({"tolerance": True}, "tolerance must be a number; got True"),
        ({"tolerance": None}, "tolerance must be a number; got None"),
        ({"p": 0.5}, "p must be at least 1 and at most 64, or inf; got 0.5"),
        ({"p": math.nan}, "p must be at least 1 and at most 64, or inf; got nan"),
        ({"p": 65}, "p must be at least 1 and at most 64, or inf; got 65.0"),
        ({"tightness": 1}, "the tightness must be above 1 and finite; got 1.0"),
        ({"tightness": 0.5}, "the tightness must be above 1 and finite; got 0.5"),
        ({"tightness": math.inf}, "the tightness must be above 1 and finite; got inf"),
        ({"tightness": math.nan}, "the tightness must be above 1 and finite; got nan"),
        ({"hidden_size": 0}, "hidden_size must be at least 1; got 0"),
        ({"heads": 0}, "heads must be at least 1; got 0"),
        ({"heads": "2"}, "heads must be a whole number; got '2'"),
        ({"heads": 2**40}, "heads must be at most 1,048,576; got 1,099,511,627,776"),
        ({"max_layers": None}, "max_layers must be a whole number; got None"),
        ({"hidden_size": 4.5}, "hidden_size must be a whole number; got 4.5"),
        ({"hidden_size": 2**40}, "hidden_size must be at most 1,048,576; got 1,099,511,627,776"),
        ({"max_layers": 0}, "max_layers must be at least 1; got 0"),
        ({"max_layers": "many"}, "max_layers must be a whole number; got 'many'"),
        ({"effort": 7}, "effort must be an Effort; got 7"),
        ({"method": "averaging"}, r"method must be a method such as Averaging\(\), or None; got 'averaging'"),
        ({"method": Averaging}, r"method must be a method such as Averaging\(\), or None; got <class"),
        ({"pattern": "ring"}, "pattern must be a pattern of anyformer.patterns, or None; got 'ring'"),
        ({"probability_map": "softmax"}, r"probability_map must be a map such as Softmax\(\).*got 'softmax'"),
        ({"probability_map": Hardmax()}, "hardmax is no part of a real Transformer"),
    ],
)
def test_what_is_wrong_is_said_at_once(changes, message):
    with pytest.raises(PlanError, match=message):
        asked(**changes)


@pytest.mark.parametrize("target", [None, np.cos, "softmax", 3])
def test_a_request_has_a_target(target):
    with pytest.raises(TargetError, match="target must be a Target; make one with"):
        asked(target=target)


def test_requests_are_keyword_only_and_frozen():
    with pytest.raises(TypeError):
        Request(MEAN, 0.3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        asked().tolerance = 0.5


def test_a_request_knows_its_evidence_reach_and_how_cells_are_visited():
    request = asked()
    assert request.evidence is Evidence.UNCONDITIONAL
    assert 1.0 <= request.reach <= 1.001
    assert request.visits is Visits.TARGET_IN_EVERY_ORDER
    declared = asked(target=dataclasses.replace(MEAN, vectorised=False, function=lambda x: x * x.mean()))
    assert declared.evidence is Evidence.MODULUS
    assert declared.visits is Visits.ONCE
    assert asked(target=af.targets.sort(tokens=2)).visits is Visits.EVERY_ORDER


def test_a_pattern_brings_positions():
    request = asked(pattern=Ring())
    assert request.target == dataclasses.replace(MEAN, symmetry=Symmetry.NONE)
    assert request.has_positions
    assert request.sparsity == Ring().at(2)
    assert asked().sparsity is None
    with pytest.raises(PlanError, match="must have the target's 2 tokens; it has 5"):
        _ = asked(pattern=Ring().at(5)).sparsity
    with pytest.raises(PlanError, match="its value at X with the tokens permuted"):
        asked(target=af.target(lambda x: 0 * x, tokens=2, lipschitz=1.0, domain=CompactSupport()), pattern=Ring())


def test_a_changed_request_keeps_what_is_known_of_the_target(monkeypatch):
    request = asked()
    known = request.evidence, request.reach
    monkeypatch.setattr("anyformer.construction.request.evidence_for", lambda target: 1 / 0)
    monkeypatch.setattr("anyformer.construction.request.reach_of", lambda target, evidence: 1 / 0)
    changed = request.but(tolerance=0.5, hidden_size=8)
    assert (changed.evidence, changed.reach) == known
    assert (changed.tolerance, changed.hidden_size, changed.p) == (0.5, 8, 2.0)
    with pytest.raises(ZeroDivisionError):
        _ = request.but(target=af.targets.centre(tokens=2)).evidence


def test_requests_and_plans_can_be_copied_and_pickled():
    request = asked(pattern=Ring(), probability_map=Sparsemax())
    for made in (copy.deepcopy(request), pickle.loads(pickle.dumps(request))):
        assert made == request
    for method in ("compile", "averaging"):
        planned = af.plan(MEAN, 0.3, method=method)
        for made in (copy.deepcopy(planned), pickle.loads(pickle.dumps(planned))):
            assert (made.request, made.stages) == (planned.request, planned.stages)


def test_construct_and_plan_have_the_same_keywords_in_the_same_order():
    plan, construct = (inspect.signature(one).parameters for one in (af.plan, af.construct))
    assert [*plan, "progress"] == list(construct)
    for name, parameter in plan.items():
        assert parameter == construct[name]
        is_keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert is_keyword == (name not in ("target", "tolerance"))
    fields = {field.name: field for field in dataclasses.fields(Request)}
    for name in set(plan) & set(fields) - {"method", "probability_map", "effort"}:
        default = fields[name].default
        assert plan[name].default == (inspect.Parameter.empty if default is dataclasses.MISSING else default), name


def halved(x):
    return x / 2


def test_names_and_functions_stand_for_targets():
    assert af.plan("mean-scale", 0.3, tokens=2).target == MEAN
    assert af.plan("mean_scale", 0.3, tokens=2).target == MEAN
    assert af.plan("softmax", 0.9, tokens=2, width=2).target == af.targets.softmax(tokens=2, width=2)
    own = af.construct(halved, 0.4, tokens=2)
    assert (own.target.function, own.target.name, own.target.tokens) == (halved, "halved", 2)
    assert own.certificate.certified_error <= 0.4


def test_names_stand_for_patterns_and_methods():
    named = af.plan("sort", 0.6, tokens=3, pattern="ring", method="sparse-averaging")
    assert named.request.pattern == Ring()
    assert af.plan("sort", 0.6, tokens=3, pattern="sliding-window:half_width=2").request.pattern.half_width == 2


@pytest.mark.parametrize(
    ("target", "others", "error", "message"),
    [
        ("softmax", {}, TargetError, "'softmax' must come with tokens, the length of the sequences"),
        (halved, {}, TargetError, "a function must come with tokens, the length of the sequences"),
        ("sofmax", {"tokens": 2}, TargetError, "Did you mean 'softmax'"),
        (7, {"tokens": 2}, TargetError, "must be a Target, the name of a ready-made one or a function; got 7"),
        (MEAN, {"tokens": 2}, TargetError, "tokens and width must be left out with a Target"),
        (MEAN, {"width": 1}, TargetError, "tokens and width must be left out with a Target"),
        (
            MEAN,
            {"method": "magic"},
            PlanError,
            "must be one of auto, compile, interpolation, averaging, .*; got 'magic'",
        ),
        (MEAN, {"method": Request}, PlanError, r"must be a name or a value such as Averaging\(\)"),
        (MEAN, {"pattern": "rung"}, PatternError, "rung"),
    ],
)
def test_what_is_missing_is_said(target, others, error, message):
    for ask in (af.plan, af.construct):
        with pytest.raises(error, match=message):
            ask(target, 0.3, **others)


def test_the_effort_of_a_request_counts():
    with pytest.raises(AnyformerError, match="cells to visit where 3 are allowed"):
        af.plan(MEAN, 0.1, method="averaging", effort=Effort(cells=3))
