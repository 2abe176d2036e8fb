import math

import numpy as np
import pytest

from anyformer.errors import TargetError
from anyformer.targets import UNIT_CUBE, Box, EntrywiseLipschitz, Lipschitz, Symmetry, Target, target

TOKENS, WIDTH = 3, 2


def declared(function, **changes):
    return target(function, **{"tokens": TOKENS, "width": WIDTH, "lipschitz": 2.0, "name": "mine", **changes})


def batch(size=4):
    return np.random.default_rng(3).random((size, TOKENS, WIDTH))


def test_a_target_keeps_the_rank_of_its_input():
    double = declared(lambda x: 2 * x)
    x = batch()
    assert (double(x) == 2 * x).all()
    assert (double(x[0]) == 2 * x[0]).all()
    assert double(x[:0]).shape == (0, TOKENS, WIDTH)
    assert double(x.astype(np.float32)).dtype == np.float64


def test_a_function_of_one_element_is_called_for_each():
    shapes = []

    def single(x):
        shapes.append(x.shape)
        return x + x[::-1]

    x = batch()
    assert (declared(single, vectorised=False)(x) == x + x[:, ::-1]).all()
    assert shapes == [(TOKENS, WIDTH)] * 4
    assert declared(single, vectorised=False)(x[1]).shape == (TOKENS, WIDTH)


@pytest.mark.parametrize("vectorised", [True, False])
def test_the_function_cannot_touch_the_callers_array_nor_the_caller_the_functions(vectorised):
    kept = []

    def mutating(x):
        x += 1
        kept.append(x)
        return x

    x = batch()
    before = x.copy()
    output = declared(mutating, vectorised=vectorised)(x)
    assert (x == before).all()
    assert (output == before + 1).all()
    output[:] = 7
    assert not (kept[0] == 7).any()


@pytest.mark.parametrize("vectorised", [True, False])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_reported_with_its_input(vectorised, value):
    x = batch()
    x[2, 1, 1] = 0.0
    with pytest.raises(TargetError) as caught:
        declared(lambda y: np.where(y == 0, value, y), vectorised=vectorised)(x)
    message = str(caught.value)
    assert "'mine' must return one finite number for every entry" in message
    assert f"At the input {x[2].tolist()!r} it returned {value} at token 1, coordinate 1" in message
    assert "Fix the function there" in message


@pytest.mark.parametrize("vectorised", [True, False])
def test_division_by_zero_is_reported_as_nan_not_as_a_warning(vectorised):
    with pytest.raises(TargetError, match="returned nan at token 0, coordinate 0"):
        declared(lambda x: (x - x) / (x - x), vectorised=vectorised)(batch())


@pytest.mark.parametrize("vectorised", [True, False])
def test_what_is_raised_is_reported_with_its_input_and_cause(vectorised):
    def fussy(x):
        if (x > 2).any():
            raise KeyError("too large")
        return x

    x = batch()
    x[3, 0, 1] = 2.5
    with pytest.raises(TargetError) as caught:
        declared(fussy, vectorised=vectorised)(x)
    assert f"At the input {x[3].tolist()!r} it raised KeyError: 'too large'. Fix" in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("function", "got"),
    [
        (lambda x: x[:, :2], r"it returned shape \(1, 2, 2\) for an argument of shape \(1, 3, 2\)"),
        (lambda x: 1.0, r"it returned shape \(\) "),
        (lambda x: None, "it returned NoneType of object entries, which are not real numbers"),
        (lambda x: x * 1j, "it returned ndarray of complex128 entries"),
        (lambda x: x.astype(str), "which are not real numbers"),
        (lambda x: [[1.0], [1.0, 2.0]], "it returned something that is not an array"),
    ],
)
def test_what_is_not_an_array_of_the_right_shape_is_reported(function, got):
    with pytest.raises(TargetError, match=got) as caught:
        declared(function)(batch())
    assert f"At the input {batch()[0].tolist()!r}" in str(caught.value)


def test_a_function_of_one_element_declared_vectorised_is_told_so():
    def single(x):
        tokens, width = x.shape
        return x.reshape(tokens, width)

    with pytest.raises(TargetError, match=r"raised ValueError.*take one \(tokens, width\).*vectorised=False"):
        declared(single)(batch())


def test_a_function_that_fails_on_batches_only_is_told_so():
    with pytest.raises(
        TargetError, match=r"On a batch of shape \(4, 3, 2\) it returned shape \(1, 3, 2\).*batch of one"
    ):
        declared(lambda x: x[:1])(batch())


@pytest.mark.parametrize("shape", [(3,), (2, 3), (5, 2, 3), (1, 4, 3, 2)])
def test_an_input_of_another_shape_is_refused(shape):
    with pytest.raises(TargetError, match=r"'mine' must have shape \(3, 2\) or \(batch, \*\(3, 2\)\); got"):
        declared(lambda x: x)(np.zeros(shape))


def test_an_input_that_is_not_numbers_is_refused():
    with pytest.raises(TargetError, match="must be numbers of shape"):
        declared(lambda x: x)([["a", "b"]] * 3)


def test_defaults_of_the_convenience_constructor():
    def thirds(x):
        return x / 3

    mine = target(thirds, tokens=4, lipschitz=1 / 3)
    assert mine == Target(thirds, 4, 1, Lipschitz(1 / 3), "thirds", UNIT_CUBE, Symmetry.EQUIVARIANT)
    assert (mine.domain, mine.vectorised, dict(mine.parameters), mine.evaluation_error) == (Box(), True, {}, 2.0**-40)
    modulus = EntrywiseLipschitz(np.ones((4, 1, 4, 1)))
    assert target(thirds, tokens=4, lipschitz=modulus).modulus is modulus
    assert target(np.vectorize(math.sin), tokens=4, lipschitz=1.0, name="sine").name == "sine"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"function": 3}, "function must be callable; got 3"),
        ({"tokens": 1}, "tokens must be at least 2; got 1"),
        ({"tokens": 2.5}, "tokens must be a whole number; got 2.5"),
        ({"width": 0}, "width must be at least 1; got 0"),
        ({"lipschitz": -1.0}, "not negative"),
        ({"domain": Box(low=(0.0, 0.0, 0.0))}, "got 3 floats for width 2"),
        ({"domain": Box(high=(1.0, 1.0, 1.0))}, "got 3 floats for width 2"),
        ({"lipschitz": EntrywiseLipschitz(np.ones((2, 3, 2, 3)))}, r"got \(3, 2\)"),
        ({"lipschitz": "3"}, "a Lipschitz constant must be numbers; got '3'"),
        ({"lipschitz": True}, "a Lipschitz constant must be numbers; got True"),
        ({"lipschitz": [1.0, 2.0]}, "must be one number.*Use EntrywiseLipschitz"),
        ({"domain": (0.0, 1.0)}, r"domain must be a Box or a CompactSupport; got \(0.0, 1.0\). Write Box\(low="),
        ({"domain": [0.0, 1.0]}, "domain must be a Box or a CompactSupport; got"),
        ({"domain": "unit cube"}, "domain must be a Box or a CompactSupport; got 'unit cube'"),
        ({"domain": None}, "domain must be a Box or a CompactSupport; got None"),
        ({"symmetry": None}, "symmetry must be Symmetry.EQUIVARIANT or Symmetry.NONE; got None. Take Symmetry.NONE"),
        ({"symmetry": "none"}, "symmetry must be Symmetry.EQUIVARIANT or Symmetry.NONE; got 'none'"),
        ({"name": 7}, "name must be a string; got 7"),
        ({"vectorised": "no"}, "vectorised must be True or False; got 'no'"),
        ({"evaluation_error": "small"}, "evaluation_error must be finite and not negative; got 'small'"),
        ({"evaluation_error": -1.0}, "evaluation_error must be finite and not negative; got -1.0"),
    ],
)
def test_faulty_declarations_are_refused(changes, message):
    with pytest.raises(TargetError, match=message):
        declared(**{"function": np.sin, **changes})


@pytest.mark.parametrize("modulus", [2.0, "Lipschitz", (Lipschitz(1.0),)])
def test_a_modulus_of_the_wrong_type_is_refused(modulus):
    with pytest.raises(TargetError, match=r"modulus must be a Lipschitz, an .* or None; got .*Write Lipschitz\(2.0\)"):
        Target(np.sin, 2, 1, modulus, "sine")


@pytest.mark.parametrize(
    ("dtype", "rounding"), [(np.float32, "float32, which rounds by up to 5.96e-08"), (np.float16, "float16, which")]
)
@pytest.mark.parametrize("vectorised", [True, False])
def test_numbers_of_lower_precision_are_refused(dtype, rounding, vectorised):
    with pytest.raises(TargetError, match=rounding) as caught:
        declared(lambda x: x.astype(dtype), vectorised=vectorised)(batch())
    assert "must return numbers as accurate as its evaluation_error, 9.09e-13 relative to 1 + |f|" in str(caught.value)
    assert "Compute in float64 (x.astype(np.float64)" in str(caught.value)


def test_numbers_of_lower_precision_are_taken_where_their_rounding_is_declared():
    x = batch()
    in_float32 = declared(lambda x: x.astype(np.float32), evaluation_error=2.0**-24)
    assert (in_float32(x) == x.astype(np.float32)).all()
    assert in_float32(x).dtype == np.float64
    with pytest.raises(TargetError, match=r"float16, which rounds by up to 0\.000488"):
        declared(lambda x: x.astype(np.float16), evaluation_error=2.0**-24)(x)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int64, np.uint64, np.longdouble])
def test_whole_numbers_and_more_precise_ones_are_taken(dtype):
    assert (declared(lambda x: (2 * x).astype(dtype))(batch()) == (2 * batch()).astype(dtype)).all()


def test_whole_numbers_that_float64_cannot_hold_are_rounded_within_the_error_declared():
    large = lambda x: np.full(x.shape, 2**53 + 1)  # noqa: E731
    assert (declared(large)(batch()) == 2.0**53).all()
    with pytest.raises(TargetError, match=r"It returned int64, which rounds by up to 1\.11e-16"):
        declared(large, evaluation_error=0.0)(batch())
    exact = declared(lambda x: np.full(x.shape, 1 - 2**53), evaluation_error=0.0)
    assert (exact(batch()) == 1 - 2.0**53).all()


@pytest.mark.parametrize("error", [-1.0, math.inf, math.nan])
def test_a_faulty_evaluation_error_is_refused(error):
    with pytest.raises(TargetError, match="evaluation_error must be finite and not negative"):
        Target(np.sin, 2, 1, Lipschitz(1.0), "sine", evaluation_error=error)


def test_parameters_are_a_copy_that_cannot_be_changed():
    parameters = {"sharpness": 3.0}
    mine = Target(np.sin, 2, 1, Lipschitz(1.0), "sine", parameters=parameters)
    parameters["sharpness"] = 4.0
    assert mine.parameters == {"sharpness": 3.0}
    with pytest.raises(TypeError):
        mine.parameters["sharpness"] = 5.0
    assert isinstance(hash(mine), int)
