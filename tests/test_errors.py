import doctest

import pytest

from anyformer import errors
from anyformer.errors import raised, words_of


def test_docstring_examples_run():
    failed, attempted = doctest.testmod(errors)
    assert (failed, attempted > 0) == (0, True)


@pytest.mark.parametrize(
    ("error", "words", "with_type"),
    [
        (ValueError("too large."), "too large", "ValueError: too large"),
        (ValueError("too large"), "too large", "ValueError: too large"),
        (ValueError("and so on... "), "and so on", "ValueError: and so on"),
        (KeyError("key."), "'key.'", "KeyError: 'key.'"),
        (OSError(2, "No such file", "x.toml"), "[Errno 2] No such file: 'x.toml'", None),
        (RuntimeError(), "RuntimeError", "RuntimeError"),
        (RuntimeError("..."), "RuntimeError", "RuntimeError"),
    ],
)
def test_what_others_say_stands_within_a_sentence(error, words, with_type):
    assert words_of(error) == words
    assert with_type is None or raised(error) == with_type
