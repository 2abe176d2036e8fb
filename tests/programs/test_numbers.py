"""Numbers with doubts: compared with exact arithmetic on fractions."""

from fractions import Fraction

import numpy as np
import pytest

from anyformer.programs import numbers
from anyformer.programs.numbers import Number, enclosed, steady

SPECIAL = [
    0.0,
    1.0,
    -1.0,
    0.1,
    -0.3,
    3.0,
    2.0**-1074,
    -(2.0**-1060),
    2.0**-1022,
    1e-200,
    1e150,
    2.0**-600,
    1 / 3,
    7e-310,
]
DOUBTS = [0.0, 1e-17, 2.0**-1074, 1e-3]


def _exact_members(number: Number) -> list[Fraction]:
    """The extremes of what the exact number can be, and the value."""
    value, doubt = Fraction(float(number.value)), Fraction(float(number.doubt))
    return [value - doubt, value, value + doubt]


def _holds(number: Number, exact: Fraction) -> bool:
    return abs(Fraction(float(number.value)) - exact) <= Fraction(float(number.doubt))


@pytest.mark.parametrize("a", SPECIAL)
@pytest.mark.parametrize("b", SPECIAL)
def test_sums_and_products_hold_every_exact_result(a: float, b: float) -> None:
    for d in DOUBTS:
        for e in DOUBTS[:2]:
            first, second = Number(a, d), Number(b, e)
            for x in _exact_members(first):
                for y in _exact_members(second):
                    assert _holds(first + second, x + y)
                    assert _holds(first * second, x * y)


def test_arrays_are_numbers_entry_by_entry() -> None:
    rng = np.random.default_rng(0)
    a, b = Number(rng.normal(size=5), np.abs(rng.normal(size=5)) * 1e-9), Number(0.1)
    for made, exact in ((a + b, lambda x, y: x + y), (a * b, lambda x, y: x * y)):
        for k in range(5):
            x = Fraction(float(np.asarray(a.value)[k])) + Fraction(float(np.asarray(a.doubt)[k]))
            part = Number(float(np.asarray(made.value)[k]), float(np.asarray(made.doubt)[k]))
            assert _holds(part, exact(x, Fraction(0.1)))


def test_what_underflows_is_not_exact() -> None:
    assert (Number(1e-200) * Number(1e-200)).doubt > 0
    assert (Number(2.0**-1000) * Number(1.5 * 2.0**-74)).doubt > 0
    assert (Number(1.0, 1e-200) * Number(1e-200)).doubt > 0


def test_powers_of_two_and_zero_are_exact() -> None:
    assert (Number(0.1) * Number(-8.0)).doubt == 0
    assert (Number(0.0) * Number(0.1, 1e-3)).doubt == 0
    assert (Number(0.1, 1e-20) * Number(0.5)).doubt == 0.5e-20


def test_what_overflows_is_in_infinite_doubt() -> None:
    with np.errstate(all="ignore"):
        for made in (Number(1e308) + Number(1e308), Number(1e200) * Number(1e200)):
            assert not made.most_doubt < np.inf or not np.isfinite(made.value)
            assert not made.size < np.inf


def test_an_enclosure_holds_its_ends() -> None:
    rng = np.random.default_rng(1)
    for low, width in zip(
        rng.normal(size=200), np.abs(rng.normal(size=200)) * 10.0 ** rng.uniform(-18, 3, 200), strict=True
    ):
        high = float(low + width)
        number = enclosed(float(low), high)
        assert _holds(number, Fraction(float(low)))
        assert _holds(number, Fraction(high))


def test_steady_covers_the_spread() -> None:
    number = steady(Number(np.array([1.0, 1.0 + 2.0**-52, 1.0]), np.full(3, 1e-15)))
    assert number.is_steady
    assert all(_holds(number, Fraction(v) + Fraction(s * 1e-15)) for v in (1.0, 1.0 + 2.0**-52) for s in (-1, 1))
    assert not steady(Number(np.array([1.0, 2.0]))).is_steady


def test_the_test_sees_a_product_without_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "UNIT", 0.0)
    monkeypatch.setattr(numbers, "TINY", 0.0)
    assert not _holds(Number(0.1) * Number(0.1), Fraction(0.1) * Fraction(0.1))
