"""What was measured, as data, text, pictures and a page."""

import json
from pathlib import Path

import numpy as np
import pytest

from anyformer.contextuality import measure_contextual_mapping
from anyformer.errors import ContextualityError
from anyformer.reports.contextuality.data import context_data
from anyformer.reports.contextuality.page import context_page
from anyformer.reports.contextuality.view import context_view
from anyformer.targets.target import Symmetry
from tests.reports.rendering import render

TABLE = np.random.default_rng(0).normal(size=(30, 5))


def layers(ids):
    x = TABLE[ids] + np.sin(np.arange(ids.shape[1]))[:, None]
    return [TABLE[ids], x + (x * np.arange(1, ids.shape[1] + 1)[:, None]).sum(axis=1, keepdims=True)]


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(1)
    rows = [rng.integers(0, 30, 9) for _ in range(12)]
    return measure_contextual_mapping(layers, [*rows, rows[0]])


def test_the_data_are_json_and_complete(found):
    data = json.loads(json.dumps(context_data(found), allow_nan=False))
    assert data["sequences"] == 12
    assert data["repeated"] == 1
    assert data["contextual_layers"] == ["layer 1"]
    assert [layer["verdict"] for layer in data["layers"]] == ["not_contextual", "contextual"]
    for layer, one in zip(data["layers"], found.layers, strict=True):
        assert layer["same_token"]["distance"] == one.same_token.distance
        assert len(layer["same_token"]["quantiles"]) == len(data["quantiles"])
        kinds = {witness["kind"] for witness in layer["witnesses"]}
        assert kinds == {"same_token", "any_tokens", "within"}
    first = data["layers"][0]["witnesses"][0]
    assert first["distance"] == 0.0
    assert first["sides"][0]["token"] == first["sides"][1]["token"]
    assert data["sensitivity"][0]["moved"][0] == [0.0] * len(data["sensitivity"][0]["gaps"])


@pytest.mark.parametrize("columns", [200, 80, 40])
def test_the_text_says_it_all_at_any_width(found, columns):
    text = " ".join(render(context_view(found), columns).split())
    for words in ("12 different sequences (1 more", "not contextual", "the closest of the same token in two contexts"):
        assert words in text
    assert "Every pair was compared" in text
    assert "contextual mappings on these sequences: layer 1" in text


def test_what_was_not_found_is_said():
    bare = measure_contextual_mapping(lambda ids: TABLE[ids], [[1], [2]], symmetry=Symmetry.EQUIVARIANT)
    text = render(context_view(bare))
    assert "permutations of each other are the same context" in " ".join(text.split())
    assert "–" in text
    none = measure_contextual_mapping(lambda ids: TABLE[ids], [[1, 2], [1, 3]])
    assert "no layer is a contextual mapping" in render(context_view(none))


def test_hostile_texts_cannot_control_a_terminal():
    names = ["\x1b[31mred", "</script><script>alert(1)</script>"]
    found = measure_contextual_mapping(lambda ids: TABLE[ids], [[1, 2], [1, 3]])
    hostile = found.witnesses[0][0]
    side = type(hostile.sides[0])(((names[0], False),), names[1], ())
    changed = type(found)(
        **{
            **{name: getattr(found, name) for name in found.__dataclass_fields__},
            "model": names[0],
            "witnesses": ((type(hostile)("same_token", 0.0, ((0, 0), (1, 0)), (side, side)),),),
        }
    )
    text = render(context_view(changed))
    assert "\x1b" not in text
    assert "\\x1b[31mred" in text
    page = context_page(changed).html
    assert page.count("</script>") == 2  # the data's and the script's own


def test_the_page_allows_nothing_but_itself(found):
    page = context_page(found)
    assert "default-src 'none'" in page.html
    assert page.html.count("sha256-") == 2
    assert page.title == "layers: contexts"


def test_pictures_in_every_format(found, tmp_path):
    pytest.importorskip("matplotlib")
    from anyformer.reports.contextuality.pictures import draw_contexts, draw_side_by_side

    place = draw_contexts(found, tmp_path / "one.svg")
    assert b"Contexts in layers" in place.read_bytes()
    assert draw_contexts(found, tmp_path / "one.svg").read_bytes() == place.read_bytes()
    single = measure_contextual_mapping(lambda ids: TABLE[ids], [[1], [2]])
    both = draw_side_by_side({"mixed": found, "$bare": single}, tmp_path / "both.png")
    assert both.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ContextualityError, match=r"\.svg, \.png, \.pdf"):
        draw_contexts(found, tmp_path / "one.gif")
    with pytest.raises(ContextualityError, match="must exist"):
        draw_contexts(found, Path("no/such/folder/one.svg"))
    with pytest.raises(ContextualityError, match="no reports"):
        draw_side_by_side({}, tmp_path / "none.svg")
