"""The steps that random programs are made of: what NumPy users do to arrays, and what they had better not do.

A step is drawn with a generator of random numbers and the variables of a run on plain arrays, which tell what fits. It
returns what is to be done to the variables of any run: arrays, interval arrays, arrays of fractions.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import special


@dataclass
class Variables:
    """The variables of a run, the argument first, and whether numbers are to be exact."""

    values: list
    exact: bool = False

    def number(self, value: float) -> Any:
        return Fraction(value) if self.exact else value

    def plain(self, array: np.ndarray) -> np.ndarray:
        return exactly(array) if self.exact else array.copy()


def exactly(array):
    """The same numbers as fractions."""
    fractions = np.empty(np.shape(array), dtype=object)
    fractions.flat = [Fraction(float(value)) for value in np.ravel(array)]
    return fractions


@dataclass
class Draw:
    """Chooses for a step among the variables of a plain run; a batch keeps its first axis apart."""

    rng: np.random.Generator
    values: list
    batch: int | None
    exact: bool = False

    def one(self, fits: Callable[[Any], bool]) -> int:
        found = [at for at, value in enumerate(self.values) if fits(value)]
        if not found:
            raise Unfit
        return int(found[self.rng.integers(len(found))] if self.rng.random() < 0.5 else found[-1])

    def floats(self) -> int:
        return self.one(lambda v: v.dtype.kind in "fO")

    def array(self, least: int = 1) -> int:
        return self.one(lambda v: v.dtype.kind in "fO" and v.ndim >= least and v.size)

    def condition(self) -> int:
        return self.one(lambda v: v.dtype == bool)

    def alike(self, at: int) -> int:
        return self.one(lambda v: v.dtype.kind in "fO" and np.shape(v) == np.shape(self.values[at]))

    def axis(self, at: int) -> int:
        first = 1 if self.keeps_batch(at) else 0
        axes = self.values[at].ndim
        if axes <= first:
            raise Unfit
        axis = int(self.rng.integers(first, axes))
        return axis - axes if self.rng.random() < 0.3 else axis

    def keeps_batch(self, at: int) -> bool:
        return self.batch is not None and self.values[at].ndim > 0

    def of(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def number(self) -> float:
        return float(self.rng.integers(-12, 13)) / 8

    def index(self, at: int) -> Any:
        """A basic index, more often than not; a list or a mask of numbers otherwise."""
        v = self.values[at]
        parts: list[Any] = [slice(None)] if self.keeps_batch(at) else []
        for size in v.shape[len(parts) :][: int(self.rng.integers(0, v.ndim + 1))]:
            parts.append(self.of(slice(None), slice(1, None), slice(None, None, -1), slice(0, -1), size // 2, -1))
        kind = self.rng.random()
        if kind < 0.1 and len(parts) < v.ndim:
            parts.append([0, v.shape[len(parts)] - 1])
        elif kind < 0.2 or not parts:
            parts.append(Ellipsis)
        elif kind < 0.25 and not self.keeps_batch(at):
            return self.rng.random(v.shape) < 0.5
        return tuple(parts)


class Unfit(Exception):
    """A step that the variables at hand do not allow."""


Step = Callable[[Variables], None]

ANYWHERE = {
    "negative": lambda v: -v,
    "abs": np.abs,
    "square": np.square,
    "squared": lambda v: v**2,
    "cube": lambda v: v**3,
    "positive": lambda v: +v,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "rint": np.rint,
    "exp": lambda v: np.exp(np.minimum(v, 5.0)),
    "expm1": lambda v: np.expm1(np.minimum(v, 5.0)),
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "arctan": np.arctan,
    "cbrt": np.cbrt,
    "arcsinh": np.arcsinh,
    "cosh": lambda v: np.cosh(np.clip(v, -4.0, 4.0)),
    "sigmoid": lambda v: 1 / (1 + np.exp(-np.clip(v, -9.0, 9.0))),
    "root": lambda v: np.sqrt(np.abs(v)),
    "root of a maximum": lambda v: np.sqrt(np.maximum(v, 0.0)),
    "log": lambda v: np.log(np.square(v) + 0.25),
    "log1p": lambda v: np.log1p(np.abs(v)),
    "bounded log": lambda v: np.maximum(np.log(np.abs(v)), -3.0),
    "round": lambda v: np.round(v),
    "real power": lambda v: np.abs(v) ** 1.5,
    "heaviside": lambda v: np.heaviside(v, 0.5),
    "round to decimals": lambda v: np.round(v, 1),
    "round method": lambda v: v.round(2) - v.round(),
    "remainder": lambda v: v % 0.75,
    "floor division": lambda v: v // 0.5,
    "divmod": lambda v: divmod(v, -1.25)[1],
    "fmod": lambda v: np.fmod(v, 0.5),
    "sinc": lambda v: np.sinc(v),
    "interp": lambda v: np.interp(v, [-1.0, -0.25, 0.5, 2.0], [0.5, -1.0, 2.0, 0.0]),
    "interp with outer values": lambda v: np.interp(v, [-0.5, 0.5], [1.0, 2.0], left=-3.0, right=7.0),
    "polyval": lambda v: np.polyval([0.5, -1.0, 0.25], v),
    "piecewise": lambda v: np.piecewise(v, [v < -0.5, v > 0.5], [-1.0, 2.0, 0.0]),
    "expit": lambda v: special.expit(v),
    "log_expit": lambda v: special.log_expit(v),
    "erf": lambda v: special.erf(v),
    "asks for the type": lambda v: v * 2.0 if isinstance(v, (np.ndarray, float)) else v * 3.0,
    "asks for the scalar": lambda v: v * 2.0 if np.isscalar(v) else v * 3.0,
    "asks for ends": lambda v: v * 2.0 if hasattr(v, "low") else v * 3.0,
    "adds rows": lambda v: sum(iter(v)) if v.ndim > 2 and len(v) == 1 else v,
}
RATIONAL = ("negative", "abs", "square", "cube", "positive", "squared")

PARTLY = {
    "arcsin": lambda v: np.arcsin(v),
    "arcsin decides": lambda v: np.where(np.arcsin(1.5 * v) >= 0, v, -2.0),
    "arccos": lambda v: np.arccos(v),
    "sqrt": np.sqrt,
    "least root": lambda v: np.fmin(np.sqrt(v), 1.0),
    "greatest log": lambda v: np.fmax(np.log(v), -1.0),
    "clipped log": lambda v: np.clip(np.log1p(v - 0.5), -1.0, 1.0),
    "log2": lambda v: np.log2(np.abs(v)),
    "arccosh": lambda v: np.fmax(np.arccosh(v + 1.5), 0.0),
    "arctanh": lambda v: np.tanh(np.arctanh(v)),
    "reciprocal": lambda v: 1 / v,
    "bounded reciprocal": lambda v: np.clip(np.reciprocal(v), -2.0, 2.0),
    "negative power": lambda v: np.tanh(v**-2),
    "power": lambda v: np.fmin(v**0.5, 3.0),
    "tan": lambda v: np.arctan(np.tan(v)),
    "where root": lambda v: np.where(v > 0.25, np.sqrt(v - 0.25), 0.0),
    "overflow": lambda v: np.fmin(np.exp(v * 900) - np.exp(v * 900), 1.0),
    "zero times overflow": lambda v: np.fmax(0.0 * np.exp(v * 900), -1.0),
    "remainder of all": lambda v: 1.5 % v,
    "floor division by all": lambda v: np.clip(2.0 // v, -9.0, 9.0),
    "xlogy": lambda v: np.fmin(special.xlogy(v, v), 1.0),
    "sinc of overflow": lambda v: np.fmin(np.sinc(np.exp(v * 900)), 1.0),
    "pieces with functions": lambda v: np.piecewise(v, [v > 0], [np.sqrt, np.abs]),
    "masked softmax": lambda v: np.exp(np.where(v > 0, v, -np.inf) - 1.0),
}

OF_TWO = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "smooth quotient": lambda a, b: a / (b * b + 1),
    "quotient": lambda a, b: a / b,
    "choice": lambda a, b: np.where(a < b, a, b * 2),
    "two choices": lambda a, b: np.select([a < 0, b > 0], [b, a], default=1.5),
    "clip": lambda a, b: np.clip(a, -np.abs(b), np.abs(b)),
    "power": lambda a, b: (np.abs(a) + 0.5) ** b,
    "hypot": np.hypot,
    "arctan2": np.arctan2,
    "copysign": np.copysign,
    "logaddexp": np.logaddexp,
    "remainder": lambda a, b: a % (np.abs(b) + 0.5),
    "floor division": lambda a, b: a // (np.abs(b) + 0.5),
    "fmod": lambda a, b: np.fmod(a, b - 4.0),
    "xlogy": lambda a, b: special.xlogy(a, np.abs(b)),
}
RATIONAL_OF_TWO = ("add", "subtract", "multiply", "maximum", "minimum", "smooth quotient", "choice", "clip")

COMPARISONS = [np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal]
LOGIC = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a, b: ~a,
    "logical": lambda a, b: np.logical_and(a, np.logical_not(b)),
    "added": lambda a, b: a + b,
    "where": lambda a, b: np.where(a, b, ~b),
}

REDUCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
    "var": np.var,
    "std": lambda v, **how: np.sqrt(np.var(v, **how) + 0.25),
    "median": np.median,
    "norm": lambda v, **how: np.linalg.norm(v, **how),
    "norm 1": lambda v, **how: np.linalg.norm(v, 1, **how),
    "ptp": np.ptp,
    "nanmean": np.nanmean,
    "nanvar": np.nanvar,
    "nanmedian": np.nanmedian,
    "average": np.average,
    "weighted average": lambda v, **how: np.average(v, weights=np.abs(v) + 0.5, **how),
    "signed average": lambda v, **how: np.average(v, weights=v, **how),
    "quantile": lambda v, **how: np.quantile(v, 0.3, **how),
    "percentile": lambda v, **how: np.percentile(v, [25, 60], **how)[1],
    "percentile, nearest": lambda v, **how: np.percentile(v, 60, method="nearest", **how),
    "log of a sum": lambda v, keepdims, axis: np.logaddexp.reduce(np.atleast_1d(v), axis=axis, keepdims=keepdims),
    "reduce": np.add.reduce,
    "method": lambda v, **how: v.max(**how) - v.sum(**how),
}
RATIONAL_REDUCTIONS = ("sum", "mean", "max", "min", "prod", "reduce")

ALONG = {
    "cumsum": np.cumsum,
    "cumprod": lambda v, axis: np.cumprod(np.clip(v, -1.5, 1.5), axis=axis),
    "running maximum": lambda v, axis: np.maximum.accumulate(v, axis=axis),
    "sort": np.sort,
    "partition": lambda v, axis: np.partition(v, v.shape[axis] // 2, axis=axis),
    "product so far": lambda v, axis: np.tanh(v).cumprod(axis=axis),
    "diff from 0": lambda v, axis: np.diff(v, axis=axis, prepend=0.0),
    "diff to the first": lambda v, axis: np.diff(v, axis=axis, append=np.take(v, [0], axis=axis)),
    "diff": lambda v, axis: np.diff(v, axis=axis),
    "no diff": lambda v, axis: np.diff(v, n=0, axis=axis),
    "flip": lambda v, axis: np.flip(v, axis=axis),
    "roll": lambda v, axis: np.roll(v, 1, axis=axis),
    "take": lambda v, axis: np.take(v, [0, -1], axis=axis),
    "repeat": lambda v, axis: np.repeat(v, 2, axis=axis),
    "expand": lambda v, axis: np.expand_dims(v, axis + 1 if axis >= 0 else axis),
    "concatenate": lambda v, axis: np.concatenate([v, v], axis=axis),
    "windows": lambda v, axis: sliding_window_view(v, min(2, v.shape[axis]), axis=axis),
    "last": lambda v, axis: np.moveaxis(v, axis, -1),
    "split": lambda v, axis: np.array_split(v, 2, axis=axis)[0],
    "pad": lambda v, axis: np.pad(v, [(0, 0)] * (v.ndim - 1) + [(1, 0)], constant_values=0.5),
    "edges": lambda v, axis: np.pad(v, [(0, 0)] * (v.ndim - 1) + [(1, 1)], mode="edge"),
    "broadcast": lambda v, axis: np.broadcast_to(v, (*v.shape[:1], *v.shape[1:])),
    "broadcast with another": lambda v, axis: np.broadcast_arrays(v, np.zeros(v.shape[-1:]))[0],
}
RATIONAL_ALONG = ("cumsum", "running maximum", "sort", "diff", "no diff", "flip", "roll", "take", "repeat", "expand")

# These need not keep the elements of a batch apart.
MOVES = {
    "ravel": np.ravel,
    "ravelled": lambda v: v.ravel(order="F"),
    "flatten": lambda v: v.flatten(),
    "reshape": lambda v: v.reshape(-1, v.shape[-1]),
    "reshape F": lambda v: np.reshape(v, (v.shape[-1], -1), order="F"),
    "same shape": lambda v: v.reshape(v.shape),
    "transpose": np.transpose,
    "T": lambda v: v.T,
    "squeeze": np.squeeze,
    "swap": lambda v: np.swapaxes(v, 0, -1),
    "row": lambda v: v[0],
    "whole": lambda v: v[...],
    "number": lambda v: v[(0,) * v.ndim],
    "view of a number": lambda v: v[(*(0,) * v.ndim, ...)],
    "atleast": np.atleast_3d,
    "vstack": lambda v: np.vstack([v, v]),
    "stack": lambda v: np.stack([v, v * 2]),
    "tile": lambda v: np.tile(v, 2),
    "rot90": lambda v: np.rot90(v, 1, (-2, -1)) if v.ndim > 1 else v[::-1],
    "diagonal": lambda v: np.diagonal(v, axis1=-2, axis2=-1) if v.ndim > 1 else v[1:],
    "triu": lambda v: np.triu(v),
    "einsum transposes": lambda v: np.einsum("...ij->...ji", v) if v.ndim > 1 else np.einsum("i->i", v),
    "einsum of a diagonal": lambda v: np.einsum("...ii->...i", v[..., :1, :1]) if v.ndim > 1 else v,
    "of all": lambda v: np.add(v.sum(), v.max()),
    "delete": lambda v: np.delete(v, 0, axis=-1) if v.shape[-1] > 1 else v.copy(),
    "append": lambda v: np.append(v, v),
    "unstacked": lambda v: list(v)[-1],
    "contains": lambda v: v * 2.0 if 77.0 in v else v,
}

COPIES = {
    "copy": lambda v: v.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "np.copy": np.copy,
    "astype": lambda v: v.astype(float),
    "astype without copy": lambda v: v.astype(float, copy=False),
    "zeros_like": lambda v: np.zeros_like(v) + v,
    "full_like": lambda v: np.full_like(v, 1.5),
}

CONTRACTIONS = {
    "weights": lambda v: v @ (np.arange(v.shape[-1] * 2.0).reshape(-1, 2) / 4 - 0.5),
    # Of two axes the first may be the batch, whose elements no function may mix.
    "gram": lambda v: v @ v.swapaxes(-1, -2) if v.ndim > 2 else v * v,
    "einsum": lambda v: np.einsum("...i,...i->...", v, v),
    "einsum of one": lambda v: np.einsum("...i->...", v),
    "outer": lambda v: np.einsum("...i,j->...ij", v, np.array([1.0, -0.5])),
    "dot": lambda v: np.dot(v, np.arange(v.shape[-1]) - 1.0),
    "tensordot": lambda v: np.tensordot(v, np.ones((v.shape[-1], 2)), 1),
    "integers": lambda v: v @ np.arange(v.shape[-1]),
    "inner": lambda v: np.inner(v, np.arange(2.0 * v.shape[-1]).reshape(2, -1) / 4 - 0.5),
}

# These do not keep the elements of a batch apart.
MIXING = {
    "inner of itself": lambda v: np.inner(v, v.reshape(-1)[: v.shape[-1]]),
    "convolve": lambda v: np.convolve(v.ravel(), [0.5, -1.0, 2.0], "same"),
    "convolve with itself": lambda v: np.convolve(v.reshape(-1), v.reshape(-1)[:2], "valid"),
    "outer of itself": lambda v: np.outer(v, v.reshape(-1)[:2]),
}

# What is refused on intervals, or was mistaken once.
TRAPS = {
    "sum of a condition": lambda v: np.sum(v > 0) / 2.0 + v,
    "difference of a condition": lambda v: v + np.diff((v > 0).ravel(), append=True)[0],
    "condition times an integer": lambda v: ((v > 0) * 200) / 2.0,
    "integers that wrap around": lambda v: ((v > 0) * 2**40) * ((v > 0) * 2**40) / 2.0**70,
    "integers chosen": lambda v: np.where(v > 0, 3, 2) ** 2 / 2.0,
    "zeros like a condition": lambda v: np.zeros_like(v > 0) + v,
    "full like a condition": lambda v: np.full_like(v > 0, 2.5) * v,
    "einsum of a condition": lambda v: np.einsum("...i->...", v > 0) * v.sum(),
    "fallback": lambda v: attempt(lambda: np.linalg.norm(v.view()), v * 0.0 + 7.0),
    "bare fallback": lambda v: attempt(lambda: np.asarray(v) * 1.0, v * 0.0 + 7.0),
    "flags": lambda v: v * 1.0 if hasattr(v, "flags") else v * 2.0,
    "as it lies": lambda v: v.ravel(order="K"),
    "if": lambda v: v * 1.0 if v.sum() > 0 else v * 2.0,
    "condition as index": lambda v: v[v > 0].sum() + v,
    "softmax": lambda v: attempt(lambda: special.softmax(v), v * 0.0 + 7.0),
    "plain array filled": lambda v: filled(np.zeros(v.shape), v),
    "condition changed": lambda v: changed(v > -50.0, v),
}


def attempt(function, otherwise):
    try:
        return function()
    except Exception:
        return otherwise


def filled(plain, v):
    plain[...] = v
    return plain


def changed(condition, v):
    """A decided condition, changed by way of its memory."""
    condition.ravel()[0] = False
    return np.where(condition, v, -2.0)


def of_one(draw: Draw, table: dict[str, Callable[[Any], Any]], names: Any = None) -> Step:
    function = table[draw.of(*(names or table))]
    at = draw.floats() if table in (ANYWHERE, PARTLY) else draw.array()
    return lambda run: run.values.append(function(run.values[at]))


def of_two(draw: Draw, names: Any = None) -> Step:
    function = OF_TWO[draw.of(*(names or OF_TWO))]
    first = draw.floats()
    second = draw.alike(first) if draw.rng.random() < 0.7 else None
    number = draw.number()

    def step(run: Variables) -> None:
        other = run.number(number) if second is None else run.values[second]
        run.values.append(function(run.values[first], other))

    return step


def with_plain(draw: Draw) -> Step:
    """Beside an array of numbers, integers or booleans."""
    at = draw.array()
    size = draw.values[at].shape[-1]
    plain = draw.of(np.arange(size) - 1, np.arange(size) / 4.0, np.arange(size) % 2 == 0, np.full(size, 2**60 + 1))
    function = draw.of(np.add, np.multiply, np.maximum, np.subtract)
    return lambda run: run.values.append(function(run.values[at], plain) / run.number(2.0))


def compare(draw: Draw) -> Step:
    function, first, number = draw.of(*COMPARISONS), draw.floats(), draw.number()
    second = draw.alike(first) if draw.rng.random() < 0.5 else None

    def step(run: Variables) -> None:
        other = run.number(number) if second is None else run.values[second]
        run.values.append(function(run.values[first], other))

    return step


def decide(draw: Draw) -> Step:
    """Use a condition: choose by it, combine it, count it, move it."""
    at = draw.condition()
    shape = np.shape(draw.values[at])
    other = draw.one(lambda v: v.dtype == bool and np.shape(v) == shape)
    number, name = draw.number(), draw.of(*LOGIC)
    uses: list[Callable[[Variables], Any]] = [
        lambda run: np.where(run.values[at], run.number(number), run.number(1.0)),
        lambda run: LOGIC[name](run.values[at], run.values[other]),
        lambda run: run.values[at] * run.number(number),
    ]
    if shape:
        axis = draw.axis(at)
        uses += [lambda run: np.any(run.values[at], axis=axis), lambda run: run.values[at].all(axis=axis)]
        uses += [lambda run: np.flip(run.values[at], axis=axis)]
    if not draw.exact:
        uses.append(lambda run: run.values[at].astype(float))
        uses.append(lambda run: run.values[at] / 2)
    use = draw.of(*uses)
    return lambda run: run.values.append(use(run))


def reduce(draw: Draw, names: Any = None) -> Step:
    function, at = REDUCTIONS[draw.of(*(names or REDUCTIONS))], draw.array()
    axis: Any = draw.axis(at)
    if draw.batch is None and draw.rng.random() < 0.25:
        axis = None
    keepdims = bool(draw.rng.random() < 0.5)
    return lambda run: run.values.append(function(run.values[at], axis=axis, keepdims=keepdims))


def along(draw: Draw, names: Any = None) -> Step:
    function, at = ALONG[draw.of(*(names or ALONG))], draw.array()
    axis = draw.axis(at)
    return lambda run: run.values.append(function(run.values[at], axis=axis))


def move(draw: Draw) -> Step:
    if draw.batch is not None:
        at = draw.array(2)
        how = draw.of(
            lambda v: v.reshape(len(v), -1), lambda v: v.swapaxes(1, -1), lambda v: v[:, ::-1], lambda v: v.T.copy().T
        )
        return lambda run: run.values.append(how(run.values[at]))
    return of_one(draw, MOVES)


def index(draw: Draw) -> Step:
    at = draw.array()
    where = draw.index(at)
    return lambda run: run.values.append(run.values[at][where])


def alias(draw: Draw) -> Step:
    """Another name for the same object: what is done to it in place shows under both, unless it is a number."""
    at = draw.floats()
    return lambda run: run.values.append(run.values[at])


def set_items(draw: Draw) -> Step:
    at = draw.array()
    where, number = draw.index(at), draw.number()
    inner = np.shape(draw.values[at][where])
    source = (
        draw.one(lambda v: v.dtype.kind in "fO" and np.shape(v) in (inner, ())) if draw.rng.random() < 0.5 else None
    )

    def step(run: Variables) -> None:
        run.values[at][where] = run.number(number) if source is None else run.values[source]

    return step


def in_place(draw: Draw) -> Step:
    at, number, operator = draw.floats(), draw.number(), draw.of("+", "-", "*", "/")
    source = draw.alike(at) if draw.rng.random() < 0.4 and operator != "/" else None
    number = number or 0.5

    def step(run: Variables) -> None:
        other = run.number(number) if source is None else run.values[source]
        target = run.values[at]
        if operator == "+":
            target += other
        elif operator == "-":
            target -= other
        elif operator == "*":
            target *= other
        else:
            target /= other
        run.values[at] = target

    return step


def in_place_on_part(draw: Draw) -> Step:
    at, number = draw.array(), draw.number()
    where = draw.index(at)

    def step(run: Variables) -> None:
        run.values[at][where] += run.number(number)

    return step
