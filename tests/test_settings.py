"""Names with settings as people type them: read as they are meant, or refused with what is wrong."""

import pytest

from anyformer.errors import PatternError
from anyformer.settings import number_of, settings_of, split_name, value_of


@pytest.mark.parametrize(
    ("text", "name", "settings"),
    [
        ("ring", "ring", []),
        ("ring:", "ring", []),
        (" strided : stride=4 ,, seed=2 ", "strided", ["stride=4", "seed=2"]),
        ("entmax:1.5", "entmax", ["1.5"]),
        ("a:b:c=1", "a", ["b:c=1"]),
        ("a:b=(c:d=1,e=[2,{3,4}]), f=5", "a", ["b=(c:d=1,e=[2,{3,4}])", "f=5"]),
    ],
)
def test_the_name_ends_at_the_first_colon(text, name, settings):
    assert split_name(text) == (name, settings)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4),
        ("+4", 4),
        ("-4", -4),
        ("4.0", 4.0),
        (".5", 0.5),
        ("1e-3", 0.001),
        ("true", True),
        ("null", None),
        ("True", "True"),
        ("nan", "nan"),
        ("1e999", "1e999"),
        ("1_000", "1_000"),
        ("--4", "--4"),
        ("9" * 400, int("9" * 400)),
        ("9" * 5000, "9" * 5000),
        ("union", "union"),
    ],
)
def test_values_are_numbers_where_they_can_be(text, value):
    got = value_of(text)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (["4"], r"must read key=value, with commas between them; got '4'. Example: stride=4"),
        (["=4"], "must read key=value"),
        (["stride="], "must read key=value"),
        (["a=1", "b=2", "a=1"], "must be given once each; got 'a' twice"),
    ],
)
def test_settings_that_cannot_be_read(parts, message):
    with pytest.raises(PatternError, match=message):
        settings_of(parts, "stride=4", PatternError)


@pytest.mark.parametrize("text", ["", "x", "inf", "-nan", "1_0"])
def test_what_is_no_number(text):
    with pytest.raises(ValueError, match="float"):
        number_of(text)
