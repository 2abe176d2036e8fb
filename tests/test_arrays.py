"""Sequences that users give: taken as they are meant, or refused with what is wrong with them."""

from fractions import Fraction

import numpy as np
import pytest

from anyformer.arrays import as_sequences
from anyformer.errors import NetworkError, TargetError


@pytest.mark.parametrize(
    "x",
    [
        [[[1], [2], [3]]],
        np.array([[[1], [2], [3]]], dtype=np.float32),
        np.array([[[True], [2], [Fraction(3)]]], dtype=object),
    ],
)
def test_any_real_numbers_become_float64(x):
    sequences = as_sequences(x, tokens=3, width=1)
    assert sequences.dtype == np.float64
    assert sequences.tolist() == [[[1.0], [2.0], [3.0]]]


def test_float64_is_not_copied():
    x = np.zeros((2, 3, 1))
    assert as_sequences(x, 3, 1) is x


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros((3, 1)), r"must have shape \(batch, tokens, width\) = \(batch, 3, 1\); got \(3, 1\)"),
        (np.zeros((2, 1, 3)), r"got \(2, 1, 3\). Reshape the array"),
        ([[[0.0], [1.0], [0.0]], [[0.0], [np.inf], [0.0]]], r"must be finite; batch element 1 is \[\[0.0\], \[inf\]"),
        (np.zeros((1, 3, 1), dtype=complex), "must be real numbers in an array; got entries of type complex128"),
        ([[["a"], ["b"], ["c"]]], "must be real numbers in an array; got entries of type <U1"),
        ([[[1.0], [2.0]], [[3.0]]], "must be real numbers in an array"),
        ([[[{}], [1], [2]]], "must be real numbers in an array"),
    ],
)
def test_what_is_wrong_is_said(x, message):
    with pytest.raises(NetworkError, match=r"^sequences .*" + message):
        as_sequences(x, tokens=3, width=1)


def test_the_error_and_the_name_are_the_caller_s():
    with pytest.raises(TargetError, match=r"^the input must have shape"):
        as_sequences(np.zeros((3, 1)), 3, 1, TargetError, "the input")
