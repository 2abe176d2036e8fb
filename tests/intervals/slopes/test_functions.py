"""Slopes of every function in the table hold at points of boxes, and wrong rules are found out."""

import numpy as np
import pytest
from scipy import special

from anyformer.intervals import enclose_slopes, supported
from anyformer.intervals.memory import Memory
from anyformer.intervals.slopes import calls, forms, orders, table
from anyformer.intervals.slopes.forms import Form
from tests.intervals.slopes.agreement import boxes, disagreement, known_share

TOKENS, WIDTH = 3, 2
SHAPE = (40, TOKENS, WIDTH)
WEIGHTS = np.array([[0.3, -1.2], [2.0, 0.7]])
MATRIX = np.array([[1.0, -0.5, 0.25], [0.0, 2.0, -1.0], [3.0, 0.5, 0.5]])

# The domain in which each function is tried: it has slopes on all boxes there.
OF_ONE = {
    **dict.fromkeys((np.exp, np.exp2, np.expm1, np.tanh, np.sinh, np.cosh, np.sin, np.cos), (-2.0, 2.0)),
    **dict.fromkeys((np.arctan, np.arcsinh, np.square, np.negative, np.positive, np.conjugate), (-2.0, 2.0)),
    **dict.fromkeys((np.absolute, np.fabs, special.expit, special.log_expit, special.erf), (-2.0, 2.0)),
    **dict.fromkeys((np.log, np.log2, np.log10, np.log1p, np.sqrt, np.reciprocal, np.cbrt), (0.3, 2.0)),
    **dict.fromkeys((np.arcsin, np.arccos, np.arctanh, np.tan), (-0.9, 0.9)),
    special.erfc: (-2.0, 2.0),
}
STEPS = dict.fromkeys((np.sign, np.floor, np.ceil, np.rint, np.trunc), (-2.0, 2.0))


@pytest.mark.parametrize("width", [1e-6, 0.1, 0.6])
@pytest.mark.parametrize("ufunc", [*OF_ONE, *STEPS], ids=lambda ufunc: ufunc.__name__)
def test_functions_of_one_number(ufunc, width):
    rng = np.random.default_rng(1)
    low, high = boxes(rng, SHAPE, *{**OF_ONE, **STEPS}[ufunc], width)

    def function(x):
        return ufunc(x) * x[:, ::-1]

    assert disagreement(function, low, high, rng) is None
    assert known_share(function, low, high) == 1 or ufunc in STEPS


def test_the_list_is_complete():
    tried = {*OF_ONE, *STEPS}
    assert tried >= {ufunc for ufunc in table.ELEMENTWISE if ufunc.nin == 1}
    assert {ufunc.__name__ for ufunc in tried} >= set(table.SPECIAL)


def test_slopes_are_of_supported_functions_only():
    assert table.ELEMENTWISE.keys() <= supported.ELEMENTWISE.keys()
    assert table.SPECIAL.keys() <= supported.SPECIAL.keys()
    assert table.REDUCTIONS.keys() <= supported.REDUCTIONS.keys()
    assert table.ACCUMULATIONS.keys() <= supported.ACCUMULATIONS.keys()
    assert table.OF_ARRAYS.keys() <= supported.RULES.keys()
    direct = {*table.BILINEAR, *table.CHOICES, *table.FILLED, *table.MOVES, *table.JOINS}
    assert direct <= supported.DIRECT.keys()


def filled(x):
    y = np.empty_like(x)
    y[:, 0] = x[:, 1] * 2
    y[:, 1:] = x[:, :2] ** 2
    y += x
    y *= np.ones_like(x) * 0.1
    return y


def written_through_a_view(x):
    y = x * 2
    view = y[:, 1:]
    y[:, 1] = x[:, 0] ** 2
    return y + np.concatenate([view, view[:, :1]], axis=1)


WITH_SLOPES = {
    "sum": lambda x: x * np.sum(x * x, axis=(1, 2), keepdims=True),
    "add.reduce": lambda x: x * np.add.reduce(x, axis=1)[:, None],
    "mean": lambda x: x * x.mean(axis=1, keepdims=True),
    "cumsum": lambda x: np.cumsum(x * x, axis=1),
    "add.accumulate": lambda x: np.add.accumulate(x * x, axis=2),
    "diff": lambda x: np.concatenate([x[:, :1], np.diff(np.exp(x), axis=1)], axis=1),
    "average": lambda x: x + np.average(x**2, axis=1, weights=[1.0, 2.0, 0.5])[:, None],
    "var": lambda x: x * x.var(axis=1, ddof=1, keepdims=True),
    "std": lambda x: x - x.std(axis=(1, 2), keepdims=True),
    "norm": lambda x: x / np.linalg.norm(x + 3, axis=2, keepdims=True),
    "norm 1": lambda x: x * np.linalg.norm(x, 1, axis=1)[:, None],
    "norm inf": lambda x: x * np.linalg.norm(x, np.inf, axis=1)[:, None],
    "max": lambda x: x * x.max(axis=1, keepdims=True),
    "min of all": lambda x: x + np.min(x * x, axis=(1, 2))[:, None, None],
    "maximum.reduce": lambda x: x + np.maximum.reduce(np.sin(x), axis=2)[..., None],
    "sort": lambda x: np.sort(x, axis=1) * x,
    "sort width": lambda x: np.sort(x * x),
    "running maximum": lambda x: np.maximum.accumulate(x, axis=1) * 2,
    "running minimum": lambda x: np.minimum.accumulate(x * x, axis=2),
    "relu": lambda x: np.maximum(x - 0.2, 0.0),
    "fmin": lambda x: np.fmin(x, x[:, ::-1]),
    "clip": lambda x: np.clip(x, -0.3, np.abs(x[:, :1])),
    "clip above": lambda x: np.clip(x, None, 0.4),
    "add and subtract": lambda x: (1.0 - x) + x[:, :1] - 0.5,
    "multiply": lambda x: x * x[:, ::-1] * x[:, :, ::-1],
    "divide": lambda x: x / (3.0 + x[:, :1] * x),
    "constant over": lambda x: 2.0 / (4.0 + x),
    "powers": lambda x: x**3 + x**4 * 0.5 + x**1 + (x + 3) ** 1.5 + (x + 3) ** 0.3 + (x + 3) ** -1 + (x + 3) ** -2.7,
    "float_power": lambda x: np.float_power(x + 3, 2),
    "hypot": lambda x: np.hypot(x + 3, x[:, ::-1]),
    "logaddexp": lambda x: np.logaddexp(x, x[:, ::-1]) + np.logaddexp2(x * x, 0.5),
    "logaddexp.reduce": lambda x: x - np.logaddexp.reduce(x, axis=1, keepdims=True),
    "matmul": lambda x: MATRIX @ x @ WEIGHTS,
    "matmul of two": lambda x: x @ (np.swapaxes(x, 1, 2) @ x),
    "einsum": lambda x: np.einsum("bjw,bkw->bjk", x, x * x) @ x,
    "einsum of constants": lambda x: np.einsum("jk,bkw->bjw", MATRIX, x * x),
    "einsum of one": lambda x: x * np.einsum("bjw->bw", x)[:, None],
    "dot": lambda x: np.dot(x * x, WEIGHTS),
    "tensordot": lambda x: np.tensordot(x * x, WEIGHTS, axes=1),
    "inner": lambda x: np.inner(x * x, WEIGHTS),
    "multiply.outer": lambda x: np.multiply.outer(x * x, [1.0, 2.0])[..., 1],
    "where decided": lambda x: np.where(np.arange(TOKENS)[:, None] > 0, x * x, -x),
    "select": lambda x: np.select([np.ones(x.shape, dtype=bool)], [x * x], -x),
    "moves": lambda x: np.roll(x, 1, axis=1)[:, ::-1].reshape(len(x), -1)[:, ::-1].reshape(x.shape) * x,
    "axes": lambda x: np.moveaxis(np.expand_dims(x, 1), 3, 1)[:, :, 0].swapaxes(1, 2) * x,
    "stack": lambda x: np.stack([x[:, 2], np.full((len(x), WIDTH), 0.1), x[:, 0] * x[:, 1]], axis=1),
    "append": lambda x: np.append(x[:, :2] ** 2, np.ones((len(x), 1, WIDTH)), axis=1) * x,
    "split": lambda x: np.concatenate([part * x[:, :1] for part in np.split(x, 3, axis=1)], axis=1),
    "pad": lambda x: np.pad(x[:, 1:] ** 2, ((0, 0), (1, 0), (0, 0)), constant_values=2.0) * x,
    "broadcast": lambda x: np.broadcast_to((x * x)[:, :1], x.shape),
    "repeat": lambda x: np.repeat(x[:, :1], TOKENS, axis=1) * x,
    "filled": filled,
    "decided if": lambda x: x * x if (x > -5).all() else x,
    "constant": lambda x: np.zeros_like(x) + 0.3,
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True),
}


@pytest.mark.parametrize("width", [1e-9, 0.05, 0.7])
@pytest.mark.parametrize("name", WITH_SLOPES)
def test_functions_of_arrays(name, width):
    rng = np.random.default_rng(2)
    low, high = boxes(rng, SHAPE, -1.0, 1.0, width)
    assert disagreement(WITH_SLOPES[name], low, high, rng) is None
    assert known_share(WITH_SLOPES[name], low, high) == 1


PARTLY = {
    "where": lambda x: np.where(x > 0.1, x * x, 1.0),
    "heaviside": lambda x: np.heaviside(x, 0.5) * x,
    "condition as a number": lambda x: (x > 0).astype(float) * x + (x < 0.5) * x,
    "floor": lambda x: np.floor(3 * x) + x,
    "sqrt": lambda x: np.sqrt(np.maximum(x, 0.0)),
    "domain left": lambda x: np.where(x > -0.7, np.sqrt(x + 0.9), 0.0),
}


@pytest.mark.parametrize("name", PARTLY)
def test_slopes_that_are_known_on_some_boxes(name):
    rng = np.random.default_rng(3)
    low, high = boxes(rng, SHAPE, -1.0, 1.0, 0.05)
    assert disagreement(PARTLY[name], low, high, rng) is None
    known = np.isfinite(enclose_slopes(PARTLY[name], low, high).slopes.low).mean()
    assert 0.05 < known < 1


WITHOUT = {
    "no rule": lambda x: np.remainder(x, 0.7),
    "no rule on the way": lambda x: x + 0.5 * np.arctan2(x, x + 5),
    "an unknown exponent": lambda x: (x + 3) ** x,
    "a product": lambda x: x * np.prod(x, axis=1, keepdims=True),
    "a view of what was written": written_through_a_view,
}


@pytest.mark.parametrize("name", WITHOUT)
def test_functions_without_slopes(name):
    rng = np.random.default_rng(4)
    low, high = boxes(rng, SHAPE, -1.0, 1.0, 0.1)
    assert disagreement(WITHOUT[name], low, high, rng) is None
    assert known_share(WITHOUT[name], low, high) < 0.5


def test_linear_functions_have_one_slope():
    low, high = boxes(np.random.default_rng(5), SHAPE, -1.0, 1.0, 0.5)
    slopes = enclose_slopes(lambda x: MATRIX @ x, low, high).slopes
    wanted = np.einsum("jk,wv->kwjv", MATRIX, np.eye(WIDTH)).reshape(-1, TOKENS, WIDTH)
    # Three products and their sum, rounded outwards: a few ulps of at most 3.
    assert np.abs(slopes.low - wanted).max() < 2.0**-45
    assert np.abs(slopes.high - wanted).max() < 2.0**-45


def test_slopes_narrow_with_the_boxes():
    def spread(width):
        low = np.full((1, TOKENS, WIDTH), 0.3)
        slopes = enclose_slopes(lambda x: np.tanh(x) * x.sum(axis=1, keepdims=True), low, low + width).slopes
        return (slopes.high - slopes.low).max()

    assert spread(0.02) < 0.6 * spread(0.04) < 0.36 * spread(0.08)


def only_the_box(y: Form, u: Form, v: Form):
    return forms.added(forms.scaled(v.centre, u.slopes), forms.scaled(u.centre, v.slopes))


FAULTS = {
    "tanh' = 1": (table.ELEMENTWISE, np.tanh, lambda y, a: a.slopes),
    "(uv)' = u'v' at the centre": (table.ELEMENTWISE, np.multiply, only_the_box),
    "the first of two is the maximum": (table.ELEMENTWISE, np.maximum, lambda y, u, v: u.slopes),
    "(1/v)' without its sign": (table.ELEMENTWISE, np.divide, lambda y, u, v: forms.scaled(y.box, v.slopes)),
    "sorting moves nothing": (table.OF_ARRAYS, np.sort, lambda y, a, axis=-1: a.slopes),
    "the maximum is a sum": (table.OF_ARRAYS, np.max, table.OF_ARRAYS[np.sum]),
}


def all_of(x):
    return np.tanh(x) * x + np.maximum(x, x[:, ::-1]) + 1.0 / (x + 4) + np.sort(x, axis=1) + x.max(axis=1)[:, None]


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found(monkeypatch, name):
    rng = np.random.default_rng(6)
    low, high = boxes(rng, SHAPE, -1.0, 1.0, 0.4)
    assert disagreement(all_of, low, high, rng) is None
    place, key, fault = FAULTS[name]
    monkeypatch.setitem(place, key, fault)
    assert disagreement(all_of, low, high, rng) is not None


def test_undecided_choices_that_take_one_branch_are_found(monkeypatch):
    rng = np.random.default_rng(7)
    low, high = boxes(rng, SHAPE, -1.0, 1.0, 0.4)
    monkeypatch.setattr(table, "chosen", lambda condition, first, second: first.slopes)
    assert disagreement(PARTLY["where"], low, high, rng) is not None


def test_forms_that_outlive_a_write_are_found(monkeypatch):
    rng = np.random.default_rng(8)
    low, high = boxes(rng, SHAPE, -1.0, 1.0, 0.4)
    monkeypatch.setattr(Memory, "write", lambda self: None)
    assert disagreement(written_through_a_view, low, high, rng) is not None


def test_entries_that_are_no_candidates_matter(monkeypatch):
    rng = np.random.default_rng(9)
    low, high = boxes(rng, SHAPE, -1.0, 1.0, 0.4)
    right = orders._hull
    monkeypatch.setattr(orders, "_hull", lambda slopes, candidates: right(slopes, _first(candidates)))
    assert disagreement(WITH_SLOPES["sort"], low, high, rng) is not None


def _first(candidates):
    """Of the candidates of every entry, the first alone."""
    return candidates & (np.cumsum(candidates, axis=0) == 1)


def test_constants_are_taken_for_constants_only_if_they_are(monkeypatch):
    rng = np.random.default_rng(10)
    low, high = boxes(rng, SHAPE, -1.0, 1.0, 0.4)

    def careless(operand, inputs):
        try:
            return forms.form_of(operand, inputs)
        except forms.NoSlopes:
            return Form(operand._ends, operand._ends, (None,) * inputs)

    monkeypatch.setattr(calls, "form_of", careless)
    assert disagreement(lambda x: x + np.remainder(x, 0.7) * 2, low, high, rng) is None  # its "centre" is its range
    monkeypatch.setattr(calls, "_value", lambda result, operands, call: Form(result, call(*map(_point, operands)), ()))
    assert disagreement(lambda x: x + np.remainder(x, 0.7) * 2, low, high, rng) is not None


def _point(form):
    middle = (form.centre.low + form.centre.high) / 2
    return forms.point(np.asarray(middle))
