"""How sources are written on a command line: a name, and options after a question mark."""

from collections.abc import Iterable
from urllib.parse import parse_qsl

from anyformer.errors import TrainingError


def split_source(source: str) -> tuple[str, dict[str, str]]:
    """The name and the options of a source.

    >>> split_source("sick.tsv.xz?split=train,trial")
    ('sick.tsv.xz', {'split': 'train,trial'})
    """
    name, sign, query = source.partition("?")
    try:
        options = dict(parse_qsl(query, strict_parsing=True)) if sign else {}
    except ValueError as error:
        raise TrainingError(
            f"options after ? must read name=value, separated by &; got {query!r} in {source!r}."
            " Example: hub:owner/name?config=en&split=train."
        ) from error
    return name, options


def allow_options(source: str, options: dict[str, str], allowed: Iterable[str]) -> None:
    """Refuse options that would have no effect."""
    for option in options:
        if option not in (known := tuple(allowed)):
            raise TrainingError(f"{source!r} must get no options but {', '.join(known)}; got {option!r}. Leave it out.")
