"""Numbers as people type them."""

from anyformer.errors import UsageError
from anyformer.settings import number_of


def numbers_of(text: str, what: str) -> tuple[float, ...]:
    """The numbers of a list with commas; `what` names it in the message.

    >>> numbers_of("0.5, 1", "--low")
    (0.5, 1.0)
    """
    try:
        return tuple(map(number_of, text.split(",")))
    except ValueError:
        raise UsageError(f"{what} must be finite numbers with commas between them; got {text!r}.") from None


def sequence_of(text: str, tokens: int, width: int) -> list[list[float]]:
    """One sequence: numbers token by token, with semicolons between the tokens or without.

    >>> sequence_of("1, 2; 3, 4", tokens=2, width=2)
    [[1.0, 2.0], [3.0, 4.0]]
    """
    try:
        parts = [[number_of(number) for number in part.split(",")] for part in text.split(";")]
    except ValueError:
        parts = []
    if len(parts) == 1:
        parts = [parts[0][start : start + width] for start in range(0, len(parts[0]), width)]
    if len(parts) != tokens or any(len(part) != width for part in parts):
        raise UsageError(
            f"--input must be {tokens * width} finite numbers with commas between them, {width} for each of {tokens} "
            f"tokens; semicolons may stand between tokens. Got {text!r}."
        )
    return parts
