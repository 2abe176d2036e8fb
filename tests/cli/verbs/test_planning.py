import json
from dataclasses import asdict, replace

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates import Evidence
from anyformer.errors import CertificateError
from anyformer.targets import CATALOGUE, CompactSupport, Symmetry


def test_targets_lists_every_ready_made_target(call):
    listed = {entry["name"]: entry for entry in call("targets", "--json").data["targets"]}
    assert list(listed) == list(CATALOGUE)
    for name, entry in listed.items():
        made = af.targets.ready_made(name, tokens=2, width=1)
        assert entry["lipschitz"] == made.modulus.largest_deviation(np.ones((2, 1))).max()
        assert entry["symmetry"] == ("equivariant" if made.symmetry is Symmetry.EQUIVARIANT else "positional")
        assert entry["description"] == af.targets.descriptions()[name]
        assert entry["parameters"] == dict(made.parameters)
    text = call("targets")
    assert text.code == 0
    assert text.err == ""
    assert all(name in text.out for name in CATALOGUE)
    assert "sharpness=3" in text.out


SIZES = ("layers", "attention_layers", "parameters", "bytes_on_disk", "planned_error", "instead_of")


def test_plan_agrees_with_the_python_interface(call):
    data = call("plan", "centre", "--epsilon", 0.6, "--width", 2, "--p", 1, "--method", "averaging", "--json").data
    made = af.plan(af.targets.centre(tokens=2, width=2), tolerance=0.6, p=1.0, method="averaging")
    assert data["target"] == "centre"
    assert (data["tokens"], data["width"], data["p"], data["epsilon"]) == (2, 2, 1.0, 0.6)
    assert data["positions"] is False
    assert data["cells_per_axis"] == list(made.lattice.counts)
    assert data["block_shape"] == [2, 1, 4]
    for name in (*SIZES, "cells", "id_bits"):
        assert data[name] == getattr(made, name)
    assert data["expected_seconds"] > 0
    assert data["error"] == asdict(made.error)
    assert data["error"]["total"] == data["planned_error"]
    assert data["stages"] == [{**asdict(stage), "role": stage.role.name.lower()} for stage in made.stages]
    assert sum(stage["layers"] for stage in data["stages"]) == data["layers"]


def test_so_it_does_for_a_program(call):
    data = call("plan", "softmax", "--epsilon", 0.1, "--tokens", 3, "--p", "inf", "--json").data
    made = af.plan(af.targets.softmax(tokens=3), tolerance=0.1, p=float("inf"))
    assert (data["method"], data["p"], data["epsilon"], data["positions"]) == ("compile", "inf", 0.1, False)
    for name in SIZES:
        assert data[name] == getattr(made, name)
    network = made.written.network
    assert data["block_shape"] == [network.shape.heads, network.shape.head_size, network.shape.hidden_size]
    assert (data["stream_width"], data["hidden_units"]) == (network.stream_width, network.hidden_unit_count)
    assert [row["channel"] for row in data["program"]] == [hint.channel for hint in made.written.hints]
    assert data["planned_error"] <= 0.1
    assert not {"cells", "id_bits", "error"} & set(data)


def test_auto_is_the_plan_with_the_fewest_parameters(call):
    everything = ("plan", "mean-scale", "--epsilon", 0.2, "--json")
    chosen = call(*everything).data
    each = [call(*everything, "--method", name).data for name in ("compile", "averaging", "selective-shift")]
    assert chosen["parameters"] == min(plan["parameters"] for plan in each)
    assert (chosen["method"], chosen["instead_of"]) == ("compile", None)


def test_a_function_that_cannot_be_traced_gets_a_table_and_is_told_why(own, call):
    command = ("plan", "own.py:ordered", "--positions", "--epsilon", 0.5, "--lipschitz", 1)
    data = call(*command, "--json").data
    assert data["method"] == "averaging"
    assert data["instead_of"].startswith("compile cannot build ordered: ")
    assert "argsort" in data["instead_of"]
    shown = " ".join(call(*command).out.split())
    assert f"instead of {' '.join(data['instead_of'].split())}" in shown
    built = call("build", *command[1:], "--json").data
    assert (built["method"], built["instead_of"]) == ("averaging", data["instead_of"])


def test_a_program_as_text(call):
    outcome = call("plan", "mean-scale", "--epsilon", 0.2)
    assert (outcome.code, outcome.err) == (0, "")
    for shown in ("mean-scale on 2 tokens of width 1", "compile", "stream width", "mean over tokens of x0", "x0 · v1"):
        assert shown in outcome.out
    assert "\x1b" not in outcome.out


def test_plan_as_text(call):
    outcome = call("plan", "mean-scale", "--epsilon", 0.2, "--method", "averaging")
    assert outcome.code == 0
    assert outcome.err == ""
    for shown in (
        "mean-scale on 2 tokens of width 1",
        "averaging",
        "value map",
        "coincidence",
        "on disk",
        "about",
    ):
        assert shown in outcome.out
    assert "\x1b" not in outcome.out


def test_positions_are_asked_for(call, refused, own):
    (own / "order.py").write_text("def order(x):\n    return x[:, ::-1]\n")
    mine = ("plan", "order.py:order", "--tokens", 3, "--epsilon", 0.3)
    message = refused(*mine, kind="TargetError")
    assert "must be permutation equivariant" in message
    assert "--positions on the command line" in message
    assert call(*mine, "--positions", "--json").data["positions"] is True
    # A ready-made target knows that the order of its tokens matters.
    assert call("plan", "sort", "--epsilon", 0.3, "--json").data["positions"] is True
    # An equivariant target may have positions as well; a program has them only where it needs them.
    mean = ("plan", "mean-scale", "--epsilon", 0.3, "--positions", "--json")
    assert call(*mean, "--method", "averaging").data["positions"] is True
    assert call(*mean, "--method", "compile").data["positions"] is False
    assert "compact support" in refused("plan", "bump", "--epsilon", 0.3, "--positions", kind="PlanError")


def test_parameters_of_ready_made_targets(call, refused):
    table = ("plan", "softmax", "--epsilon", 0.3, "--method", "averaging", "--json")
    plain, sharp = call(*table).data, call(*table, "--set", "sharpness=1").data
    assert sharp["error"]["variation"] < plain["error"]["variation"]
    three = call("plan", "moving-average", "--positions", "--epsilon", 0.5, "--set", "window=1", "--json")
    assert three.code == 0
    for setting in ("sharpness", "=", "sharpness:1", "sharpness="):
        said = refused("plan", "softmax", "--epsilon", 0.3, "--set", setting)
        assert f"settings must read key=value, with commas between them; got {setting!r}" in said
    for setting in ("tokens=3", "name=1", "W_Q=1"):
        said = refused("plan", "softmax", "--epsilon", 0.3, "--set", setting)
        assert "--set for 'softmax' must be one of these: sharpness=NUMBER; got" in said
    assert "settings must be given once each; got 'sharpness' twice" in refused(
        "plan", "softmax", "--epsilon", 0.3, "--set", "sharpness=1", "--set", "sharpness=2"
    )
    for value in ("abc", "nan", "1_0", "9" * 5000, "true"):
        assert "--set must give a finite number" in refused(
            "plan", "softmax", "--epsilon", 0.3, "--set", f"sharpness={value}"
        )
    assert "none, as it has no parameters" in refused("plan", "centre", "--epsilon", 0.3, "--set", "a=1")
    assert "degree must be a whole number" in refused(
        "plan", "power-sums", "--epsilon", 0.3, "--set", "degree=2.5", kind="TargetError"
    )


@pytest.mark.parametrize(
    ("arguments", "message", "kind"),
    [
        (["softmx", "--epsilon", "0.3"], "Did you mean 'softmax'?", "TargetError"),
        (["own.py", "--epsilon", "0.3", "--lipschitz", "1"], "give path/to/file.py:function", "TargetError"),
        (["softmax", "--epsilon", "nan"], "the tolerance (epsilon) must be positive and finite", "PlanError"),
        (["softmax", "--epsilon", "-1"], "the tolerance (epsilon) must be positive and finite", "PlanError"),
        (["softmax", "--epsilon", "0.3", "--p", "0.5"], "p must be at least 1 and at most 64", "PlanError"),
        (["softmax", "--epsilon", "0.3", "--method", "magic"], "the method must be one of", "PlanError"),
        (["softmax", "--epsilon", "0.3", "--tokens", "1"], "tokens must be at least 2", "TargetError"),
        (["softmax", "--epsilon", "0.3", "--width", "0"], "width must be at least 1", "TargetError"),
        (["softmax", "--epsilon", "0.3", "--max-layers", "3"], "layers where 3 are allowed", "PlanError"),
        (["softmax", "--epsilon", "1e-9", "--method", "averaging"], "cannot be built by averaging", "PlanError"),
        (["softmax"], "Missing option '--epsilon'", "UsageError"),
        (["softmax", "--epsilon", "abc"], "--epsilon", "UsageError"),
        (["--epsilon", "0.3"], "Missing argument", "UsageError"),
        (["softmax", "--epsilon", "0.3", "--bogus"], "No such option", "UsageError"),
    ],
)
@pytest.mark.parametrize("verb", ["plan", "build"])
def test_mistakes_are_explained(own, refused, verb, arguments, message, kind):
    assert message in refused(verb, *arguments, kind=kind)


@pytest.mark.parametrize(
    "option", [("--lipschitz", "2"), ("--low", "0"), ("--high", "1"), ("--compact-support",), ("--one-by-one",)]
)
def test_what_describes_ones_own_function_is_refused_for_ready_made_ones(refused, option):
    message = refused("plan", "softmax", "--epsilon", 0.3, *option)
    assert f"{option[0]} must come with your own function; 'softmax' is ready-made" in message


def test_ones_own_function(own, call, refused):
    outcome = call("plan", "own.py:halve", "--epsilon", 0.3, "--lipschitz", 0.5, "--json")
    assert outcome.data["target"] == "halve"
    assert call("plan", "own.py:halve", "--epsilon", 0.3, "--json").code == 0
    assert "--set must come with a ready-made target" in refused(
        "plan", "own.py:halve", "--epsilon", 0.3, "--lipschitz", 0.5, "--set", "a=1"
    )


def test_the_domain_of_ones_own_function(own, call, refused):
    command = ["plan", "own.py:halve", "--epsilon", "0.8", "--lipschitz", "0.5", "--method", "averaging"]
    wide = call(*command, "--low", "-1", "--high", "1", "--json").data
    halved = af.target(lambda x: x / 2, tokens=2, lipschitz=0.5, domain=af.targets.Box(-1.0, 1.0))
    made = af.plan(halved, tolerance=0.8, method="averaging")
    assert wide["error"] == asdict(made.error)
    lopsided = call(*command, "--width", "2", "--low", "0,0", "--high", "2,1", "--json").data
    assert lopsided["cells_per_axis"][0] == 2 * lopsided["cells_per_axis"][1]
    assert "low must be one float or one per coordinate" in refused(*command, "--low", "0,0", kind="TargetError")
    assert "--low must be finite numbers with commas" in refused(*command, "--low", "0;1")
    assert "low must be below high" in refused(*command, "--low", "2", kind="TargetError")


def test_compact_support_of_ones_own_function(own, call, refused):
    assert "with compact support must be 0 on the boundary" in refused(
        "plan", "own.py:halve", "--epsilon", 0.3, "--lipschitz", 0.5, "--compact-support", kind="TargetError"
    )
    command = ["plan", "own.py:tent", "--epsilon", "1.5", "--lipschitz", "2", "--low", "-1", "--compact-support"]
    stages = [stage["name"] for stage in call(*command, "--json").data["stages"]]
    made = af.plan(af.target(lambda x: x * 0, tokens=2, lipschitz=2.0, domain=CompactSupport(-1.0, 1.0)), tolerance=1.5)
    assert stages == [stage.name for stage in made.stages]


def test_functions_of_one_sequence(own, call, refused):
    command = ["plan", "own.py:halve_one", "--epsilon", "0.3", "--lipschitz", "0.5"]
    assert "vectorised=False" in refused(*command, kind="TargetError")
    assert call(*command, "--one-by-one").code == 0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("raising", "it raised RuntimeError: [red]boom\\x1b[31m"),
        ("missing_numbers", "it returned nan"),
        ("steep", "must not change faster than its modulus says"),
        ("absent", "must name a function that exists"),
    ],
)
def test_functions_that_break_their_word(own, refused, function, message):
    # A program needs no modulus, and so it may be wrong.
    command = ("plan", f"own.py:{function}", "--epsilon", 0.3, "--lipschitz", 0.5, "--method", "averaging")
    error = refused(*command, kind="TargetError")
    assert message in error
    assert "\x1b" not in error


def test_what_a_function_prints_stays_out_of_the_result(own, call):
    outcome = call("plan", "own.py:noisy", "--epsilon", 0.3, "--lipschitz", 0.5, "--json")
    assert outcome.data["target"] == "noisy"
    assert "noise" in outcome.err


def test_hostile_names_are_shown_as_text(own, call, refused):
    for method in ("compile", "averaging"):
        text = call("plan", "own.py:evil", "--epsilon", 0.3, "--lipschitz", 0.5, "--method", method).out
        assert "[bold red]evil\\x1b[31m on 2 tokens" in text
    command = ("plan", "own.py:evil", "--epsilon", 1e-9, "--lipschitz", 0.5, "--method", "averaging")
    error = refused(*command, kind="PlanError")
    assert "[bold red]evil\\x1b[31m on 2 tokens" in error


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ("--tokens", "100000"),
        ("--width", "50", "--method", "averaging"),
        ("--set", "sharpness=1e308", "--method", "selective-shift"),
        ("--set", "sharpness=1e308", "--method", "compile"),
        ("--p", "1e300"),
    ],
)
def test_what_is_far_too_large_is_refused_and_not_a_traceback(call, options):
    outcome = call("plan", "softmax", "--epsilon", 0.3, *options)
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")


BUILD_KEYS = {
    *("target", "tokens", "width", "p", "epsilon", "certified_error", "measured_error", "measured_interval", "method"),
    *("layers", "attention_layers", "parameters", "block_shape", "cells_per_axis", "id_bits", "seconds", "positions"),
    *("kind", "output"),
}


@pytest.mark.parametrize("method", ["averaging", "compile"])
def test_build_writes_a_model_that_loads(own, call, method):
    outcome = call("build", "sort", "--positions", "--epsilon", 0.3, "--method", method, "-o", "model", "--json")
    assert outcome.code == 0
    assert outcome.err == ""
    data, loaded = outcome.data, af.load("model")
    assert set(data) >= BUILD_KEYS
    claim = loaded.certificate
    assert data["target"] == "sort"
    assert data["output"] == "model"
    shape = loaded.network.shape
    assert data["block_shape"] == [shape.heads, shape.head_size, shape.hidden_size]
    assert data["positions"] is True
    kinds = {"averaging": Evidence.UNCONDITIONAL, "compile": Evidence.PROGRAM}
    assert data["kind"] == claim.kind.value == kinds[method].value
    assert data["certified_error"] == claim.certified_error <= data["epsilon"] == 0.3
    assert data["measured_error"] == claim.measured.error
    assert data["measured_interval"] == [claim.measured.low, claim.measured.high]
    assert data["layers"] == loaded.network.layer_count
    assert data["attention_layers"] == loaded.network.attention_layer_count
    assert data["parameters"] == loaded.network.parameter_count
    assert data["cells_per_axis"] == (None if method == "compile" else list(claim.grid.cells_per_axis))
    assert data["method"] == claim.construction["method"] == method
    assert data["id_bits"] == claim.construction.get("id_bits")
    assert (data["id_bits"] is None) == (method == "compile")
    assert data["seconds"] > 0


@pytest.mark.parametrize("function", ["halve", "nothing"])
def test_a_function_that_needs_no_steps_is_built_saved_and_proved(own, call, function):
    command = ("build", f"own.py:{function}", "--epsilon", 0.3, "--method", "compile", "-o", "model", "--json")
    assert call(*command).data["layers"] == 1
    assert call("verify", "model", "--target", f"own.py:{function}").code == 0


def test_build_without_output_writes_nothing_and_says_so(own, call):
    before = set(own.iterdir())
    outcome = call("build", "centre", "--epsilon", 0.5)
    assert outcome.code == 0
    assert outcome.err == ""
    assert "CERTIFIED error at most" in outcome.out
    assert "nothing was written" in outcome.out
    assert set(own.iterdir()) == before
    assert call("build", "centre", "--epsilon", 0.5, "--json").data["output"] is None


def test_what_is_there_is_not_overwritten_unasked_and_nothing_is_built(own, call, refused, monkeypatch):
    call("build", "centre", "--epsilon", 0.5, "-o", "model")
    before = (own / "model" / "certificate.json").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("anyformer.model.construct", lambda *_, **__: pytest.fail("nothing must be built"))
        assert "--output must be a new folder; 'model' exists" in refused(
            "build", "centre", "--epsilon", 0.4, "-o", "model"
        )
        assert "'own.py' is a file" in refused("build", "centre", "--epsilon", 0.4, "-o", "own.py", "--overwrite")
        assert "is a file" in refused("build", "centre", "--epsilon", 0.4, "-o", "own.py/model")
        assert "holds other files" in refused("build", "centre", "--epsilon", 0.4, "-o", ".", "--overwrite")
    assert (own / "model" / "certificate.json").read_bytes() == before
    assert call("build", "centre", "--epsilon", 0.4, "-o", "model", "--overwrite").code == 0
    assert json.loads((own / "model" / "certificate.json").read_text())["tolerance"] == (0.4).hex()


def test_a_build_that_cannot_be_certified_is_a_failed_check(own, refused, monkeypatch):
    def fail(*_, **__):
        raise CertificateError("the proof only reaches an error of 0.4")

    monkeypatch.setattr("anyformer.model.certify", fail)
    message = refused("build", "centre", "--epsilon", 0.3, "-o", "model", code=1, kind="CertificateError")
    assert "the proof only reaches" in message
    assert not (own / "model").exists()


def test_an_interrupted_build_leaves_nothing(own, refused, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("anyformer.model.certify", interrupt)
    message = refused("build", "centre", "--epsilon", 0.3, "-o", "model", code=130, kind="KeyboardInterrupt")
    assert message == "error: interrupted; nothing was written\n"
    assert not (own / "model").exists()


def test_a_request_names_its_target(own):
    from anyformer.cli.options import Options, target_of

    made = target_of(Options(target="softmax", epsilon=0.1, tokens=3, parameters=["sharpness=5"]))
    assert made == af.targets.softmax(tokens=3, sharpness=5.0)
    positional = target_of(Options(target="softmax", epsilon=0.1, positions=True))
    assert positional == replace(af.targets.softmax(tokens=2), symmetry=Symmetry.NONE)


def test_limits_of_heads_and_hidden_units(call):
    limits = ("--heads", 2, "--hidden-size", 4)
    data = call("plan", "softmax", "--tokens", 3, "--epsilon", 0.02, "--method", "compile", *limits, "--json").data
    heads, head_size, hidden_size = data["block_shape"]
    assert (heads <= 2, head_size, hidden_size) == (True, 1, 4)
    assert data["layers"] > 4
