"""The page as a file: self-contained, escaped, bounded, and refused where it cannot be made."""

import base64
import hashlib
import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import anyformer as af
from anyformer.errors import CertificateError, ExplorerError
from anyformer.explorer import explore, network_data, program_data, table_data
from anyformer.explorer.island import as_json, packed
from anyformer.explorer.making import page_data
from anyformer.reports.programs import stated_program


@pytest.fixture(scope="module")
def model():
    return af.construct("mean-scale", 0.1, tokens=3, method="averaging")


@pytest.fixture(scope="module")
def compiled():
    return af.construct("power-sums", 0.05, tokens=3, width=2, p=float("inf"), method="compile")


class Elements(HTMLParser):
    """The elements of a page, with the text of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.found, self.texts, self.inside = [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self.inside = tag, dict(attrs).get("type")

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        self.texts[self.inside] = self.texts.get(self.inside, "") + data


def island(page):
    return json.loads(Elements(page.html).texts["script", "application/json"])


def unpacked(data):
    values = np.frombuffer(base64.b64decode(data["values"]), dtype="<f8")
    if "places" not in data:
        return values.reshape(data["shape"])
    out = np.zeros(int(np.prod(data["shape"])))
    out[np.frombuffer(base64.b64decode(data["places"]), dtype="<u4")] = values
    return out.reshape(data["shape"])


def test_a_page_needs_nothing_else(model):
    elements = Elements(model.explore().html)
    assert [tag for tag, attrs in elements.found if "src" in attrs or "href" in attrs] == []
    policy = next(
        attrs["content"] for _, attrs in elements.found if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    for kind, key in (("script-src", ("script", None)), ("style-src", ("style", None))):
        digest = base64.b64encode(hashlib.sha256(elements.texts[key].encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_every_weight_is_there_to_the_bit(model, compiled):
    for one in (model, compiled):
        data = island(one.explore())["network"]
        for k, stage in enumerate(data["stages"]):
            for name, array in stage["arrays"].items():
                assert np.array_equal(unpacked(array), getattr(one.network.stages[k], name))
        for name, array in data["around"].items():
            assert np.array_equal(unpacked(array), getattr(one.network, name))


def test_packing_loses_no_bit():
    for array in (np.array([[1 / 3, -0.0], [5e-324, 1e308]]), np.zeros((2, 3, 4)), np.eye(5) / 7):
        assert np.array_equal(unpacked(packed(array)), array)
    assert "places" in packed(np.eye(5))
    assert "places" not in packed(np.ones(5))


def test_no_text_ends_the_island():
    text = "</script><!-- & \u2028\u2029"
    written = as_json({"a": text})
    assert not re.search("[<>&\u2028\u2029]", written)
    assert json.loads(written) == {"a": text}


def test_saving_and_showing(model, tmp_path):
    place = tmp_path / "page.html"
    page = model.explore(place)
    assert place.read_text(encoding="utf-8") == page.html
    with pytest.raises(ExplorerError, match="must be a new file"):
        page.save(place)
    page.save(place, overwrite=True)
    with pytest.raises(ExplorerError, match="folder of"):
        page.save(tmp_path / "nowhere" / "page.html")
    with pytest.raises(ExplorerError, match="is a folder"):
        page.save(tmp_path, overwrite=True)
    shown = page._repr_html_()
    assert shown.startswith("<iframe ")
    frame = Elements(shown).found[0][1]
    assert frame["srcdoc"] == page.html
    assert frame["sandbox"] == "allow-scripts"
    assert page.html not in repr(page)


def test_pages_are_small(model, compiled):
    for one in (model, compiled):
        assert len(one.explore().html) < 300_000


def test_what_is_too_large_is_refused(model, monkeypatch):
    monkeypatch.setattr(network_data, "MOST_WEIGHTS", 10)
    with pytest.raises(ExplorerError, match="at most 10 weights that are not 0"):
        model.explore()
    monkeypatch.undo()
    monkeypatch.setattr(network_data, "MOST_PAIRS", 8)
    with pytest.raises(ExplorerError, match="pairs of tokens"):
        model.explore()


def test_what_is_left_out_is_said(compiled, model, monkeypatch):
    monkeypatch.setattr(program_data, "MOST_NODES", 1)
    data = island(compiled.explore())
    assert data["program"] is None
    assert data["target"] is None
    assert len(data["omitted"]) == 2
    plane = data["plane"]
    x = np.array(plane["base"]).reshape(1, 3, 2)
    x[0, 0] = [1.0, 0.0]  # the first number is at its upper end, the second at its lower
    assert np.allclose(unpacked(plane["values"])[0, -1], compiled.target(x)[0])
    monkeypatch.setattr(table_data, "MOST_CONTEXTS", 12)
    contexts = island(model.explore())["table"]["contexts"]
    assert 1 < len(contexts["ids"]) <= 12
    assert f"{len(contexts['ids'])} of all 20 contexts" in contexts["said"]


def test_ids_are_those_of_the_network_and_collide_nowhere(model):
    contexts = island(model.explore())["table"]["contexts"]
    assert (contexts["total"], len(contexts["ids"])) == (20, 20)
    assert "12 different ids of 4 contexts: no two contexts share one." in contexts["said"]
    distinct = ~np.array(contexts["coinciding"])
    report = af.check_contextual_map(np.array(contexts["cells"])[distinct], np.array(contexts["ids"])[distinct])
    assert report.is_contextual


def test_one_cell_has_no_contexts_to_tell_apart():
    model = af.construct("centroid-distance", 0.7, tokens=3, width=2, method="averaging")
    assert model.certificate.grid.cells_per_axis == (1, 1)
    assert "In all 1 contexts two tokens lie in one cell" in island(model.explore())["table"]["contexts"]["said"]


def test_colliding_ids_are_admitted(model):
    """An average too small to be heard: ids stay codes, and contexts share them."""
    stages = tuple(
        replace(stage, W_O=np.where(stage.W_O != 0, 2.0**-200, 0.0)) if stage.kind == "attention" else stage
        for stage in model.network.stages
    )
    broken = replace(model.network, stages=stages)
    said = table_data.table_data(broken, model.certificate.grid)["contexts"]["said"]
    assert "belong to more than one context" in said


def test_the_budget_adds_up(model):
    data = island(model.explore())
    shares = [term["share"] for term in data["terms"] if term["share"] is not None]
    assert sum(shares) == pytest.approx((data["certified"] / data["tolerance"]) ** model.certificate.p, rel=1e-6)


def test_the_worst_input_has_the_error_that_is_stated(model, compiled):
    for one in (model, compiled):
        worst = island(one.explore())["worst"]
        x = np.array(worst["input"]).reshape(1, one.network.tokens, one.network.width)
        assert np.abs(one(x) - one.target(x)).max() == worst["error"]


def test_a_certificate_of_other_weights_is_refused(model, compiled):
    with pytest.raises(ExplorerError, match="issued for others"):
        explore(model.network, replace(model.certificate, weights_digest=compiled.certificate.weights_digest))


def test_a_table_can_do_without_its_function(model):
    own = replace(model.certificate.target, is_ready_made=False)
    data = page_data(model.network, replace(model.certificate, target=own), None)
    assert data["target"] is None
    assert data["worst"] is None
    assert "not given" in data["omitted"][0]


def test_a_program_cannot(compiled):
    own = replace(compiled.certificate, target=replace(compiled.certificate.target, is_ready_made=False))
    with pytest.raises(CertificateError):
        explore(compiled.network, own)


def test_a_name_is_escaped_in_the_title(model):
    name = "<b>&"
    certificate = replace(model.certificate, target=replace(model.certificate.target, name=name, is_ready_made=False))
    page = explore(model.network, certificate, model.target)
    assert f"<title>{html.escape(name)} on 3 tokens" in page.html
    assert "<b>" not in page.html


def test_layers_are_counted_as_reports_count_them(compiled):
    reported = {
        (row["layer"], row["channel"]) for row in stated_program(compiled.certificate) if row["error"] is not None
    }
    places = [step["where"] for step in page_data(compiled.network, compiled.certificate, compiled.target)["steps"]]
    shown = {tuple(int(number) for number in re.findall(r"(?:layer|channel) (\d+)", place)) for place in places}
    assert shown
    assert shown <= reported
