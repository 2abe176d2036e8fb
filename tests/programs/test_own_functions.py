"""The functions of the benchmarks, compiled, proved and sampled; few samples, so that it is quick."""

import math

import pytest

import anyformer as af
from anyformer.certificates.checker import Verdict
from anyformer.construction.compiling.budget import Budget
from anyformer.construction.compiling.schedule import needed
from anyformer.programs.ranges import Ranges
from anyformer.programs.tracing import trace
from benchmarks.functions import CASES
from benchmarks.sampling import largest_error

SAMPLES = 100
# Networks with many hidden units take seconds.
SLOW = (
    "cosine to mean",
    "transformer block",
    "transformer block with norms",
    "exponential moving average",
    "gated linear unit",
)


def _cases():
    return [pytest.param(case, id=case.name, marks=[pytest.mark.slow] if case.name in SLOW else []) for case in CASES]


@pytest.mark.parametrize("case", _cases())
def test_own_functions_are_compiled_proved_and_sampled(case):
    model = af.construct(case.target, case.tolerance, p=math.inf, method="compile")
    certified = model.certificate.certified_error
    assert model.verify().verdict is Verdict.PROVED
    assert largest_error(model, case.target, SAMPLES) <= certified <= case.tolerance


def test_sampling_finds_a_network_that_is_too_coarse():
    case = next(case for case in CASES if case.name == "swish gate")
    coarse = af.construct(case.target, 10 * case.tolerance, p=math.inf, method="compile")
    assert largest_error(coarse, case.target, SAMPLES) > case.tolerance


def test_outputs_with_room_do_not_make_the_others_expensive():
    """Two outputs with steps of their own cost no more than twice two networks beside each other."""
    case = next(case for case in CASES if case.name == "polynomial features")
    both = _hidden_units(case, case.function)

    def first(x):
        y = case.function(x)
        return y[..., :1] + 0 * y

    def second(x):
        y = case.function(x)
        return y[..., 1:] + 0 * y

    assert both <= 2 * (_hidden_units(case, first) + _hidden_units(case, second))


def _hidden_units(case, function):
    """What the shares ask for, before some steps are spread over several layers."""
    program = trace(af.target(function, tokens=case.tokens, width=case.width, domain=case.target.domain))
    ranges = Ranges(program)
    budget = Budget(program, ranges, needed(program, ranges.roots), case.tolerance)
    return budget.units(budget.shares)


def test_rounding_in_a_fixed_mixing_does_not_grow_with_the_square_of_the_tokens():
    """A position is 0 in all channels but one, and terms that are 0 are not rounded."""
    errors = [
        af.construct("moving-average", 1e-3, tokens=n, p=math.inf, method="compile").certificate.certified_error
        for n in (16, 128)
    ]
    assert errors[1] <= 2 * (128 / 16) * errors[0]
