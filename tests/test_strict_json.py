"""JSON from anybody says everything once, in finite numbers, and not too deep; and all of the package reads it so."""

import ast
import json
from pathlib import Path

import pytest

from anyformer import strict_json
from anyformer.errors import TargetError

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


def test_floats_come_back_with_every_bit():
    value = ((0.1, -0.0), (5e-324,), 1.7976931348623157e308)
    assert repr(strict_json.from_hex(strict_json.loads(json.dumps(strict_json.to_hex(value))))) == repr(value)


@pytest.mark.parametrize("value", [1, "0.5", None, (0.5, "x")])
def test_only_floats_are_written_as_floats(value):
    with pytest.raises(TypeError, match="a float or a sequence of floats must be written"):
        strict_json.to_hex(value)


@pytest.mark.parametrize("data", [0.5, "x", "0x1p9999", None, ["0x1p0", 2]])
def test_other_floats_are_refused_with_the_caller_s_error(data):
    with pytest.raises(TargetError, match="a float must be written as"):
        strict_json.from_hex(data, TargetError)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], r"it must be a JSON object whose \"kind\" is one of box, list; got \[\]"),
        ({"kind": "bag"}, "is one of"),
        ({"kind": ["box"]}, "is one of"),
        ({"kind": "box", "low": 1}, r"a 'box' must have the keys \['high', 'kind', 'low'\]; got \['kind', 'low'\]"),
    ],
)
def test_objects_of_no_known_kind(data, message):
    with pytest.raises(TargetError, match=message):
        strict_json.tagged(data, {"box": ("low", "high"), "list": ()}, "it", TargetError)


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
        if path.parent.name != "strict_json":
            assert not lenient_readers(path.read_text()), path


def test_this_test_can_fail():
    assert lenient_readers("import json\nx = json.loads('1')\n") == [2]
    assert not lenient_readers("import json\nx = json.dumps('1')\n")
