"""np.polyval: the steps that NumPy takes, Horner's, each of them enclosed."""

from typing import Any

import numpy as np

from anyformer.intervals.conditions import refuse_conditions, refuse_other_types
from anyformer.intervals.ends import Ends, ends_of
from anyformer.intervals.errors import unsupported
from anyformer.intervals.rules.arguments import number
from anyformer.intervals.rules.elementwise.arithmetic import add, multiply


def polyval(p: Any, x: Any) -> Ends:
    """p[0]·xⁿ⁻¹ + … + p[n − 1]; the coefficients may be intervals as well as x."""
    coefficients = list(p) if isinstance(p, (list, tuple)) else p
    refuse_conditions("np.polyval", [x, p, *coefficients])
    if isinstance(x, np.poly1d) or isinstance(p, np.poly1d):
        raise unsupported("np.polyval of an np.poly1d")
    refuse_other_types("np.polyval", [x, *coefficients])
    at = ends_of(x)
    result = Ends(np.zeros(at.low.shape), np.zeros(at.low.shape))
    for coefficient in coefficients:
        result = add(multiply(result, at), ends_of(coefficient))
    return number(result) if getattr(x, "ndim", 0) == 0 else result
