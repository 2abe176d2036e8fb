"""Ranges hold all values, for random programs and for the facts that plain intervals miss; roots find curves."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from anyformer.errors import NotTraceable
from anyformer.programs.builder import Builder
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.program import Program
from anyformer.programs.ranges import Ranges
from anyformer.programs.roots import Roots
from anyformer.programs.steps import Apply, Product
from anyformer.programs.values import node_values, value_of

TOKENS, WIDTH = 4, 2
ROUNDING = 1e-12


def _program(make: Callable[[Builder, Form, Form], Form], low: float, high: float) -> tuple[Program, Form]:
    builder = Builder(TOKENS, WIDTH)
    form = make(builder, builder.input(0), builder.input(1))
    return builder.program(np.full(WIDTH, low), np.full(WIDTH, high), [form, form]), form


def _inputs(low: float, high: float) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.uniform(low, high, (2000, TOKENS, WIDTH))
    x[:1000] = rng.choice([low, high], (1000, TOKENS, WIDTH))
    return x


FORMS: dict[str, Callable[[Builder, Form, Form], Form]] = {
    "centred": lambda builder, a, b: a - builder.mean(a),
    "centred, otherwise weighted": lambda builder, a, b: a.scaled(0.3) - builder.mean(a).scaled(0.7) + b,
    "share": lambda builder, a, b: builder.divide(a, builder.mean(a)),
    "share with a constant": lambda builder, a, b: builder.divide(a, builder.mean(a).scaled(2.0) + Form.of(0.3)),
    "share in doubt": lambda builder, a, b: builder.divide(
        a.times(Number(1.5, 0.01)), builder.mean(a).times(Number(2.0, 0.3)) + Form(constant=Number(0.3, 0.1))
    ),
    "log share": lambda builder, a, b: (
        a.scaled(900.0) - builder.apply("log", builder.mean(builder.apply("exp", a))).scaled(900.0)
    ),
    "softmax": lambda builder, a, b: builder.divide(
        builder.apply("exp", a.scaled(3.0)), builder.mean(builder.apply("exp", a.scaled(3.0)))
    ),
    "gelu": lambda builder, a, b: builder.product(a, builder.apply("erf", a) + Form.of(1.0)),
    "norm": lambda builder, a, b: builder.apply("sqrt", builder.apply("square", a) + builder.apply("square", b)),
    "gate": lambda builder, a, b: builder.gate(Number(np.array([1.0, -2.0, 0.0, 0.3]), 1e-3), a - b),
    "places": lambda builder, a, b: a + Form.of(np.array([1.0, -2.0, 0.0, 0.3])),
    "product": lambda builder, a, b: builder.product(a - b, builder.maximum(a, b)),
    "doubt alone": lambda builder, a, b: Form(constant=Number(0.1, 0.7)) + a.scaled(0.0),
}


@pytest.mark.parametrize(("low", "high"), [(0.2, 1.1), (0.7, 0.7 + 1e-9), (1.0, 3.0)])
@pytest.mark.parametrize("name", FORMS)
def test_ranges_hold_all_values(name: str, low: float, high: float) -> None:
    program, form = _program(FORMS[name], low, high)
    ranges, x = Ranges(program), _inputs(low, high)
    values = node_values(program, x)
    for node in program.nodes:
        least, most = ranges.node(node)
        slack = ROUNDING * (1 + np.abs(values[node]).max())
        assert least <= values[node].min() + slack
        assert values[node].max() <= most + slack
    least, most = ranges.form(form)
    made = value_of(form, values, x.shape[:2])
    assert least <= made.min() + ROUNDING * 900
    assert made.max() <= most + ROUNDING * 900


def test_the_facts_are_tighter_than_intervals() -> None:
    for name, most in (
        ("centred", 0.9 * 0.76),
        ("share", 1.1 / 0.2 / (1.1 / 0.2 / 4 + 0.75) * 1.01),
        ("log share", 900),
    ):
        program, form = _program(FORMS[name], 0.2, 1.1)
        assert Ranges(program).form(form)[1] <= most


def test_a_share_in_doubt_holds_the_extremes_of_its_numbers() -> None:
    program, form = _program(FORMS["share in doubt"], 0.2, 1.1)
    least, most = Ranges(program).form(form)
    mean = (1.1 + 3 * 0.2) / 4
    assert 1.51 * 1.1 / (1.7 * mean + 0.2) <= most
    assert least <= 1.49 * 0.2 / (2.3 * (0.2 + 3 * 1.1) / 4 + 0.4)


def test_long_exponents_are_no_crash() -> None:
    builder = Builder(TOKENS, WIDTH)
    a = builder.input(0)
    form = a - builder.apply("log", builder.mean(builder.apply("exp", a)))
    ranges = Ranges(builder.program(np.full(WIDTH, -709.0), np.full(WIDTH, 709.0), [form, form]))
    low, high = ranges.form(form)
    assert low <= -1418
    assert high >= math.log(4)


def test_what_overflows_is_refused() -> None:
    program, form = _program(lambda builder, a, b: a.scaled(1e300) - b.scaled(1e300), -1e10, 1e10)
    with pytest.raises(NotTraceable, match="finite"):
        Ranges(program).form(form)


def test_zero_stays_zero_for_roots() -> None:
    """A mean of squares is not negative, so that its root has a value."""
    program, form = _program(lambda builder, a, b: builder.mean(builder.apply("square", a)), -1.0, 1.0)
    assert Ranges(program).form(form)[0] == 0.0


def test_a_number_that_underflows_may_be_negative() -> None:
    program, form = _program(lambda builder, a, b: a.scaled(-1e-200), 0.0, 1e-200)
    assert Ranges(program).form(form)[0] < 0


def test_a_domain_without_width() -> None:
    program, form = _program(FORMS["gelu"], 0.5, 0.5)
    low, high = Ranges(program).form(form)
    assert low <= 0.5 * (1 + math.erf(0.5)) <= high
    assert high - low < 1e-13


def _roots(make: Callable[[Builder, Form, Form], Form]) -> tuple[Roots, Any]:
    builder = Builder(TOKENS, WIDTH)
    (node,) = make(builder, builder.input(0), builder.input(1)).terms
    return Roots(), node


def test_a_chain_of_one_form_is_one_curve() -> None:
    roots, node = _roots(lambda builder, a, b: builder.apply("exp", builder.apply("tanh", a - b)))
    root = roots.of(node)
    assert root is not None
    assert {float(number.value) for number in root.terms.values()} == {1.0, -1.0}


def test_a_product_of_two_forms_is_no_curve() -> None:
    roots, node = _roots(lambda builder, a, b: builder.node(Product(), a, b))
    assert roots.of(node) is None
    roots, node = _roots(
        lambda builder, a, b: builder.node(Product(), builder.apply("exp", a), builder.apply("exp", b))
    )
    assert roots.of(node) is None


@pytest.mark.parametrize("name", ["exp", "tanh", "square"])
def test_coefficients_in_doubt_widen_a_curve(name: str) -> None:
    """exp((0.3 ± 0.01)·a): the enclosure holds it for every coefficient."""
    roots, node = _roots(lambda builder, a, b: builder.node(Apply(name), a.times(Number(0.3, 0.01)) + Form.of(0.2)))
    from anyformer.programs.curves import Curve

    at = np.linspace(-2, 2, 9)
    value = Curve(roots.curve(node), -2.0, 2.0).at(at, at).value
    function = getattr(np, name)
    for coefficient in (0.29, 0.3, 0.31):
        exact = function(coefficient * at + 0.2)
        assert (value.low <= exact + 1e-15).all()
        assert (exact <= value.high + 1e-15).all()
