"""JSON from anybody says everything once, in finite numbers, and not too deep; and all of the package reads it so."""

import ast
from pathlib import Path

import pytest

from anyformer import strict_json

PACKAGE = Path(__file__).parents[1] / "src" / "anyformer"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "b": 2, "a": 1}', "the key 'a' must be there once"),
        ('[{"x": {"tokens": 1, "tokens": 2}}]', "the key 'tokens' must be there once"),
        ('{"a": [1, {"b": NaN}]}', r"a\[1\]\.b must be a finite number; it is NaN"),
        ("[-Infinity]", r"\[0\] must be a finite number; it is -Infinity"),
        ("NaN", "the value must be a finite number"),
        ('{"a": 1e999}', "a must be a finite number; it is '1e999'"),
        ('{"n": ' + "9" * 401 + "}", "n must have at most 400 digits"),
        ("9" * 5000, "at most 400 digits"),
        ("[" * 65 + "]" * 65, "at most 64 deep"),
        ("[" * 100_000 + "]" * 100_000, "at most 64 deep"),
        ('{"a":' * 100_000, "at most 64 deep|Expecting value"),
        ("", "Expecting value"),
        ("\ufeff{}", "BOM"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        strict_json.loads(text)


def test_what_is_taken():
    assert strict_json.loads('{"a": [1, -2.5, null, true, {"b": "é"}]}') == {"a": [1, -2.5, None, True, {"b": "é"}]}
    assert strict_json.loads("[" * 64 + "]" * 64) == strict_json.loads("[" * 64 + "]" * 64)
    assert strict_json.loads("9" * 400) == 10**400 - 1


def test_files(tmp_path):
    file = tmp_path / "x.json"
    file.write_bytes(b'{"a": 1}')
    assert strict_json.read(file) == {"a": 1}
    with pytest.raises(ValueError, match="at most 7 bytes; it has 8"):
        strict_json.read(file, most=7)
    file.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(ValueError, match="utf-8"):
        strict_json.read(file)


def lenient_readers(source: str) -> list[int]:
    """The lines that read JSON by Python's own reader."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and node.attr in ("load", "loads", "JSONDecoder")
        and isinstance(node.value, ast.Name)
        and node.value.id == "json"
    ]


def test_everybody_reads_json_strictly():
    for path in PACKAGE.rglob("*.py"):
        if path.name != "strict_json.py":
            assert not lenient_readers(path.read_text()), path


def test_this_test_can_fail():
    assert lenient_readers("import json\nx = json.loads('1')\n") == [2]
    assert not lenient_readers("import json\nx = json.dumps('1')\n")
