"""Refusals are data, and what they advise can be built."""

import copy
import itertools
import pickle

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates import Effort
from anyformer.construction import METHODS, Fit, Refusal, Request, Resource, Shortage
from anyformer.construction.refusal import rounded_up
from anyformer.errors import PlanError
from anyformer.patterns import Ring
from anyformer.targets import Symmetry

TARGETS = [
    af.targets.mean_scale(tokens=2),
    af.targets.softmax(tokens=3),
    af.targets.centre(tokens=2, width=2),
    af.targets.sort(tokens=3),
    af.targets.bump(tokens=2),
    af.target(lambda x: abs(x - x.mean(axis=1, keepdims=True)), tokens=3, lipschitz=2.0, name="own"),
]
LIMITS = [{"max_layers": 30}, {"effort": Effort(cells=100)}, {"max_layers": 500, "hidden_size": 9}]


def refused(target, tolerance, **asked):
    """The refusal of a request, or None if it is met."""
    try:
        af.plan(target, tolerance, **asked)
    except PlanError as error:
        return error.refusal
    return None


# The methods with tables: only they know what would fit instead.
CASES = list(itertools.product(TARGETS, LIMITS, ["averaging", "selective-shift"]))
SPARSE = list(itertools.product(TARGETS[3:4], LIMITS, [name for name, one in METHODS.items() if one.is_sparse]))


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [0.3, 0.02])
@pytest.mark.parametrize(("target", "limits", "method"), [*CASES, *SPARSE])
def test_a_tolerance_that_is_advised_can_be_planned_and_is_larger(target, limits, method, tolerance):
    pattern = {"pattern": Ring()} if METHODS[method].is_sparse else {}
    refusal = refused(target, tolerance, method=method, **limits, **pattern)
    if refusal is None or refusal.fit.tolerance is None:
        return
    assert refusal.fit.tolerance > tolerance
    assert refused(target, refusal.fit.tolerance, method=method, **limits, **pattern) is None


@pytest.mark.slow
def test_most_refusals_advise_a_tolerance():
    """The test above shows something: advice is given for most of its cases."""
    found = [refused(target, 0.02, method=method, **limits) for target, limits, method in CASES]
    given = [one for one in found if one is not None]
    assert len(given) > 0.9 * len(found)
    assert sum(one.fit.tolerance is not None for one in given) > 0.6 * len(given)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["averaging", "selective-shift"])
@pytest.mark.parametrize("target", [TARGETS[0], TARGETS[3], TARGETS[5]], ids=lambda one: one.name)
def test_what_is_advised_can_be_built_and_proved(target, method):
    limits = {"max_layers": 300}
    refusal = refused(target, 0.01, method=method, **limits)
    model = af.construct(target, refusal.fit.tolerance, method=method, **limits)
    assert model.certificate.certified_error <= refusal.fit.tolerance


@pytest.mark.slow
def test_fewer_tokens_that_are_advised_can_be_planned():
    for tolerance in (0.02, 0.05):
        refusal = refused(af.targets.softmax(tokens=6), tolerance, method="averaging", max_layers=500)
        tokens = refusal.fit.tokens
        assert 2 <= tokens < 6
        shorter = af.targets.softmax(tokens=tokens)
        assert af.plan(shorter, tolerance, method="averaging", max_layers=500).layers <= 500


def test_methods_that_are_advised_can_do_it():
    target = af.targets.mean_scale(tokens=3)
    refusal = refused(target, 0.1, method="selective-shift", max_layers=3_000)
    assert refusal.fit.methods == ("compile", "averaging")
    for method in refusal.fit.methods:
        assert f"the method {method} (--method {method})" in str(refusal)
        assert af.plan(target, 0.1, method=method, max_layers=3_000).layers <= 3_000


@pytest.mark.parametrize(
    ("asked", "resource", "needed"),
    [
        ({"max_layers": 10}, Resource.LAYERS, 11),
        ({"effort": Effort(cells=5)}, Resource.CELLS, 6),
        ({"effort": Effort(memory=10)}, Resource.MEMORY, 11),
        ({"effort": Effort(seconds=1e-3)}, Resource.SECONDS, 2e-3),
    ],
)
def test_what_is_short_is_a_field(asked, resource, needed):
    refusal = refused(TARGETS[0], 0.05, method="averaging", **asked)
    assert (refusal.method, refusal.shortage.resource) == ("averaging", resource)
    assert refusal.shortage.needed >= needed
    assert refusal.request == Request(target=TARGETS[0], tolerance=0.05, method=METHODS["averaging"], **asked)
    assert refusal.cells_per_axis is not None


def test_a_length_that_no_table_can_do_is_refused_before_anything_is_counted():
    refusal = refused(af.targets.mean_scale(tokens=64), 0.1, method="averaging")
    assert refusal.shortage.resource is Resource.CELLS
    assert "about 2^64 cells to visit where 33,554,432 are allowed" in str(refusal)
    for method in ("averaging", "selective-shift"):
        assert refused(af.targets.mean_scale(tokens=1024), 0.1, method=method) is not None


@pytest.mark.slow
def test_ids_that_no_float_can_hold_are_refused():
    own = af.target(lambda x: x / 2, tokens=47, lipschitz=0.5, vectorised=False, name="own")
    refusal = refused(own, 4.7, p=1.0, method="selective-shift")
    assert refusal.shortage.resource is Resource.ID_BITS


def test_functions_of_one_length_only_get_no_advice_on_tokens():
    def fixed(x):
        return x * [[1.0], [1.0], [1.0]]

    refusal = refused(af.target(fixed, tokens=3, lipschitz=1.0), 0.001, method="averaging", max_layers=100)
    assert refusal.fit.tokens is None


def test_refusals_in_words():
    short = Shortage(Resource.LAYERS, 1234, 100)
    refusal = Refusal("averaging", short, Fit(0.25, 2, ("selective-shift",)), cells_per_axis=(3, 4))
    assert str(refusal) == (
        "nothing can be built by averaging: it needs at least 3 × 4 cells per token, and so 1,234 layers where 100 are "
        "allowed.\nWhat would fit:\n  - a tolerance of 0.25 or more\n  - 2 tokens\n"
        "  - the method selective-shift (--method selective-shift)\n"
        "  - a higher limit on the layers (--max-layers) or wider layers (--hidden-size, --heads)"
    )


@pytest.mark.parametrize("method", ["compile", "averaging"])
def test_limits_on_layers_hold_for_every_method(method):
    target = af.targets.softmax(tokens=3)
    layers = af.plan(target, 0.1, method=method).layers
    assert af.plan(target, 0.1, method=method, max_layers=layers).layers == layers
    refusal = refused(target, 0.1, method=method, max_layers=layers - 1)
    assert (refusal.method, refusal.shortage) == (method, Shortage(Resource.LAYERS, layers, layers - 1))


def test_without_a_method_a_refusal_says_why_no_program_was_compiled():
    def ordered(x):
        return np.take_along_axis(x, np.argsort(x, axis=1), axis=1)

    target = af.target(ordered, tokens=3, lipschitz=1.0, symmetry=Symmetry.NONE)
    refusal = refused(target, 1e-7, max_layers=100)
    assert refusal.method == "interpolation"
    assert refusal.before.startswith("compile cannot build ordered: ")
    assert str(refusal).startswith(refusal.before)


@pytest.mark.parametrize("method", ["compile", "averaging"])
def test_the_text_is_made_from_the_fields(method):
    with pytest.raises(PlanError) as raised:
        af.plan(af.targets.softmax(tokens=2), 0.001, method=method, max_layers=3)
    assert str(raised.value) == str(raised.value.refusal)


def test_refusals_travel_with_their_errors():
    error = Refusal("averaging", Shortage(Resource.CELLS, 7, 5)).error()
    for made in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (str(made), made.refusal) == (str(error), error.refusal)


@pytest.mark.parametrize(("x", "above"), [(0.2930001, 0.294), (0.25, 0.25), (1234.2, 1240.0), (9.999e-5, 1e-4)])
def test_what_is_printed_is_enough(x, above):
    assert rounded_up(x) == above >= x
    assert float(f"{above:.3g}") == above
