import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyformer.reports.terminal import DAY, HOUR, MICROSECOND, MINUTE, YEAR, duration, number, rounded, size

UNITS = {"µs": MICROSECOND, "s": 1.0, "min": MINUTE, "hours": HOUR, "days": DAY, "years": YEAR}


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        *((0.0, "0 s"), (3e-7, "0.3 µs"), (2.4e-6, "2.4 µs"), (0.00043, "430 µs"), (0.0043, "0.0043 s")),
        *((0.043, "0.043 s"), (9.96, "10 s"), (90, "90 s"), (110.4, "110 s"), (119.6, "120 s")),
        *((120, "2 min"), (6100, "102 min"), (7200, "2 hours"), (1e6, "11.6 days"), (4e7, "463 days")),
        *(
            (1e9, "31.7 years"),
            (1e12, "31,688 years"),
            (1e30, "over 1,000,000 years"),
            (math.inf, "over 1,000,000 years"),
        ),
    ],
)
def test_durations(seconds, shown):
    assert duration(seconds) == shown


@given(st.floats(min_value=-7.0, max_value=13.0))
def test_a_duration_has_no_exponent_and_is_true_to_two_digits(power):
    """Two digits: off by at most half a unit in the second, 5 %. Whole numbers of years have commas."""
    seconds = 10.0**power
    value, unit = duration(seconds).split()
    assert set(value) <= set("0123456789.,")
    assert float(value.replace(",", "")) * UNITS[unit] == pytest.approx(seconds, rel=0.05)


@given(st.floats(min_value=1e-12, max_value=1e15), st.integers(min_value=2, max_value=6), st.sampled_from((1, -1)))
def test_rounding_keeps_the_digits_asked_for(value, digits, sign):
    shown = rounded(sign * value, digits)
    assert "e" not in shown
    assert float(shown.replace(",", "")) == pytest.approx(sign * value, rel=0.51 * 10.0 ** (1 - digits))


def test_sizes_and_numbers():
    assert [size(n) for n in (999, 1e6, 5e9, 3.25e15)] == ["999 bytes", "1.0 MB", "5.0 GB", "3,250.0 TB"]
    assert number(1e-7) == "1e-07"
    assert [rounded(value, 3) for value in (0.0, math.inf, -0.5)] == ["0", "inf", "-0.5"]
