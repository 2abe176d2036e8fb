"""`pattern list`, `check` and `draw`, and `--pattern` and `--probability-map` of the other verbs."""

import json

import pytest

from anyformer.construction import METHODS
from anyformer.patterns import CATALOGUE, COMBINATORS, Strided, to_json


def test_list_names_the_whole_catalogue(call):
    outcome = call("pattern", "list", "--json")
    assert outcome.code == 0
    assert [entry["name"] for entry in outcome.data["patterns"]] == list(CATALOGUE)
    assert [entry["name"] for entry in outcome.data["combinators"]] == list(COMBINATORS)
    text = call("pattern", "list").out
    assert all(name in text for name in (*CATALOGUE, *COMBINATORS))


@pytest.mark.parametrize(
    ("name", "code", "verdict"),
    [("strided", 0, "paper_b"), ("plain-star", 0, "star"), ("causal", 0, "causal"), ("block-local", 1, "refuted")],
)
def test_check_says_what_is_known_and_ends_accordingly(call, name, code, verdict):
    outcome = call("pattern", "check", name, "--tokens", 7, "--json")
    assert outcome.code == code
    assert outcome.data["verdict"] == verdict
    assert outcome.data["tokens"] == 7
    text = call("pattern", "check", name, "--tokens", 7)
    assert text.code == code
    for condition in ("1. self-loops", "2. path γ", "3. reach", "connections"):
        assert condition in text.out


def test_check_shows_the_capacity_and_where_messages_get_stuck(call):
    outcome = call("pattern", "check", "star", "--tokens", 40, "--layers", 3, "--json")
    found = outcome.data["capacity"]
    assert (found["value"], found["messages"], found["layers"]) == (6, 20, 3)
    assert len(found["cut"]) == 6
    text = call("pattern", "check", "star", "--tokens", 40, "--layers", 3).out
    assert "6 of 20 messages in 3 layers" in text
    assert "bottleneck" in text
    assert "bottleneck" not in call("pattern", "check", "full", "--tokens", 7).out


def test_check_asks_causal_patterns_about_causal_functions(call):
    text = call("pattern", "check", "causal-strided", "--tokens", 16).out
    assert "causally universal" in text
    assert "causal reach" in text
    assert "repair" not in text


def test_options_of_a_pattern(call):
    outcome = call("pattern", "check", "sliding-window:half_width=3", "--tokens", 13, "--json")
    assert outcome.data["reach"]["hops"] == 4
    assert outcome.data["path"]["gamma"] is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "nonsense", "--tokens", 5), "a pattern must be one of full, sliding-window"),
        (("check", "strided:stride=x", "--tokens", 5), "stride must be a whole number"),
        (("check", "ring", "--tokens", 0), "tokens must be"),
        (("check", "ring"), "tokens must be given with a family"),
        (("check", "onion(ring)", "--tokens", 5), "Did you mean 'union'"),
        (("check", "nowhere.json", "--tokens", 5), "must be a file that can be read"),
        (("check", "ring", "--tokens", 5, "--seconds", 0), "seconds must be more than 0"),
        (("check", "ring", "--tokens", 5, "--layers", 0), "layers must be at least 1; got 0"),
        (("design", "--tokens", 8, "--capacity", 5), "the capacity must be at most 4"),
        (("design", "--tokens", 8, "-o", "design.gif"), "must end in one of .svg, .png, .pdf"),
        (("draw", "ring", "--tokens", 5, "-o", "ring.gif"), "must end in one of .svg, .png, .pdf"),
        (("draw", "ring", "--tokens", 5000, "-o", "ring.svg"), "at most 256 tokens"),
        (("check", "[red]x\x1b[31m", "--tokens", 5), "a pattern must be one of"),
    ],
)
def test_bad_input_is_refused_in_words(call, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = call("pattern", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert "\x1b" not in outcome.err
    assert not list(tmp_path.iterdir())


def test_draw_writes_a_picture(call, tmp_path):
    place = tmp_path / "star.svg"
    outcome = call("pattern", "draw", "star", "--tokens", 6, "-o", place, "--json")
    assert outcome.code == 0
    assert outcome.data["output"] == str(place)
    assert place.read_text().startswith("<?xml")


COMBINED = "union(ring, blocked(sliding-window:half_width=2):block=3)"


def test_combinations_are_read_and_what_is_printed_can_be_read_again(call, tmp_path):
    text = call("pattern", "check", COMBINED, "--tokens", 14)
    assert text.code == 0
    assert COMBINED in text.out
    outcome = call("pattern", "check", COMBINED, "--tokens", 14, "--json")
    saved = tmp_path / "report.json"
    saved.write_text(outcome.out)
    for again in (outcome.out, saved, outcome.data["pattern"], json.dumps(outcome.data["described"])):
        assert call("pattern", "check", again, "--tokens", 14, "--json").data == outcome.data
    drawn = call("pattern", "draw", saved, "--tokens", 14, "-o", tmp_path / "drawn.svg", "--json")
    assert drawn.data["pattern"] == COMBINED
    assert call("pattern", "check", drawn.out, "--tokens", 14, "--json").data == outcome.data


def test_a_pattern_of_one_length_needs_no_tokens(call, tmp_path):
    saved = tmp_path / "mine.json"
    saved.write_text(json.dumps(to_json(Strided().at(7))))
    outcome = call("pattern", "check", saved, "--json")
    assert (outcome.code, outcome.data["tokens"], outcome.data["reach"]["hops"]) == (0, 7, 2)
    assert call("pattern", "check", outcome.out, "--json").data == outcome.data
    assert "must be left out or be 7" in call("pattern", "check", saved, "--tokens", 8).err
    assert call("pattern", "draw", saved, "-o", tmp_path / "mine.svg", "--json").data["tokens"] == 7


def test_design_finds_the_cheapest_and_shows_others(call, tmp_path):
    place = tmp_path / "design.svg"
    outcome = call("pattern", "design", "--tokens", 24, "--capacity", 8, "-o", place, "--json")
    assert outcome.code == 0
    assert outcome.data["output"] == str(place)
    assert place.read_text().startswith("<?xml")
    best = next(option for option in outcome.data["options"] if option["fits"])
    assert best["pattern"] == outcome.data["best"]
    assert best["capacity"] >= 8
    text = call("pattern", "design", "--tokens", 24, "--capacity", 8).out
    assert "24 tokens, universal within 2 layers, a capacity of at least 8 in 2" in text
    assert f"cheapest: {best['pattern']}" in text
    assert "The cheapest for other capacities" in text
    # What it names can be checked.
    checked = call("pattern", "check", best["pattern"], "--tokens", 24, "--json").data
    assert (checked["capacity"]["value"], checked["reach"]["hops"]) == (best["capacity"], best["hops"])
    assert (
        "causally universal within 3 layers" in call("pattern", "design", "--tokens", 9, "--layers", 3, "--causal").out
    )


SORT = ("sort", "--positions", "--tokens", 3, "--epsilon", 0.4)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sparse-averaging", "sparse-selective-shift"])
def test_a_sparse_model_goes_all_the_way(call, tmp_path, method):
    folder = tmp_path / "model"
    options = ("--pattern", "sliding-window", "--method", method, "--probability-map", "entmax:1.4")
    planned = call("plan", *SORT, *options, "--json")
    assert planned.data["pattern"] == "sliding-window"
    assert planned.data["connections_a_layer"] == 7
    built = call("build", *SORT, *options, "-o", folder, "--json")
    assert built.code == 0
    assert call("verify", folder).code == 0
    described = call("describe", folder, "--json")
    assert described.data["connections"] == [7]
    assert "sliding-window, 7 connections a layer" in call("describe", folder).out
    traced = call("trace", folder, "--input", "0.1, 0.9, 0.4", "--json")
    assert traced.code == 0


def test_a_plan_takes_combinations_and_files(call, tmp_path):
    combined = call("plan", *SORT, "--pattern", "union(ring, star)", "--json")
    assert combined.data["pattern"] == "union(ring, star)"
    saved = tmp_path / "mine.json"
    saved.write_text(json.dumps({"kind": "union", "parts": [{"kind": "ring"}, {"kind": "star"}]}))
    again = call("plan", *SORT, "--pattern", saved, "--json").data
    assert {**again, "expected_seconds": None} == {**combined.data, "expected_seconds": None}


@pytest.mark.slow
def test_compare_shows_dense_and_sparse_side_by_side(call):
    outcome = call("compare", *SORT, "--pattern", "sliding-window", "--json")
    rows = {row["method"]: row for row in outcome.data["methods"]}
    assert list(rows) == list(METHODS)
    # Only the sparse methods can build with the pattern here, and the dense ones do without it.
    assert "needs token 2 to attend to token 0" in rows.pop("compile")["refused"]
    for name, row in rows.items():
        assert row["connections"] == (7 if METHODS[name].is_sparse else 9)
    assert all(row["certified_error"] <= 0.4 for row in rows.values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--pattern", "nonsense"), "a pattern must be one of"),
        (("--pattern", "ring", "--method", "averaging"), "averaging takes no sparsity pattern"),
        (("--method", "sparse-averaging"), "sparse-averaging needs a sparsity pattern"),
        (("--pattern", "causal"), "never depends on input"),
        (("--pattern", "causal", "--method", "sparse-averaging"), "a pattern in which tokens see later ones too"),
        (("--pattern", "causal", "--method", "sparse-selective-shift"), "in which tokens see later ones too"),
        (("--pattern", "causal", "--method", "compile"), "needs token 0 to attend to token 1"),
        (("--probability-map", "hardmax"), "a probability map must be one of softmax, sparsemax, entmax"),
        (("--probability-map", "entmax:x"), "alpha must be"),
        (("--probability-map", "entmax:0.5"), "alpha must be above 1"),
    ],
)
def test_requests_that_cannot_be_met(call, options, message):
    outcome = call("plan", *SORT, *options)
    assert outcome.code == 2
    assert message in outcome.err
