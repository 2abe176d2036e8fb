import sys

import pytest

import anyformer as af
from anyformer.construction import METHODS

DENSE = [name for name, method in METHODS.items() if not method.is_sparse]
SMALL = ("mean-scale", "--epsilon", 0.3)


def test_compare_has_a_row_per_method(call):
    outcome = call("compare", *SMALL, "--json")
    data = outcome.data
    assert outcome.code == 0
    assert (data["target"], data["tokens"], data["width"], data["p"]) == ("mean-scale", 2, 1, 2.0)
    assert (data["epsilon"], data["positions"]) == (0.3, False)
    assert [row["method"] for row in data["methods"]] == DENSE
    for row in data["methods"]:
        built = af.construct(af.targets.mean_scale(tokens=2), 0.3, method=row["method"])
        assert row["certified_error"] == built.certificate.certified_error
        assert row["measured_error"] == built.certificate.measured.error
        assert (row["layers"], row["parameters"]) == (built.network.layer_count, built.network.parameter_count)
        assert row["refused"] is row["skipped"] is None


def test_compare_as_text(call):
    outcome = call("compare", *SMALL, "--max-layers", 20)
    assert (outcome.code, outcome.err) == (0, "")
    assert "mean-scale on 2 tokens of width 1" in outcome.out
    assert all(name in outcome.out for name in DENSE)
    assert "\x1b" not in outcome.out


def test_compare_takes_the_options_of_build(call):
    asked = ("--method", "averaging", "--hidden-size", 8, "--p", 1, "--tokens", 3, "--tightness", 1.6)
    (row,) = call("compare", *SMALL, *asked, "--json").data["methods"]
    built = af.construct(af.targets.mean_scale(tokens=3), 0.3, p=1.0, method="averaging", hidden_size=8, tightness=1.6)
    assert row["layers"] == built.network.layer_count
    assert row["certified_error"] == built.certificate.certified_error


def test_one_refusal_is_no_failure_but_all_are(call):
    some = call("compare", *SMALL, "--max-layers", 20, "--json")
    assert some.code == 0
    rows = {row["method"]: row for row in some.data["methods"]}
    assert rows["compile"]["refused"] is rows["averaging"]["refused"] is None
    assert "layers where 20 are allowed" in rows["selective-shift"]["refused"]
    assert "What would fit" in rows["selective-shift"]["refused"]
    assert rows["selective-shift"]["needed"].endswith(" layers")
    assert rows["selective-shift"]["layers"] is None
    none = call("compare", *SMALL, "--max-layers", 1)
    assert none.code == 1
    assert none.out.count("refused: ") == 4


def test_patience(call):
    outcome = call("compare", *SMALL, "--method", "selective-shift", "--patience", 1e-6, "--json")
    (row,) = outcome.data["methods"]
    assert outcome.code == 1
    assert row["layers"] == af.plan(af.targets.mean_scale(tokens=2), 0.3, method="selective-shift").layers
    assert row["skipped"].startswith("not built: about ")
    assert row["certified_error"] is None
    assert "not built: about " in call("compare", *SMALL, "--patience", 1e-6).out


@pytest.mark.parametrize("verb", [("compare", "--epsilon", 0.7), ("curve", "--from", 0.7, "--to", 0.9, "--points", 2)])
def test_a_pattern_brings_positions_with_it(call, own, verb):
    """Without --positions, one's own order is not what it declares; with a pattern all networks have positions."""
    name, *options = verb
    (own / "order.py").write_text("def order(x):\n    return x[:, ::-1]\n")
    outcome = call(name, "order.py:order", "--tokens", 3, "--pattern", "ring", *options, "--json")
    assert (outcome.code, outcome.data["positions"]) == (0, True)
    assert call(name, "order.py:order", "--tokens", 3, *options).code == 2


def test_own_functions(call, own):
    outcome = call("compare", "own.py:noisy", "--epsilon", 0.3, "--method", "averaging", "--lipschitz", 0.5, "--json")
    assert outcome.code == 0
    assert outcome.data["methods"][0]["certified_error"] <= 0.3
    assert "noise" in outcome.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--epsilon", -1), "the tolerance (epsilon) must be positive and finite; got -1.0"),
        (("--epsilon", 0.3, "--p", 0.5), "p must be at least 1"),
        (("--epsilon", 0.3, "--method", "magic"), "the method must be one of auto, compile, interpolation, averaging"),
        (("--epsilon", 0.3, "--hidden-size", 0), "hidden_size must be at least 1; got 0"),
        (("--epsilon", 0.3, "--max-layers", 0), "max_layers must be at least 1; got 0"),
        (("--epsilon", 0.3, "--tightness", 0.5), "the tightness must be above 1 and finite; got 0.5"),
    ],
)
def test_what_no_method_could_do(refused, options, said):
    assert said in refused("compare", "mean-scale", *options, kind="PlanError")


def test_patience_is_a_time(refused):
    said = refused("compare", "mean-scale", "--epsilon", 0.3, "--patience", "nan")
    assert "--patience must be a positive number of seconds" in said


CURVE = ("curve", "mean-scale", "--from", 0.1, "--to", 0.4, "--points", 3)


@pytest.mark.parametrize("method", ["compile", "averaging"])
def test_curve_lists_what_each_tolerance_takes(call, method):
    outcome = call(*CURVE, "--method", method, "--json")
    data = outcome.data
    assert outcome.code == 0
    assert (data["target"], data["p"], data["output"]) == ("mean-scale", 2.0, None)
    assert [point["epsilon"] for point in data["points"]] == pytest.approx([0.1, 0.2, 0.4])
    for point in data["points"]:
        built = af.construct(af.targets.mean_scale(tokens=2), point["epsilon"], method=method)
        assert point["certified_error"] == built.certificate.certified_error
        assert point["measured_error"] == built.certificate.measured.error
        assert (point["layers"], point["parameters"]) == (built.network.layer_count, built.network.parameter_count)
        assert point["cells_per_axis"] == (
            None if method == "compile" else list(built.construction.plan.lattice.counts)
        )
        assert point["build_seconds"] > 0


def test_curve_lists_refusals(call):
    some = call(*CURVE, "--method", "averaging", "--max-layers", 10)
    assert some.code == 0
    assert "layers where 10 are allowed" in " ".join(some.out.split())
    assert all(point["skipped"] for point in call(*CURVE, "--patience", 1e-9, "--json").data["points"])


def test_a_curve_without_points_is_not_drawn(call, tmp_path):
    pytest.importorskip("matplotlib")
    none = call(*CURVE, "--max-layers", 1, "--output", tmp_path / "none.svg", "--json")
    assert none.code == 1
    assert all(point["refused"] for point in none.data["points"])
    assert none.data["output"] is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<?xml"), ("b.PNG", b"\x89PNG")])
def test_curve_draws(call, tmp_path, name, start):
    pytest.importorskip("matplotlib")
    outcome = call("curve", "centre", "--from", 0.3, "--to", 0.6, "--points", 2, "-o", tmp_path / name, "--json")
    assert outcome.data["output"] == str(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--from", 0.4, "--to", 0.1), "--from must be smaller than --to; got 0.4 and 0.1"),
        (("--from", 0.1, "--to", 0.1), "--from must be smaller than --to"),
        (("--from", 0, "--to", 0.1), "--from must be positive and finite; got 0.0"),
        (("--from", 0.1, "--to", "inf"), "--to must be positive and finite; got inf"),
        (("--from", 0.1, "--to", 0.4, "--points", 1), "--points must be at least 2, the two ends; got 1"),
        (("--from", 0.1, "--to", 0.4, "--output", "a.jpeg"), "--output must end in .svg, .png, .pdf; got 'a.jpeg'"),
        (("--from", 0.1, "--to", 0.4, "--output", "no/such/a.png"), "--output must be a file in a folder"),
        (("--from", 0.1), "--to"),
        (("--to", 0.1), "--from"),
    ],
)
def test_bad_ranges_and_places(refused, options, said):
    assert said in refused("curve", "mean-scale", *options)


def test_without_matplotlib(refused, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert 'pip install "anyformer[plots]"' in refused(*CURVE, "--output", tmp_path / "a.svg")
