"""What cannot be traced is refused in words: what must hold, and what to write instead. A caught refusal counts."""

import math

import numpy as np
import pytest
import scipy.special

from anyformer.errors import NotTraceable
from anyformer.intervals import conditions, supported
from anyformer.programs.tracing import calls, trace
from anyformer.programs.tracing.methods import ArrayMethods
from anyformer.programs.tracing.rules import refusals
from anyformer.programs.tracing.rules import supported as traced
from anyformer.programs.tracing.rules.elementwise import SPECIAL
from anyformer.targets import target
from anyformer.targets.target import Symmetry


def refusal(function, tokens=3, width=2, **declared):
    with pytest.raises(NotTraceable) as caught:
        trace(target(function, tokens=tokens, width=width, symmetry=Symmetry.NONE, name="mine", **declared))
    return str(caught.value)


def loop(x):
    return np.stack([row * 2 for row in x])


def branch(x):
    return x if x.mean(axis=(1, 2)) > 1 else -x


def assignment(x):
    y = np.zeros(x.shape)
    y[...] = x
    return y


def into_plain(x):
    y = np.ones(x.shape)
    y += x
    return y


def same_token_twice(x):
    y = x.copy()
    y[:, [1, 1]] = x[:, :2]
    return y


def not_cancelling(x):
    s = x @ x.swapaxes(1, 2)
    return (s - s.max(axis=-1, keepdims=True)).sum(axis=-1)[..., None] + x


def infinite_score(x):
    s = np.where(np.tri(3, dtype=bool), x @ x.swapaxes(1, 2), -np.inf)
    return s @ x


def not_normalised(x):
    return np.exp(x @ x.swapaxes(1, 2)) @ x


def over_queries(x):
    w = np.exp(x @ x.swapaxes(1, 2))
    return (w / w.sum(axis=1, keepdims=True)) @ x


def nothing_seen(x):
    w = np.exp(np.where(np.tri(3, k=-1, dtype=bool), x @ x.swapaxes(1, 2), -np.inf))
    return (w / w.sum(axis=-1, keepdims=True)) @ x


def multiplied_scores(x):
    w = np.exp(np.cos(np.arange(9.0)).reshape(3, 3) * (x @ x.swapaxes(1, 2)))
    return (w / w.sum(axis=-1, keepdims=True)) @ x


SENTENCES = {
    "if": (branch, "neither true nor false"),
    "float": (lambda x: x * float(x[0, 0, 0]), "batch axis can be indexed by `:` only"),
    "math": (lambda x: x * math.exp(x), "is not one number"),
    "int": (lambda x: x * int(x.mean(axis=(1, 2))), "is not one number"),
    "tolist": (lambda x: np.array(x.tolist()), "is not one number"),
    "item": (lambda x: x * x.item(), "is not one number"),
    "loop over the batch": (loop, "A loop over the batch"),
    "asarray": (lambda x: np.asarray(x) * 2, "cannot become a plain one"),
    "array": (lambda x: np.array([x, x])[0], "cannot become a plain one"),
    "assignment": (assignment, "cannot become a plain one"),
    "in place into a plain array": (into_plain, "a plain array cannot hold traced numbers"),
    "SciPy": (lambda x: scipy.special.softmax(x, axis=1), "scipy.special.softmax cannot be traced: it makes plain"),
    "vectorize": (lambda x: np.vectorize(math.sin)(x), "it makes plain arrays of its arguments"),
    "batch index": (lambda x: x - x[:1], "batch axis can be indexed by `:` only"),
    "batch sum": (lambda x: x - x.sum(axis=0), "np.sum over the batch axis mixes sequences"),
    "sum of all": (lambda x: x - x.sum(), "Name the axes: axis=1 for the tokens"),
    "flattened": (lambda x: x.reshape(-1, 2).reshape(x.shape), "would join or cut the axis of the batch"),
    "split tokens": (lambda x: x.reshape(x.shape[0], -1).reshape(x.shape), "would join or cut the axis"),
    "a condition as a number": (lambda x: x + (x > 0.5), "Conditions are no numbers"),
    "a condition as an index": (lambda x: x[x > 0.5], "A condition cannot be an index"),
    "equality": (lambda x: np.where(x == 0.5, x, -x), "Compare with < or >"),
    "sign": (lambda x: np.sign(x), "np.sign cannot be traced: it jumps"),
    "round": (lambda x: x.round(1), "np.round cannot be traced: it jumps"),
    "argmax": (lambda x: x + x.argmax(axis=1, keepdims=True), "np.argmax cannot be traced: which entry it names"),
    "argsort": (lambda x: np.argsort(x, axis=1), "Use the values instead: np.sort"),
    "unknown": (lambda x: np.unwrap(x, axis=1), "np.unwrap is not supported in traced functions"),
    "unknown ufunc": (lambda x: np.gcd(x, 2), "np.gcd is not supported in traced functions"),
    "fft": (lambda x: np.fft.fft(x, axis=1).real, "np.fft.fft is not supported in traced functions"),
    "where alone": (lambda x: np.where(x > 0), "Give it both branches"),
    "out": (lambda x: np.exp(x, out=x), "a plain array cannot hold traced numbers"),
    "where keyword": (lambda x: np.exp(x, where=np.array([True, False])), "does not take where"),
    "float32": (lambda x: x.astype(np.float32), "Traced arrays are of float64 and stay so"),
    "dtype": (lambda x: x.sum(axis=1, keepdims=True, dtype=np.float32) + x, "is traced in float64 only"),
    "sort in place": (lambda x: x.sort(axis=1), "Write x = np.sort"),
    "attribute": (lambda x: x.strides, "A traced array has no attribute .strides"),
    "set attribute": (lambda x: setattr(x, "shape", (3, 2)), "attribute .shape of a traced array cannot be set"),
    "peak": (not_cancelling, "maximum over a pair of tokens must cancel"),
    "infinity": (infinite_score, "can be traced only as scores of a softmax"),
    "not normalised": (not_normalised, "divided by their own sum over the keys"),
    "normalised over queries": (over_queries, "divided by their own sum over the keys"),
    "no key": (nothing_seen, "the mask hides all keys from token 0"),
    "multiplied scores": (multiplied_scores, "Add it instead, as a bias"),
    "NaN": (lambda x: x + np.nan, "constants must be finite; got nan"),
    "infinite constant": (lambda x: x * np.inf, "constants must be finite; got inf"),
    "complex": (lambda x: x * 1j, "numbers that meet a traced array must be real"),
    "batch constant": (lambda x: x + np.arange(x.shape[0])[:, None, None], "same for all elements of the batch"),
    "swapped result": (lambda x: x.swapaxes(1, 2), "must return the shape of its argument"),
    "nothing": (lambda x: None, "must return the shape of its argument"),
    "two index arrays": (lambda x: x[:, [0, 1, 2], [0, 1, 0]][..., None] + x, "One index array at a time"),
    "a traced index": (lambda x: np.arange(3.0)[x], "A traced array cannot be an index"),
    "same token twice": (same_token_twice, "the same token twice"),
    "cumprod": (lambda x: np.cumprod(x, axis=1), "np.cumprod cannot be traced"),
    "log of a negative constant": (lambda x: x + np.log(x[:, :1] * 0 - 1), "log has no value at -1.0"),
    "pickle": (lambda x: __import__("copy").copy(x).__reduce_ex__(2), "cannot be pickled"),
    "hash": (lambda x: {x: 1}, "unhashable type"),
    "in": (lambda x: x if 0.5 in x else -x, "neither true nor false"),
}


@pytest.mark.parametrize(("function", "sentence"), SENTENCES.values(), ids=SENTENCES.keys())
def test_the_sentence(function, sentence):
    said = refusal(function)
    assert said.startswith("The target 'mine' cannot be made a program: ")
    assert sentence in said


def test_the_interval_arrays_table_is_covered():
    """Every function that intervals follow can be traced, or is refused with its own reason."""
    functions = {*supported.RULES, *supported.DIRECT, *supported.UNORDERED}
    assert len(functions) > 100
    assert functions <= traced.FUNCTIONS.keys() | refusals.REFUSED_FUNCTIONS.keys()
    ufuncs = {*supported.ELEMENTWISE, *conditions.LOGIC, *conditions.BITWISE}
    assert ufuncs <= traced.UFUNCS.keys() | refusals.REFUSED_UFUNCS.keys()
    assert supported.SPECIAL.keys() == SPECIAL.keys() | refusals.REFUSED_SPECIAL.keys()


def test_nothing_is_both_traced_and_refused():
    assert not traced.FUNCTIONS.keys() & refusals.REFUSED_FUNCTIONS.keys()
    assert not traced.UFUNCS.keys() & refusals.REFUSED_UFUNCS.keys()
    assert not SPECIAL.keys() & refusals.REFUSED_SPECIAL.keys()


@pytest.mark.parametrize("ufunc", refusals.REFUSED_UFUNCS, ids=lambda one: one.__name__)
def test_refused_ufuncs(ufunc):
    said = refusal(lambda x: ufunc(*[x > 0 if "xor" in ufunc.__name__ else x] * ufunc.nin))
    assert refusals.REFUSED_UFUNCS[ufunc].removesuffix(".") in said


@pytest.mark.parametrize("function", refusals.REFUSED_FUNCTIONS, ids=lambda one: one.__name__)
def test_refused_functions(function):
    run = None
    with pytest.raises(NotTraceable, match="cannot be traced: ") as caught:
        calls.call_function(run, function, (None,), {})
    assert refusals.REFUSED_FUNCTIONS[function] in str(caught.value)


def test_methods_stand_for_functions_in_the_table():
    known = traced.FUNCTIONS.keys() | refusals.REFUSED_FUNCTIONS.keys()
    named = {name: value.__doc__ for name, value in vars(ArrayMethods).items() if callable(value) and value.__doc__}
    standing = {name for name, text in named.items() if text.startswith("np.")}
    assert len(standing) > 20
    for name in standing - {"flatten"}:
        assert getattr(np, name) in known, name
