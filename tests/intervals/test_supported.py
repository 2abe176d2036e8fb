"""The one table of what is supported: nothing stands in it twice, and what looks supported elsewhere is in it."""

import numpy as np
import pytest

from anyformer.intervals import conditions, supported
from anyformer.intervals.methods import ArrayMethods

FUNCTIONS = [
    *(np.average, np.nanmean, np.percentile, np.quantile, np.partition, np.interp, np.polyval, np.inner, np.outer),
    *(np.convolve, np.diff, np.sinc, np.piecewise, np.cumprod, np.round, np.median, np.nanmedian, np.nanpercentile),
]
UFUNCS = [np.hypot, np.arctan2, np.logaddexp, np.remainder, np.floor_divide, np.fmod, np.divmod, np.copysign]


def test_nothing_stands_twice():
    assert not supported.RULES.keys() & supported.DIRECT.keys()
    assert not (supported.RULES.keys() | supported.DIRECT.keys()) & set(supported.UNORDERED)
    assert not supported.ELEMENTWISE.keys() & conditions.LOGIC.keys()


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_functions(function):
    assert function in supported.RULES or function in supported.DIRECT


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_ufuncs(ufunc):
    assert ufunc in supported.ELEMENTWISE


def test_reductions_are_of_ufuncs_in_the_table():
    assert supported.REDUCTIONS.keys() | supported.ACCUMULATIONS.keys() <= supported.ELEMENTWISE.keys()


def test_methods_stand_for_functions_in_the_table():
    """Every method that stands for a NumPy function finds it in the table, followed or refused with a reason."""
    known = supported.RULES.keys() | supported.DIRECT.keys() | set(supported.UNORDERED)
    named = {name: value.__doc__ for name, value in vars(ArrayMethods).items() if callable(value) and value.__doc__}
    standing = {name for name, text in named.items() if text.startswith("np.")}
    assert len(standing) > 20
    for name in standing:
        assert getattr(np, name) in known, name
