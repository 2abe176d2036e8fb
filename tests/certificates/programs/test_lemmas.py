"""The lemmas about errors: on samples, no perturbed argument changes a step by more than they say."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from anyformer.arrays import Array
from anyformer.certificates.programs.errors import EXACT, Error, Errors
from anyformer.programs.builder import Builder
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.ranges import Ranges
from anyformer.programs.steps import Mean, Norm, Product, TokenMaximum

LOW, HIGH = 0.4, 1.7
ERRORS = (1e-9, 1e-3, 0.05, 0.6)
ROUNDING = 1e-14


class Setting:
    """Inputs a, b on [LOW, HIGH] that are known up to an error, and a node of them."""

    def __init__(self, make: Callable[[Builder, Form, Form], Form], low: float = LOW, high: float = HIGH) -> None:
        builder = Builder(3, 2)
        self.inputs = [builder.input(0), builder.input(1)]
        (self.node,) = make(builder, *self.inputs).terms
        ends = np.full(2, low), np.full(2, high)
        self.low, self.high = low, high
        self.ranges = Ranges(builder.program(*ends, [Form.node(self.node)]))

    def passed(self, absolute: float, relative: float = math.inf) -> Error:
        """The error of the node if both inputs have this one, and its own step none."""
        errors = Errors(self.ranges)
        for form in self.inputs:
            (node,) = form.terms
            errors.of[node] = Error(absolute, relative).within((self.low, self.high))
        for node in self.ranges.program.nodes:
            if node not in errors.of and node is not self.node:
                errors.record(node, EXACT)
        return errors.passed_on(self.node, EXACT).within(self.ranges.node(self.node))

    def continued(self, u: Array) -> Array:
        """A curve of the first input, beyond its range too, as the checker continues it."""
        curve = self.ranges.curve(self.node)
        inside = np.clip(u, curve.low, curve.high)
        slopes = {end: sum(curve.end_slope(end)) / 2 for end in (curve.low, curve.high)}
        beyond = (u < curve.low) * slopes[curve.low] + (u > curve.high) * slopes[curve.high]
        return np.asarray(curve.points(inside) + beyond * (u - inside))


def _relatively(found: Error, exact: Array) -> Array:
    return np.where(found.relative < np.inf, min(found.relative, 1e300) * np.abs(exact), np.inf)


def _pairs(low: float, high: float, e: float, relative: bool = False) -> tuple[Array, Array]:
    rng = np.random.default_rng(11)
    u = np.concatenate([rng.uniform(low, high, 400), [low] * 50, [high] * 50])
    off = rng.uniform(-1, 1, 500) * e
    off[::3] = np.sign(off[::3]) * e
    return u, u + off * (np.abs(u) if relative else 1)


CURVES = ["exp", "log", "sqrt", "reciprocal", "square", "tanh", "sin", "erf", "sigmoid", "cosh"]


@pytest.mark.parametrize("e", ERRORS)
@pytest.mark.parametrize("name", CURVES)
def test_absolute_errors_through_curves(name: str, e: float) -> None:
    setting = Setting(lambda builder, a, b: builder.apply(name, a.scaled(1.25) + Form.of(0.1)))
    found, (u, seen) = setting.passed(e), _pairs(LOW, HIGH, e)
    exact, off = setting.continued(u), np.abs(setting.continued(seen) - setting.continued(u))
    assert (off <= found.absolute + ROUNDING * (1 + np.abs(exact))).all()
    assert (off <= _relatively(found, exact) + ROUNDING * (1 + np.abs(exact))).all()


@pytest.mark.parametrize("r", [1e-9, 1e-3, 0.1, 0.45])
@pytest.mark.parametrize("name", CURVES)
def test_relative_errors_through_curves(name: str, r: float) -> None:
    setting = Setting(lambda builder, a, b: builder.apply(name, a))
    found, (u, seen) = setting.passed(math.inf, r), _pairs(LOW, HIGH, r, relative=True)
    exact, off = setting.continued(u), np.abs(setting.continued(seen) - setting.continued(u))
    assert (off <= found.absolute + ROUNDING * (1 + np.abs(exact))).all()
    assert (off <= _relatively(found, exact) + ROUNDING * (1 + np.abs(exact))).all()


@pytest.mark.parametrize("e", [1e-12, 1e-6, 0.3, 1.5, 40.0])
def test_a_root_that_starts_at_zero(e: float) -> None:
    """Beyond its largest argument it goes on along its tangent, which a large error may follow far above √e."""
    setting = Setting(lambda builder, a, b: builder.apply("sqrt", a), low=0.0, high=1.7)
    found, (u, seen) = setting.passed(e), _pairs(0.0, 1.7, e)
    off = np.abs(setting.continued(seen) - setting.continued(u))
    assert (off <= found.absolute + ROUNDING).all()


def test_tiny_relative_errors_of_a_root_are_not_lost() -> None:
    setting = Setting(lambda builder, a, b: builder.apply("sqrt", a))
    assert setting.passed(math.inf, 1e-17).relative >= 0.5e-17


STEPS: dict[str, tuple[Callable[[Builder, Form, Form], Form], Callable[[Array, Array], Array]]] = {
    "product": (lambda builder, a, b: builder.node(Product(), a, b), lambda a, b: a * b),
    "maximum": (lambda builder, a, b: builder.maximum(a, b), np.maximum),
    "minimum": (lambda builder, a, b: builder.minimum(a, b), np.minimum),
    "norm": (lambda builder, a, b: builder.node(Norm(), a, b), np.hypot),
    "relu": (lambda builder, a, b: builder.relu(a - b), lambda a, b: np.maximum(a - b, 0)),
    "absolute": (lambda builder, a, b: builder.absolute(a - b), lambda a, b: np.abs(a - b)),
    "mean": (
        lambda builder, a, b: builder.node(Mean(), a, is_uniform=True),
        lambda a, b: a.reshape(-1, 5).mean(axis=1).repeat(5),
    ),
    "largest": (
        lambda builder, a, b: builder.node(TokenMaximum(), a, is_uniform=True),
        lambda a, b: a.reshape(-1, 5).max(axis=1).repeat(5),
    ),
    "gate": (
        lambda builder, a, b: builder.gate(Number(np.array([0.5, -2.0, 1.5])), a),
        lambda a, b: a * np.resize([0.5, -2.0, 1.5], a.shape),
    ),
}


@pytest.mark.parametrize("e", ERRORS)
@pytest.mark.parametrize("name", STEPS)
def test_absolute_errors_through_steps(name: str, e: float) -> None:
    make, values = STEPS[name]
    found = Setting(make).passed(e)
    (a, a_seen), (b, b_seen) = _pairs(LOW, HIGH, e), _pairs(LOW, HIGH, e)
    b, b_seen = b[::-1], b_seen[::-1]
    exact, off = values(a, b), np.abs(values(a_seen, b_seen) - values(a, b))
    assert (off <= found.absolute + ROUNDING).all()
    assert (off <= _relatively(found, exact) + ROUNDING).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("r", [1e-6, 0.3, 2.5])
@pytest.mark.parametrize("name", ["mean", "largest", "product"])
def test_relative_errors_through_steps(name: str, r: float, sign: float) -> None:
    make, values = STEPS[name]
    low, high = sorted((sign * LOW, sign * HIGH))
    found = Setting(make, low, high).passed(math.inf, r)
    (a, a_seen), (b, b_seen) = _pairs(low, high, r, relative=True), _pairs(low, high, r, relative=True)
    b, b_seen = b[::-1], b_seen[::-1]
    exact, off = values(a, b), np.abs(values(a_seen, b_seen) - values(a, b))
    assert (off <= found.absolute + ROUNDING).all()
    assert (off <= _relatively(found, exact) + ROUNDING).all()


@pytest.mark.parametrize("s", [1e-8, 0.1, 3.0])
def test_scores_off_by_s_move_a_softmax_mean_by_tanh(s: float) -> None:
    rng = np.random.default_rng(5)
    setting = Setting(lambda builder, a, b: builder.attend([Form.of(1.0)], [a], b))
    found = setting.passed(s)
    for _ in range(300):
        keys, values = rng.uniform(LOW, HIGH, (2, 3))
        values = np.where(rng.random(3) < 0.5, LOW, values)
        moved = keys + s * rng.choice([-1.0, 1.0], 3)
        seen = values + s * rng.choice([-1.0, 1.0], 3)
        p, q = (np.exp(k - k.max()) / np.exp(k - k.max()).sum() for k in (keys, moved))
        assert abs(p @ values - q @ seen) <= found.absolute + ROUNDING


def test_forms_carry_errors_and_doubts() -> None:
    builder = Builder(2, 2)
    a, b = builder.input(0), builder.input(1)
    form = a.times(Number(0.3, 1e-3)) + b.times(Number(-0.7, 1e-4)) + Form(constant=Number(0.5, 1e-5))
    errors = Errors(Ranges(builder.program(np.full(2, LOW), np.full(2, HIGH), [form])))
    for one in (a, b):
        (node,) = one.terms
        errors.of[node] = Error(1e-2)
    rng, found = np.random.default_rng(2), errors.form(form).absolute
    x, y = rng.uniform(LOW, HIGH, (2, 400))
    dx, dy, d, e, f = rng.choice([-1.0, 1.0], (5, 400))
    seen = 0.3 * (x + 1e-2 * dx) - 0.7 * (y + 1e-2 * dy) + 0.5
    exact = (0.3 + 1e-3 * d) * x + (-0.7 + 1e-4 * e) * y + 0.5 + 1e-5 * f
    off = np.abs(seen - exact).max()
    assert off <= found
    assert found <= 1.2 * off


def test_forms_of_one_sign_keep_relative_errors() -> None:
    builder = Builder(2, 2)
    a, b = builder.input(0), builder.input(1)
    program = builder.program(np.full(2, LOW), np.full(2, HIGH), [a])
    errors = Errors(Ranges(program))
    for one in (a, b):
        (node,) = one.terms
        errors.of[node] = Error(math.inf, 0.1).within((LOW, HIGH))
    assert errors.form(a + b.scaled(3.0) + Form.of(2.0)).relative <= 0.11
    assert errors.form(a - b).relative == math.inf


def test_many_terms_are_rounded_up() -> None:
    builder = Builder(2, 300)
    inputs = [builder.input(k) for k in range(300)]
    total = Form()
    for one in inputs:
        total = total + one
    errors = Errors(Ranges(builder.program(np.zeros(300), np.ones(300), [total])))
    for one in inputs:
        (node,) = one.terms
        errors.of[node] = Error(0.1)
    from fractions import Fraction

    assert Fraction(errors.form(total).absolute) >= 300 * Fraction(0.1)


@pytest.mark.parametrize("bad", [math.nan, -1.0])
def test_what_is_no_number_is_infinite(bad: float) -> None:
    assert Error(bad, bad) == Error(math.inf, math.inf)


def test_an_error_that_underflows_is_not_none() -> None:
    found = Error(1.0, 1e-200).within((1e-200, 1e-150))
    assert found.absolute > 0


def _broken(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(Errors, name, lambda self, node, own, *args: own)


@pytest.mark.parametrize(
    ("lemma", "test"),
    [
        ("_through_curve", lambda: test_absolute_errors_through_curves("exp", 1e-3)),
        ("_through_product", lambda: test_absolute_errors_through_steps("product", 1e-3)),
        ("_through_attention", lambda: test_scores_off_by_s_move_a_softmax_mean_by_tanh(0.1)),
        ("_through_average", lambda: test_absolute_errors_through_steps("mean", 1e-3)),
        ("passed_on", lambda: test_absolute_errors_through_steps("norm", 1e-3)),
    ],
)
def test_these_tests_see_a_lemma_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, lemma: str, test: Callable[[], None]
) -> None:
    _broken(monkeypatch, lemma)
    with pytest.raises(AssertionError):
        test()
