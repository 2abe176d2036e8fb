"""Numbers as people type them."""

import math

from anyformer.cli.failures import UsageError


def number_of(text: str) -> float:
    """The finite float that a text is; ValueError if it is none. Python's 1_000 is not how files write numbers.

    >>> number_of(" 2.5e-1 ")
    0.25
    """
    number = math.nan if "_" in text else float(text)
    if not math.isfinite(number):
        raise ValueError(f"not a finite number: {text!r}")
    return number


def numbers_of(text: str, what: str, exactly: int | None = None) -> list[float]:
    """The numbers of a list with commas; `what` names it in the message.

    >>> numbers_of("0.5, 1", "--low")
    [0.5, 1.0]
    """
    try:
        numbers = [number_of(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or (exactly is not None and len(numbers) != exactly):
        wanted = "finite numbers with commas between them" if exactly is None else f"{exactly} finite number(s)"
        raise UsageError(f"{what} must be {wanted}; got {text!r}.")
    return numbers


def sequence_of(text: str, tokens: int, width: int) -> list[list[float]]:
    """One sequence: numbers token by token, tokens apart by semicolons if one likes.

    >>> sequence_of("1, 2; 3, 4", tokens=2, width=2)
    [[1.0, 2.0], [3.0, 4.0]]
    """
    what = f"--input, {tokens} tokens of {width} number(s)"
    if ";" not in text:
        flat = numbers_of(text, what, exactly=tokens * width)
        return [flat[start : start + width] for start in range(0, len(flat), width)]
    parts = text.split(";")
    if len(parts) != tokens:
        raise UsageError(
            f"{what}, must have {tokens} parts with semicolons between them; got {len(parts)} in {text!r}."
        )
    return [numbers_of(part, what, exactly=width) for part in parts]
