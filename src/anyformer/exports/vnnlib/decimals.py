"""Numbers as decimals that lose nothing.

Every number in our properties is a float32 number, and a binary fraction is a finite decimal: all its digits are
written. So it does not matter whether a tool reads it as a float32, as a float64 or as a fraction. VNN-LIB 2.0 has no
exponents, and takes a number without a point for an integer.
"""

from decimal import Context, Decimal

# Enough for the smallest float32; the conversion itself is exact.
_DIGITS = Context(prec=200)


def exact_decimal(value: float) -> str:
    """All digits of a finite number.

    >>> exact_decimal(0.1), exact_decimal(-3.0), exact_decimal(2.0**-20)
    ('0.1000000000000000055511151231257827021181583404541015625', '-3.0', '0.00000095367431640625')
    """
    text = format(_DIGITS.create_decimal(Decimal(value + 0.0)), "f")
    return text if "." in text else f"{text}.0"
