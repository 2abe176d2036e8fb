"""Functions in plain NumPy, each with a constant, that intervals may misread."""

import copy
from collections.abc import Callable

import numpy as np

Program = Callable[[np.ndarray], np.ndarray]


def _in_place_on_ravel(c: float) -> Program:
    def function(x):
        y = x.copy()
        row = y.ravel()
        row *= c
        return y

    return function


def _in_place_on_reshape(c: float) -> Program:
    def function(x):
        y = x * 1.0
        flat = y.reshape(len(y), -1)
        flat += c
        return y

    return function


def _written_reshape(c: float) -> Program:
    def function(x):
        y = np.zeros_like(x)
        flat = y.reshape(-1)
        flat[...] = c
        return y + 0 * x

    return function


def _shallow_copy(c: float) -> Program:
    def function(x):
        y = copy.copy(x)
        y *= 0.0
        y += c
        return x + 0 * y

    return function


def _deep_copy(c: float) -> Program:
    def function(x):
        y = copy.deepcopy(x)
        y += c
        return x

    return function


def _difference_of_conditions(c: float) -> Program:
    def function(x):
        jumps = np.diff(x > c, axis=1)
        return np.where(jumps, 1.0, 0.0) + 0 * x

    return function


def _zeros_like_condition(c: float) -> Program:
    def function(x):
        seen = np.zeros_like(x > c)
        seen[...] = 2.5
        return seen + 0 * x

    return function


def _full_like_condition(c: float) -> Program:
    return lambda x: np.full_like(x > c, 0.5 + c) * 1.0 + 0 * x


def _full_like_whole(c: float) -> Program:
    return lambda x: np.full_like(x, 0.5 + c, dtype=int) + 0 * x


def _einsum_of_conditions(c: float) -> Program:
    def function(x):
        return (
            np.einsum("btw->bt", x > c)[..., None] * 1.0 + np.einsum("btw,bsw->bt", x > c, x > -1.0)[..., None] + 0 * x
        )

    return function


def _select_of_numbers(c: float) -> Program:
    return lambda x: np.select([x > c, x > c / 2], [x > 2.0, 3 * x], 0.0) + 0 * x


def _select_of_conditions(c: float) -> Program:
    return lambda x: np.select([x > c, x <= c], [x > -1.0, x > -2.0], default=2) * 1.0


def _arcsine_beyond(c: float) -> Program:
    return lambda x: np.where(np.arcsin((1 + c) * x) >= 0, 1.0, 0.0)


def _root_beyond(c: float) -> Program:
    return lambda x: np.where(np.sqrt(x - c) >= 0, 1.0, 0.0)


def _logarithm_beyond(c: float) -> Program:
    return lambda x: np.where(np.log(x - c) < 100, 1.0, 0.0)


def _smaller_of_nothing(c: float) -> Program:
    return lambda x: np.fmin(np.arcsin((1 + c) * x), 5.0)


def _larger_of_nothing(c: float) -> Program:
    return lambda x: np.fmax(np.log(x - c), -7.0)


def _arccosine_beyond(c: float) -> Program:
    return lambda x: np.where(np.arccosh(x + 1 - c) >= 0, 1.0, 0.0)


def _order_in_memory(c: float) -> Program:
    return lambda x: np.ravel(np.swapaxes(x, 0, 1) * 1.0, order="K").reshape(x.shape) * (1 + c)


def _order_of_fortran(c: float) -> Program:
    return lambda x: np.ravel(x * (1 + c), order="A").reshape(x.shape, order="A")


def _order_kept(c: float) -> Program:
    return lambda x: np.copy(x, order="K").reshape(-1).reshape(x.shape) * (1 + c)


def _attempt(c: float) -> Program:
    def function(x):
        try:
            first = float(x.ravel()[0])
        except Exception:
            return 0 * x
        return 0 * x + (c if first == first else 0.0)

    return function


def _attempt_argmax(c: float) -> Program:
    def function(x):
        try:
            top = np.argmax(x, axis=1, keepdims=True)
        except Exception:
            return 0 * x
        return c * top + 0 * x

    return function


def _kind_of_array(c: float) -> Program:
    return lambda x: x * c if isinstance(x, np.ndarray) else 0 * x


def _has_attribute(c: float) -> Program:
    return lambda x: x * c if hasattr(x, "strides") else 0 * x


def _shared_memory(c: float) -> Program:
    def function(x):
        y = x * 1.0
        z = y[:, ::-1]
        z *= 1 + c
        y += z
        return y

    return function


def _broadcast_view(c: float) -> Program:
    return lambda x: np.broadcast_to(np.mean(x, axis=1, keepdims=True), x.shape) * c


def _rounded(c: float) -> Program:
    return lambda x: np.round(x * (1 + c)) + np.floor(x + c) + np.sign(x - c)


def _whole_powers(c: float) -> Program:
    return lambda x: np.power(x - c, 3) + (x - c) ** 0 + np.abs(x) ** c


def _truth_in_arithmetic(c: float) -> Program:
    return lambda x: (x > c) * 2.0 - (x > c / 2) + np.sum(x > c, axis=1, keepdims=True)


def _difference_of_truths(c: float) -> Program:
    return lambda x: ((x > c) ^ (x > 2 * c)) * 1.0 + np.add(x > c, x > -1.0) * 1.0


def _remainder(c: float) -> Program:
    return lambda x: np.mod(x, c) + np.fmod(x, c)


def _clip_crossed(c: float) -> Program:
    return lambda x: np.clip(x, c + 0.2, c - 0.2)


def _where_of_nan(c: float) -> Program:
    return lambda x: np.nan_to_num(np.sqrt(x - c), nan=3.0)


def _is_nan(c: float) -> Program:
    return lambda x: np.where(np.isnan(np.sqrt(x - c)), 1.0, 0.0)


def _finite(c: float) -> Program:
    return lambda x: np.where(np.isfinite(np.log(np.maximum(x - c, 0.0))), 1.0, 0.0)


PROGRAMS = [
    _in_place_on_ravel,
    _in_place_on_reshape,
    _written_reshape,
    _shallow_copy,
    _deep_copy,
    _difference_of_conditions,
    _zeros_like_condition,
    _full_like_condition,
    _full_like_whole,
    _einsum_of_conditions,
    _select_of_numbers,
    _select_of_conditions,
    _arcsine_beyond,
    _root_beyond,
    _logarithm_beyond,
    _smaller_of_nothing,
    _larger_of_nothing,
    _arccosine_beyond,
    _order_in_memory,
    _order_of_fortran,
    _order_kept,
    _attempt,
    _attempt_argmax,
    _kind_of_array,
    _has_attribute,
    _shared_memory,
    _broadcast_view,
    _rounded,
    _whole_powers,
    _truth_in_arithmetic,
    _difference_of_truths,
    _remainder,
    _clip_crossed,
    _where_of_nan,
    _is_nan,
    _finite,
]
