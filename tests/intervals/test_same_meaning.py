"""Functions mean on intervals what they mean on arrays, or are refused: every way in which they once did not."""

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import special

from anyformer.intervals import IntervalArray, IntervalError, boxes, enclose, enclose_each
from tests.intervals.samples import members

RNG = np.random.default_rng(4)
LOW = RNG.uniform(-0.9, 0.9, (5, 2, 3))
HIGH = LOW + RNG.uniform(0, 0.2, LOW.shape)


def layouts(x):
    return [x.copy(), x.copy(order="F"), np.repeat(x, 2, axis=-1)[..., ::2], x[:, ::-1].copy()[:, ::-1]]


def assert_holds(function, result, low=LOW, high=HIGH):
    """All values at members lie inside; where one is NaN, nothing is claimed."""
    rng = np.random.default_rng(5)
    vacuous = (result.low == -np.inf) & (result.high == np.inf)
    for member in (low, high, *(members(rng, low, high) for _ in range(6))):
        for x in layouts(member):
            with np.errstate(all="ignore"):
                values = np.asarray(function(x), dtype=float)
            assert ((result.low <= values) & (values <= result.high) | vacuous).all()


def through(change):
    """A function that returns its argument after something was done to it."""

    def function(x):
        change(x)
        return x * 1.0

    return function


def written(index, view):
    def change(x):
        view(x)[index] = 5.0

    return through(change)


def increased(view):
    def change(x):
        y = view(x)
        y += 1.0

    return through(change)


def kept_and_increased(view):
    """The other way round: what was made of the argument is returned, after the argument was changed."""

    def function(x):
        y = view(x)
        x += 1.0
        return y.reshape(x.shape) * 1.0

    return function


def own_flat(x):
    y = x.reshape(len(x), -1)
    y[:, 0] = 0.25
    return y.reshape(x.shape)


def copied_before(x):
    y = x.reshape(len(x), -1).copy()
    x += 1.0
    y[:, 0] = 0.25
    return x + y.reshape(x.shape)


def two_views(x):
    y = x.reshape(x.shape)
    np.atleast_1d(x, y)[1][...] += 1.0
    return x * 1.0


def number_replaced(x):
    first = x[0, 0, 0]
    first += 1.0
    total = x.sum(axis=(1, 2))
    kept = total
    total += 1.0
    return x + kept[:, np.newaxis, np.newaxis]


def zero_dimensional_view(x):
    corner = x[0, 0, 0, ...]
    corner += 1.0
    return x * 1.0


def remainder_in_place(x):
    y = x.T
    y %= 0.25


def quotient_in_place(x):
    y = x[:, 0]
    y //= 0.25


HELD = {
    "flatten": increased(lambda x: x.flatten()),
    "copy.copy": increased(copy.copy),
    "copy.deepcopy": increased(copy.deepcopy),
    "transposed view": increased(lambda x: x.T),
    "view of a view": increased(lambda x: x.swapaxes(1, 2)[:, ::-1][:, 1:]),
    "einsum gives a view": increased(lambda x: np.einsum("bij->bji", x)),
    "no difference": increased(lambda x: np.diff(x, n=0)),
    "astype without a copy": increased(lambda x: x.astype(float, copy=False)),
    "astype": increased(lambda x: x.astype(float)),
    "squeeze": increased(lambda x: np.squeeze(x[:, :, :1], 2)),
    "expand": increased(lambda x: np.expand_dims(x, 1)),
    "taken": increased(lambda x: np.take(x, [0, 1], axis=1)),
    "rolled": increased(lambda x: np.roll(x, 1, axis=1)),
    "indexed by a list": increased(lambda x: x[:, [1, 0]]),
    "split": increased(lambda x: np.split(x, 2, axis=1)[1]),
    "broadcast with another": increased(lambda x: np.broadcast_arrays(x, x)[0]),
    "rows": increased(lambda x: x.T[0]),
    "a reshape of its own": own_flat,
    "a copy of a reshape": copied_before,
    "zero-dimensional view": zero_dimensional_view,
    "reshape in Fortran's order": lambda x: x.reshape((len(x), 3, 2), order="F").reshape(x.shape),
    "numbers are replaced": number_replaced,
    "an array to be recognised": lambda x: x * 2.0 if isinstance(x, np.ndarray) else x * 3.0,
    "a number to be recognised": lambda x: x * (2.0 if isinstance(x.sum(), float) and np.isscalar(x.sum()) else 3.0),
    "attributes that arrays have not": lambda x: x * 2.0 if hasattr(x, "low") or hasattr(x, "detach") else x * 3.0,
    "a condition beside float64": lambda x: (x > 0) * 0.5 + (x > 0.1) * x + np.maximum(x > 0, 0.25),
    "a condition as numbers": lambda x: (x > 0).astype(float).sum(axis=1, keepdims=True) + x,
    "masked softmax": lambda x: np.exp(np.where(np.tri(2, 3, dtype=bool), x, -np.inf) - x.max(axis=2, keepdims=True)),
    "decided if": lambda x: x * 2.0 if (x > -5).all() else -x,
    "decided index": lambda x: x * 2.0 + x[x > -5][0] * 0.0,
    "contains": lambda x: x * 2.0 if 77.0 in x else x * 3.0,
    "no difference, whatever comes before": increased(lambda x: np.diff(x, n=0, prepend=1.0)),
    "partitioned": increased(lambda x: np.partition(x, 1, axis=2)),
    "rounded": increased(lambda x: np.round(x, 1)),
    "pieces": increased(lambda x: np.piecewise(x, [x > -5], [lambda v: v])),
    "remainder in place": through(remainder_in_place),
    "quotient in place": through(quotient_in_place),
    "quotient and remainder": lambda x: sum(divmod(x, 0.3)) + sum(divmod(1.0, x + 2.0)),
    "order in pieces": lambda x: np.piecewise(x, [x > -5, x > -4], [1.0, lambda v: v * 2.0]),
    "function that is not called": lambda x: np.piecewise(x, [x > -5, x > 5], [np.tanh, lambda v: v[99]]),
    "methods": lambda x: x.round(1) + x.cumprod(axis=2) + np.float64(2.0) % (x + 3.0),
    "percentile decides": lambda x: x * 2.0 if np.isscalar(np.percentile(x, 30)) else x * 3.0,
    "percentile of a sequence": lambda x: x + np.percentile(x, 30, axis=(1, 2), keepdims=True),
}


@pytest.mark.parametrize("name", HELD)
def test_followed(name):
    low, high = (LOW[:1], HIGH[:1]) if name in ("zero-dimensional view", "numbers are replaced") else (LOW, HIGH)
    result = enclose(HELD[name], low, high)
    assert np.isfinite(result.low).all()
    assert_holds(HELD[name], result, low, high)


def caught(function, otherwise=lambda x: x * 0.0 + 7.0):
    def attempt(x):
        try:
            return function(x)
        except Exception:
            return otherwise(x)

    return attempt


def bare(x):
    try:
        return np.linalg.qr(x)[0] * 1.0 + np.zeros(x.shape)
    except:  # noqa: E722
        return x * 0.0 + 7.0


def loudly(x):
    with np.errstate(over="raise"):
        return 1 / np.exp(x * 1000)


def changed_condition(x):
    condition = x > -5
    condition.ravel()[0] = False
    return np.where(condition, x, 7.0)


def sliced_condition(x):
    some = (x > 0)[:, :1]
    some &= x[:, 1:] > 0
    return np.where(x > 0, x, 7.0) + np.where(some, 1.0, 0.0)


REFUSED = {
    "ravel, then written to": (written((0,), lambda x: x.ravel()), "may share memory with this one, or may not"),
    "reshape, then written to": (increased(lambda x: x.reshape(len(x), -1)), "may share memory"),
    "reshape of a transposed view": (increased(lambda x: x.T.reshape(3, -1)), "may share memory"),
    "reshape of a reshape": (increased(lambda x: x.reshape(-1).reshape(len(x), -1)), "may share memory"),
    "written to after a reshape": (kept_and_increased(lambda x: x.reshape(len(x), -1)), "may share memory"),
    "one of two views": (two_views, "may share memory"),
    "written to after ravel": (kept_and_increased(lambda x: x.T.ravel()), "may share memory"),
    "order K": (lambda x: x.ravel(order="K").reshape(x.shape) * 1.0, "takes the orders 'C' and 'F'; got 'K'"),
    "order A": (lambda x: np.reshape(x, x.shape, order="A"), "takes the orders 'C' and 'F'; got 'A'"),
    "order by position": (lambda x: x.flatten("K").reshape(x.shape), "takes the orders 'C' and 'F'; got 'K'"),
    "order of a copy": (lambda x: np.zeros_like(x, order="K") + x, "takes the orders 'C' and 'F'; got 'K'"),
    "pickled": (lambda x: pickle.loads(pickle.dumps(x)), "cannot be pickled"),
    "shape set": (through(lambda x: setattr(x, "shape", (len(x), 6))), "The attribute .shape of an interval array"),
    "difference of booleans": (lambda x: x + np.diff(x > 0, axis=2).any(), "np.diff of conditions is not supported"),
    "zeros like booleans": (lambda x: np.zeros_like(x > 0) + x, "np.zeros_like of conditions is not supported"),
    "full like booleans": (lambda x: np.full_like(x > 0, 2.5) * x, "np.full_like of conditions is not supported"),
    "einsum of booleans": (lambda x: np.einsum("bij->bi", x > 0)[..., None] * x, "np.einsum of conditions"),
    "sum of booleans": (lambda x: (x > 0).sum(axis=1, keepdims=True) * x, "np.sum of conditions is not supported"),
    "integers that wrap around": (
        lambda x: ((x > 0) * 2**40) * ((x > 0) * 2**40) / 2.0**80,
        "np.multiply would be of int64",
    ),
    "small integers": (lambda x: (x > -5) * np.uint8(200) + np.uint8(100) + x, "np.multiply would be of uint8"),
    "integers chosen": (lambda x: np.where(x > 0, 1, 2) ** 63 / 2.0, "np.where would be of int64"),
    "integers selected": (lambda x: np.select([x > 0], [1], 0) + x, "np.select would be of int64"),
    "conditions selected": (lambda x: np.select([x > 0], [x > 0.5], 3) * x, "choice between numbers and conditions"),
    "numbers as conditions": (lambda x: np.select([x], [x], 0.0), "np.select takes conditions made of booleans"),
    "ones of another type": (lambda x: np.ones_like(x, dtype=bool) * x, "Write np.ones(x.shape, …)"),
    "a decided condition changed": (changed_condition, "Conditions on intervals cannot be changed in place"),
    "a slice of a condition changed": (sliced_condition, "Write c = c & d instead of c &= d"),
    "caught": (caught(lambda x: x.view() * 1.0), "Intervals have no attribute .view"),
    "caught by itself": (bare, "np.linalg.qr is not supported on intervals"),
    "caught, NumPy's error": (caught(lambda x: x @ np.ones((2, 2))), "On intervals it raised ValueError: matmul"),
    "caught, undecided": (
        caught(lambda x: x * 1.0 if x.max() > HIGH.max() - 1e-3 else -x),
        "The condition is undecided",
    ),
    "default of getattr": (lambda x: x * 2.0 if getattr(x, "flags", None) is None else x, "no attribute .flags"),
    "hasattr": (lambda x: x * 2.0 if not hasattr(x, "strides") else x, "Intervals have no attribute .strides"),
    "method with unknown keywords": (caught(lambda x: x + x.sum(initial=3.0)), "does not take initial"),
    "rounded number": (caught(lambda x: x * round(x[0, 0, 0])), "An interval is not one number"),
    "number as a key": (caught(lambda x: {x[0, 0, 0]: x}.popitem()[1]), "An interval is not one number"),
    "nothing added": (lambda x: x + np.sum(x, where=False), "np.sum does not take where on intervals"),
    "from 0 on": (lambda x: x + np.max(x - 9.0, initial=False), "np.max does not take initial on intervals"),
    "nothing computed": (lambda x: np.exp(x, where=False) * 0.0, "np.exp does not take where on intervals"),
    "overwritten": (through(lambda x: np.median(x, overwrite_input=True)), "does not take overwrite_input"),
    "taken by a condition": (lambda x: np.take(np.array([5.0, -5.0]), x > 0), "np.take does not take intervals"),
    "rolled by a condition": (lambda x: np.roll(x, (x > 0)[0, 0, 0], axis=1), "by plain numbers where entries go"),
    "padded by a condition": (lambda x: np.pad(x, (x > 0)[0, 0, 0])[: len(x)], "np.pad on intervals takes a plain"),
    "clipped to a condition": (lambda x: np.clip(np.arange(3), x > 0, 2) + x, "np.clip of conditions"),
    "masked array": (lambda x: x + np.ma.array([1.0, 2.0, 3.0], mask=[True, False, False]), "mix with plain arrays"),
    "subclass": (lambda x: x * np.ones(3).view(np.recarray), "Intervals mix with plain arrays only; got recarray"),
    "errors that are raised": (caught(lambda x: loudly(x)), "np.errstate must stay at 'ignore'"),
    "weights that add up to 0": (
        caught(lambda x: np.average(x, axis=2, weights=[1.0, -1.0, 0.0])[..., None] + x),
        "On intervals it raised ZeroDivisionError: Weights sum to zero",
    ),
    "softmax of SciPy": (caught(lambda x: special.softmax(x, axis=2)), "scipy.special.softmax does not take intervals"),
    "each entry by itself": (caught(lambda x: np.vectorize(abs)(x)), "np.vectorize does not take intervals"),
    "undecided pieces": (
        caught(lambda x: np.piecewise(x, [x > 0.1], [np.tanh, np.abs])),
        "Write np.where(condition, f(x), g(x)).",
    ),
    "wrong percentage": (caught(lambda x: x + np.percentile(x, 101)), "it raised ValueError: Percentiles must be in"),
    "integers counted": (lambda x: x + np.count_nonzero(x > 0), "np.count_nonzero gives integers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    function, message = REFUSED[name]
    with pytest.raises(IntervalError) as caught:
        enclose(function, LOW, HIGH)
    assert message in str(caught.value)


UNKNOWN = {
    "arcsin decides": lambda x: np.where(np.arcsin(1.5 * x) >= 0, 1.0, 2.0),
    "fmin of a root": lambda x: np.fmin(np.sqrt(x), 0.5),
    "fmax of a logarithm": lambda x: np.fmax(np.log(x), -1.0),
    "clipped": lambda x: np.clip(np.arccosh(x + 1), 0.0, 1.0),
    "division": lambda x: np.fmin(np.arctan(0.1 / (x * x - 0.04)), 1.0),
    "negative power": lambda x: np.fmax(np.tanh((x - x.mean()) ** -1.0), 2.0),
    "infinities": lambda x: np.fmin(np.exp(x * 2000) - np.exp(x * 2000), 0.0),
    "zero times infinity": lambda x: np.fmin(np.maximum(x, 0.0) * np.exp(9000 * np.abs(x) + 900), -1.0),
    "sum of infinities": lambda x: x * 0.0 + np.fmin((np.sign(x) * 1e308).sum(axis=(1, 2), keepdims=True) * 9.0, 0.0),
    "product": lambda x: np.fmin(np.prod(np.exp(x * 2000), axis=1, keepdims=True), 0.5) + x,
    "matmul": lambda x: np.fmin((x * 1e300) @ (np.eye(3) * 1e300), 0.0),
    "sine": lambda x: np.fmin(np.sin(x * 1e308 * 10), 0.0),
    "where": lambda x: np.where(x > 0, np.sqrt(x), 0.0),
    "remainder": lambda x: np.fmin(1.0 % x, 0.5),
    "floor division": lambda x: np.clip(1.0 // x, -3.0, 3.0),
    "average": lambda x: x * 0.0 + np.fmin(np.average(x, axis=2, weights=x - 0.1, keepdims=True), 0.5),
    "quantile": lambda x: x * 0.0 + np.fmin(np.quantile(np.exp(x * 2000), 0.5, axis=2, keepdims=True), 0.5),
    "sinc": lambda x: np.fmin(np.sinc(np.exp(x * 2000)), 0.5),
    "xlogy": lambda x: np.fmin(special.xlogy(1.0, x), 0.5),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_nothing_is_known(name):
    result = enclose(UNKNOWN[name], LOW, HIGH)
    unknown = np.isinf(result.low) & np.isinf(result.high)
    assert unknown.any()
    assert np.array_equal(unknown.any(axis=(1, 2)), unknown.all(axis=(1, 2)))  # of whole boxes, not of entries
    assert "this box" in result.why_unknown
    assert_holds(UNKNOWN[name], result)


def test_other_boxes_are_known():
    """However the function turns its axes, only the boxes at fault are unknown."""
    low = np.full((300, 2, 3), 0.5)
    low[[7, 100, 299], 1, 2] = -0.5
    for root in (
        np.sqrt,
        lambda x: np.sqrt(x.T).T,
        lambda x: np.sqrt(x.reshape(-1)).reshape(x.shape),
        lambda x: np.sqrt(np.concatenate([x[0, 0], x.reshape(-1)]))[3:].reshape(x.shape),
    ):
        result = enclose(root, low, low + 0.1)
        unknown = np.isinf(result.low).any(axis=(1, 2))
        assert np.flatnonzero(unknown).tolist() == [7, 100, 299]
        assert str(low[7].tolist()) in result.why_unknown


def test_what_is_unknown_everywhere_ends():
    low = np.full((3000, 2, 3), -0.5)
    runs = []

    def hopeless(x):
        runs.append(len(x))
        return np.sqrt(np.concatenate([x[0, 0], x.reshape(-1)]))[3:].reshape(x.shape)

    result = enclose(hopeless, low, low)
    assert np.isinf(result.low).all()
    assert result.why_unknown is not None
    assert len(runs) <= boxes.MOST_RUNS + 1


def test_a_refusal_that_follows_from_an_unknown_step():
    low = np.array([[[-0.5]], [[0.5]]])
    result = enclose(lambda x: x * 1.0 if (np.sqrt(x) >= 0).all() else -x, low, low + 0.1)
    assert np.isinf(result.low[0]).all()
    assert np.isfinite(result.low[1]).all()


def test_views_are_read_only_as_in_numpy():
    for view in (lambda x: np.broadcast_to(x, (2, *x.shape)), lambda x: np.diagonal(x, axis1=1, axis2=2)):
        with pytest.raises(IntervalError, match="read-only"):
            enclose(increased(view), LOW, HIGH)


def test_looks_like_an_array():
    x = IntervalArray(LOW, HIGH)
    assert isinstance(x, np.ndarray)
    assert isinstance(x, IntervalArray)
    assert not isinstance(x, float)
    assert isinstance(x.sum(), np.float64)
    assert isinstance(x[0, 0, 0], float)
    assert isinstance(x[0, 0, 0, ...], np.ndarray)
    assert isinstance((x > 0).any(), np.bool_)
    with pytest.raises(AttributeError, match="'ndarray' object has no attribute 'detach'"):
        _ = x.detach
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


def test_one_thread_for_every_run():
    """Runs in several threads do not see each other; threads inside of a run are refused."""

    def task(at):
        function = np.sqrt if at % 2 else (lambda x: np.sqrt(np.square(x)))
        return np.isinf(enclose(function, LOW, HIGH).low).any()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(task, range(16))) == [False, True] * 8

    def in_another_thread(x):
        found = []
        attempt = caught(lambda y: np.fmin(np.sqrt(y), 1.0), otherwise=lambda y: LOW)
        thread = threading.Thread(target=lambda: found.append(attempt(x)))
        thread.start()
        thread.join()
        return found[0]

    with pytest.raises(IntervalError, match="in the call and the thread that it was made in"):
        enclose(in_another_thread, LOW, HIGH)


def test_a_run_within_a_run():
    def nested(x):
        inner = enclose(np.sqrt, LOW, HIGH)
        return x + float(np.isinf(inner.low).any())

    result = enclose(nested, LOW, HIGH)
    assert (result.low <= LOW + 1).all()
    assert result.why_unknown is None


def test_one_sequence_at_a_time():
    """A function of one sequence would mix the batch; and its first axis is that of the tokens."""

    def centred(x):
        return x - x.mean(axis=0)

    result = enclose_each(centred, LOW, HIGH)
    for low, high, least, greatest in zip(LOW, HIGH, result.low, result.high, strict=True):
        for x in (low, high, (low + high) / 2):
            assert ((least <= centred(x)) & (centred(x) <= greatest)).all()
    unknown = enclose_each(np.sqrt, LOW, HIGH)
    assert np.array_equal(np.isinf(unknown.low).all(axis=(1, 2)), (LOW < 0).any(axis=(1, 2)))
    assert "np.sqrt needs arguments" in unknown.why_unknown
    with pytest.raises(IntervalError, match=r"On the box from .* must return the shape of its argument, \(2, 3\)"):
        enclose_each(lambda x: x[0], LOW, HIGH)
