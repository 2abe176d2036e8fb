import re

import numpy as np
import pytest
import vnnlib

from anyformer.exports.vnnlib.checking import read_query
from anyformer.exports.vnnlib.dialects import version_1, version_2
from anyformer.exports.vnnlib.properties import Comparison, Property, Sense
from anyformer.networks import FLOAT32

LOW = np.array([[-0.5, 0.25], [0.0, 2.0**-20], [1.0, -3.0]])
HIGH = LOW + 0.125
ONE = Comparison((2, 1), Sense.AT_LEAST, 0.75)
TWO = Comparison((0, 1), Sense.AT_MOST, -0.3125)
PROPERTIES = [
    Property(LOW, HIGH, ((ONE,),)),
    Property(LOW, HIGH, ((ONE, TWO),)),
    Property(LOW, HIGH, ((ONE,), (TWO,))),
    Property(LOW, HIGH, ((ONE, TWO), (TWO,))),
]


@pytest.mark.parametrize("asked", PROPERTIES)
def test_the_official_parser_reads_what_was_meant(asked, tmp_path):
    place = tmp_path / "one.vnnlib"
    place.write_text(version_2(asked, FLOAT32))
    query = read_query(place)
    assert np.array_equal(query.low, asked.low)
    assert np.array_equal(query.high, asked.high)
    y = np.random.default_rng(1).normal(size=(300, 3, 2))
    assert np.array_equal(query.margin(y), asked.margin(y))
    assert (asked.margin(y) >= 0).any()
    assert (asked.margin(y) < 0).any()


def test_types_and_shapes_are_declared():
    (network,) = vnnlib.parse_query_string(version_2(PROPERTIES[0], FLOAT32)).networks
    assert [(one.name, one.dtype.name, one.shape) for one in (*network.inputs, *network.outputs)] == [
        ("X", "F32", [1, 3, 2]),
        ("Y", "F32", [1, 3, 2]),
    ]


@pytest.mark.parametrize("asked", PROPERTIES)
def test_the_older_dialect_says_the_same(asked):
    """Read as a term of lists, and evaluated as SMT-LIB means it."""
    text = version_1(asked, FLOAT32)
    lines = parsed(text)
    assert [line[1] for line in lines if line[0] == "declare-const"] == [f"{v}_{k}" for v in "XY" for k in range(6)]
    assertions = [line[1] for line in lines if line[0] == "assert"]
    rng = np.random.default_rng(2)
    for _ in range(200):
        x = asked.low + rng.uniform(-0.05, 1.05, LOW.shape) * (asked.high - asked.low)
        y = rng.normal(size=LOW.shape)
        values = {f"X_{k}": one for k, one in enumerate(x.ravel())} | {f"Y_{k}": one for k, one in enumerate(y.ravel())}
        wanted = asked.contains(x) and bool(asked.margin(y) >= 0)
        assert all(holds(one, values) for one in assertions) == wanted


def parsed(text):
    stack = [[]]
    for word in re.findall(r"[()]|[^\s()]+", text):
        if word == "(":
            stack.append([])
        elif word == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(word)
    assert len(stack) == 1
    return stack[0]


def holds(term, values):
    operator, *rest = term
    if operator in ("and", "or"):
        return {"and": all, "or": any}[operator](holds(one, values) for one in rest)
    left, right = (values[one] if one in values else float(one) for one in rest)
    return left >= right if operator == ">=" else left <= right
