from fractions import Fraction

import numpy as np
import vnnlib
from hypothesis import given
from hypothesis import strategies as st

from anyformer.exports.vnnlib.decimals import exact_decimal

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(FLOATS)
def test_every_digit_is_written(value):
    text = exact_decimal(value)
    assert Fraction(text) == Fraction(value)
    assert "e" not in text.lower()
    assert text.count(".") == 1
    assert float(text) == float(np.float32(text)) == value
    assert not text.startswith("-") or value < 0


@given(st.floats(width=32, min_value=-1e6, max_value=1e6))
def test_the_official_parser_reads_the_same_number(value):
    text = (
        "(vnnlib-version <2.0>)(declare-network n (declare-input X float32 [1]) (declare-output Y float32 [1]))"
        f"(assert (<= X[0] {exact_decimal(value)}))"
    )
    assert vnnlib.parse_query_string(text).assertions[0].expr.rhs.value == value
