"""Functions of scipy.special: their limits, what SciPy's own loops do, and the formulas that refusals advise."""

import re
import subprocess
import sys

import numpy as np
import pytest
from scipy import special

from anyformer.intervals import IntervalArray, IntervalError, enclose
from tests.intervals.samples import members

LOW = np.random.default_rng(60).normal(size=(4, 2, 3))
HIGH = LOW + 0.1


def test_scipy_is_not_imported():
    script = (
        "import sys, numpy as np; from anyformer.intervals import IntervalArray; np.exp(IntervalArray([0.0], [1.0]))"
    )
    script += "; print('scipy' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("function", "low", "high", "least", "greatest"),
    [
        (special.expit, -800.0, 800.0, 0.0, 1.0),
        (special.erf, -30.0, 30.0, -1.0, 1.0),
        (special.erfc, -30.0, 30.0, 0.0, 2.0),
        (special.log_expit, 0.0, 1e6, None, 0.0),
        (special.erf, 0.0, 0.0, 0.0, 0.0),
    ],
)
def test_limits_are_not_exceeded(function, low, high, least, greatest):
    result = function(IntervalArray([low], [high]))
    assert least is None or result.low[0] == least
    assert result.high[0] == greatest


def test_zero_times_a_logarithm_is_zero():
    result = special.xlogy(
        IntervalArray([0.0, 0.0, 0.0], [0.0, 1.0, 0.0]), IntervalArray([0.0, 0.0, -2.0], [5.0, 1.0, 3.0])
    )
    assert (result.low[0], result.high[0]) == (0.0, 0.0)
    assert (result.low[1], result.low[2], result.high[2]) == (-np.inf, 0.0, 0.0)
    assert result.high[1] <= 1e-300


@pytest.mark.parametrize("function", [special.expit, special.log_expit, special.erf])
def test_points_are_within_a_few_ulps(function):
    x = np.random.default_rng(61).uniform(-5, 5, 1000)
    result = function(IntervalArray(x, x))
    assert ((result.high - result.low) <= (2 * 64 + 2) * 2.0**-52 * np.abs(function(x))).all()


def advice(name):
    """The last formula of a refusal, with what it leaves open filled in."""
    with pytest.raises(IntervalError) as caught:
        getattr(special, name)(IntervalArray(LOW, HIGH))
    return re.split(r"Write | and |axis of size n: ", str(caught.value).replace("axis=…", "axis=-1"))[1:]


ADVISED = {
    "softmax": lambda x: special.softmax(x, axis=-1),
    "log_softmax": lambda x: special.log_softmax(x, axis=-1),
    "logsumexp": lambda x: special.logsumexp(x, axis=-1),
}


def followed(steps):
    def function(x):
        names = {"np": np, "x": x, "n": x.shape[-1]}
        for step in steps[:-1]:
            name, formula = step.split(" = ", 1)
            names[name] = eval(formula, names)
        return eval(steps[-1], names)

    return function


@pytest.mark.parametrize("name", ADVISED)
def test_what_is_advised_is_the_same_function(name):
    steps = [step.split(";")[0].rstrip(". ") for step in advice(name)]
    formulas = [steps[:2], steps[2:]] if name == "softmax" else [steps]
    for formula in formulas:
        function = followed(formula)
        result = function(IntervalArray(LOW, HIGH))
        rng = np.random.default_rng(62)
        for x in (LOW, HIGH, members(rng, LOW, HIGH)):
            np.testing.assert_allclose(function(x), ADVISED[name](x), rtol=64 * 2.0**-52)
            assert ((result.low <= function(x)) & (function(x) <= result.high)).all()


def test_the_tighter_softmax_is_tighter():
    steps = [step.split(";")[0].rstrip(". ") for step in advice("softmax")]
    plain, tight = (enclose(followed(formula), LOW, HIGH) for formula in (steps[:2], steps[2:]))
    assert ((tight.high - tight.low) < 0.7 * (plain.high - plain.low)).all()
