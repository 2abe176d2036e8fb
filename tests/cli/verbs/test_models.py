import json
import shutil

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates import Evidence, Verdict
from anyformer.certificates.claims.certificate import assumptions
from anyformer.reports import trace


@pytest.fixture
def halved(own, call):
    """A table for a user's own function, in the working directory."""
    command = ("build", "own.py:halve", "--epsilon", 0.4, "--lipschitz", 0.5, "--method", "averaging", "-o", "halved")
    assert call(*command).code == 0
    return "halved"


@pytest.fixture
def compiled(own, call):
    """The same function, compiled."""
    assert call("build", "own.py:halve", "--epsilon", 0.4, "--method", "compile", "-o", "compiled").code == 0
    return "compiled"


def damaged(folder, place, change):
    """A copy of a model with something in its certificate changed."""
    copy = shutil.copytree(folder, place)
    path = copy / "certificate.json"
    certificate = json.loads(path.read_text())
    change(certificate)
    path.write_text(json.dumps(certificate))
    return copy


NAMES = ["mean-scale", "sort", "centre", "bump", "softmax", "running-maximum", "power-sums"]


@pytest.mark.parametrize("name", NAMES)
def test_verify_proves_what_was_built(call, folders, small_models, compiled_models, name):
    outcome = call("verify", folders[name], "--json")
    assert outcome.code == 0
    assert outcome.err == ""
    models = (*small_models, *compiled_models)
    model = next(model for model in models if model.certificate.target.name == name)
    kind = Evidence.UNCONDITIONAL if model in small_models else Evidence.PROGRAM
    data, result = outcome.data, model.verify()
    assert data["verdict"] == "proved"
    assert data["proved"] is True
    assert data["reason"] == result.reason
    assert data["derived"]["certified_error"] == result.bound.upper
    assert data["derived"]["terms"] == dict(model.certificate.terms)
    assert data["stated"] == {
        "certified_error": model.certificate.certified_error,
        "terms": dict(model.certificate.terms),
    }
    assert data["measured_error"] == model.certificate.measured.error
    assert data["witness"] is None
    assert data["kind"] == kind.value
    assert data["assumptions"] == assumptions(kind)


def test_verify_as_text(call, folders):
    outcome = call("verify", folders["mean-scale"])
    assert outcome.code == 0
    assert outcome.err == ""
    assert outcome.out.startswith("PROVED: ")
    flat = " ".join(outcome.out.split())
    for shown in (
        "reason",
        "coincidence",
        "rest volume",
        "derived now",
        "stated",
        *assumptions(Evidence.UNCONDITIONAL),
    ):
        assert shown in flat
    assert "\x1b" not in outcome.out


def test_verify_a_program_as_text(call, folders):
    outcome = call("verify", folders["softmax"])
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("PROVED: ")
    flat = " ".join(outcome.out.split())
    for shown in ("reason", "largest", "step 1", "derived now", "stated", *assumptions(Evidence.PROGRAM)):
        assert shown in flat
    assert "\x1b" not in outcome.out


@pytest.mark.parametrize("name", ["mean-scale", "softmax"])
def test_a_certificate_that_claims_too_much_is_not_proved(call, folders, tmp_path, name):
    def boast(certificate):
        certificate["certified_error"] = (0.01).hex()
        certificate["claim"] = "d_p(f, g) <= 0.01 in L^2"

    copy = damaged(folders[name], tmp_path / "copy", boast)
    outcome = call("verify", copy)
    assert outcome.code == 1
    assert outcome.out.startswith("UNDECIDED: ")
    assert "states certified_error = 0.01" in " ".join(outcome.out.split())
    assert call("verify", copy, "--json").data["verdict"] == "undecided"


def test_a_refutation_comes_with_a_witness(call, folders, tmp_path):
    def boast(certificate):
        certificate["tolerance"] = certificate["certified_error"] = (0.01).hex()
        certificate["claim"] = "d_p(f, g) <= 0.01 in L^2"

    copy = damaged(folders["mean-scale"], tmp_path / "copy", boast)
    outcome = call("verify", copy)
    assert outcome.code == 1
    assert outcome.out.startswith("REFUTED: ")
    assert "witness" in outcome.out
    data = call("verify", copy, "--json").data
    assert data["verdict"] == "refuted"
    assert data["proved"] is False
    assert np.shape(data["witness"]) == (2, 1)


def test_a_bound_that_is_infinite_is_null_in_json(call, folders, monkeypatch):
    from dataclasses import replace

    model = af.load(folders["mean-scale"])
    result = model.verify()
    bound = replace(result.bound, upper=np.inf, terms={**result.bound.terms, "rest": np.inf})
    endless = replace(result, verdict=Verdict.UNDECIDED, bound=bound)
    monkeypatch.setattr("anyformer.model.verify", lambda *_: endless)
    outcome = call("verify", folders["mean-scale"], "--json")
    assert outcome.code == 1
    assert outcome.data["derived"]["certified_error"] is None
    assert outcome.data["derived"]["terms"]["rest"] is None
    assert "inf" in call("verify", folders["mean-scale"]).out


def test_ones_own_function_must_be_named_again(halved, call, refused):
    message = refused("verify", halved)
    assert "--target must name the function: 'halve' is a user's own" in message
    assert call("verify", halved, "--target", "own.py:halve").code == 0
    assert call("verify", halved, "--target", "own.py:halve_one", "--one-by-one").code == 0
    assert call("verify", halved, "--target", "own.py:halve_one").code == 1
    noisy = call("verify", halved, "--target", "own.py:noisy", "--json")
    assert noisy.data["proved"] is True
    assert "noise" in noisy.err
    assert "--one-by-one must come with --target" in refused("verify", halved, "--one-by-one")


def test_a_programs_own_function_must_be_named_again_too(compiled, call, refused):
    assert "--target must name the function: 'halve' is a user's own" in refused("verify", compiled)
    assert call("verify", compiled, "--target", "own.py:halve").code == 0
    assert call("verify", compiled, "--target", "own.py:halve_one", "--one-by-one").code == 0
    # Other functions: one far away, one within the tolerance but not within the stated error, and some that fail.
    for other in ("steep", "third", "halve_one", "raising"):
        outcome = call("verify", compiled, "--target", f"own.py:{other}")
        assert (outcome.code, outcome.out.startswith("PROVED")) == (1, False)


def test_another_function_is_not_proved(halved, call):
    outcome = call("verify", halved, "--target", "own.py:steep")
    assert outcome.code == 1
    assert outcome.out.startswith("REFUTED: ")
    assert "the target is not what was declared" in " ".join(outcome.out.split())
    assert call("verify", halved, "--target", "own.py:raising", "--json").data["derived"] is None


def test_a_function_given_stands_in_for_a_ready_made_one(own, call, folders, refused):
    outcome = call("verify", folders["mean-scale"], "--target", "own.py:halve", "--json")
    assert outcome.code == 1
    assert outcome.data["proved"] is False
    assert "must be named with its place" in refused(
        "verify", folders["mean-scale"], "--target", "softmax", kind="TargetError"
    )


@pytest.mark.parametrize("verb", [("verify",), ("describe",), ("run", "-"), ("trace", "--input", "0.1, 0.2")])
def test_folders_that_are_no_models(own, refused, folders, verb):
    name, *rest = verb
    assert "there is none" in refused(name, "absent", *rest, kind="ModelFileError")
    assert "it is a file" in refused(name, "own.py", *rest, kind="ModelFileError")
    copy = shutil.copytree(folders["centre"], own / "copy")
    (copy / "certificate.json").write_text("{")
    assert "certificate.json" in refused(name, copy, *rest, kind="ModelFileError")


def test_describe_says_what_the_model_is(call, folders, small_models, compiled_models):
    for model in (*small_models, *compiled_models):
        data = call("describe", folders[model.certificate.target.name], "--json").data
        assert [(s["name"], s["kind"], s["layers"]) for s in data["stages"]] == [
            (stage.name, stage.kind, len(stage)) for stage in model.network.stages
        ]
        assert data["positions"] is (model.network.positional_encoding is not None)
        assert data["parameters"] == model.network.parameter_count
        shape = model.network.shape
        assert data["block_shape"] == [shape.heads, shape.head_size, shape.hidden_size]
        assert model in compiled_models or data["block_shape"] == [2, 1, 4]
        claim = data["certificate"]
        assert "not re-proved" in claim["status"]
        assert claim["certified_error"] == model.certificate.certified_error
        assert claim["weights_digest"] == model.certificate.weights_digest
    outcome = call("describe", folders["bump"])
    assert outcome.code == 0
    assert outcome.err == ""
    assert "not re-proved" in outcome.out
    assert "vanish outside" in outcome.out


def test_describe_shows_a_program(call, folders, compiled_models):
    data = call("describe", folders["softmax"], "--json").data
    network, claim = compiled_models[0].network, compiled_models[0].certificate
    assert (data["stream_width"], data["hidden_units"]) == (network.stream_width, network.hidden_unit_count)
    assert data["certificate"]["cells_per_axis"] is data["certificate"]["id_bits"] is None
    assert len(data["program"]) == len(claim.hints) > 0
    shown = call("describe", folders["softmax"])
    assert (shown.code, shown.err) == (0, "")
    assert "exp(3·x0 − " in shown.out
    assert "context ids" not in shown.out


def test_hostile_programs_are_shown_as_text(call, folders, tmp_path):
    hostile = "[bold red]evil[/]\x1b[31m"

    def rename(certificate):
        certificate["target"]["name"] = hostile
        certificate["target"]["ready_made"] = False
        program = certificate["construction"]["program"]
        certificate["construction"] = {"method": hostile, "program": _everywhere(program, hostile)}

    copy = damaged(folders["softmax"], tmp_path / "copy", rename)
    outcome = call("describe", copy)
    assert outcome.code == 0
    assert outcome.out.count("[bold red]evil[/]\\x1b[31m") > 2
    assert "\x1b" not in outcome.out + call("verify", copy).err
    assert call("describe", copy, "--json").data["certificate"]["target"] == hostile


def _everywhere(value, text):
    """The same JSON value with one text instead of every text in it."""
    if isinstance(value, dict):
        return {name: _everywhere(part, text) for name, part in value.items()}
    if isinstance(value, list):
        return [_everywhere(part, text) for part in value]
    return text if isinstance(value, str) else value


def test_hostile_model_files_are_shown_as_text(call, folders, tmp_path):
    hostile = "[bold red]evil[/]\x1b[31m"

    def rename(certificate):
        certificate["target"]["name"] = hostile
        certificate["target"]["ready_made"] = False
        certificate["construction"] = {"method": hostile, "id_bits": [hostile]}

    copy = damaged(folders["mean-scale"], tmp_path / "copy", rename)
    outcome = call("describe", copy)
    assert outcome.code == 0
    assert "[bold red]evil[/]\\x1b[31m on 2 tokens" in outcome.out
    assert "\x1b" not in outcome.out + call("verify", copy).err + call("trace", copy, "--input", "0.1,0.2").out
    assert call("describe", copy, "--json").data["certificate"]["target"] == hostile


@pytest.mark.parametrize(
    ("name", "given", "x"),
    [
        ("mean-scale", "0.15, 0.8", [[0.15], [0.8]]),
        ("sort", "0.9; 0.2", [[0.9], [0.2]]),
        ("centre", "0.1, 0.2; 0.3, 0.9", [[0.1, 0.2], [0.3, 0.9]]),
        ("centre", "0.1,0.2,0.3,0.9", [[0.1, 0.2], [0.3, 0.9]]),
        ("bump", "-3, 0.5", [[-3.0], [0.5]]),
    ],
)
def test_trace_agrees_with_the_python_interface(call, folders, name, given, x):
    data = call("trace", folders[name], "--input", given, "--json").data
    model = af.load(folders[name])
    seen = trace(model.network, model.certificate, x)
    assert data["input"] == x
    assert data["output"] == model(x).tolist() == [list(column) for column in seen.output]
    assert [stage["name"] for stage in data["stages"]] == [stage.name for stage in model.network.stages]
    assert data["context_ids"] == list(seen.context_ids)
    assert data["cells"] == [list(cells) for cells in seen.cells]
    assert data["expected"] == model.certificate.target.target()(x).tolist()
    moves = [len(stage["moves"]) for stage in data["stages"]]
    assert moves == [len(stage.moves) for stage in seen.stages]


def test_trace_as_text(call, folders):
    outcome = call("trace", folders["mean-scale"], "--input", "0.15, 0.8")
    assert outcome.code == 0
    assert outcome.err == ""
    for shown in (
        "quantise",
        "cell 1, code 1",
        "selective shifts",
        "context id",
        "value map",
        "given by layer",
        "Output",
    ):
        assert shown in outcome.out
    assert "\x1b" not in outcome.out


@pytest.mark.parametrize(
    "given", ["0.15", "0.1, 0.2, 0.3", "0.1; 0.2; 0.3", "a, b", "nan, 1", "inf, 1", "", ";", "0.1 0.2"]
)
def test_inputs_of_a_trace_that_do_not_fit(refused, folders, given):
    message = refused("trace", folders["mean-scale"], "--input", given)
    assert "--input must be 2 finite numbers" in message
    assert repr(given) in message


def test_inputs_of_a_trace_that_overflow(refused, folders):
    message = refused("trace", folders["mean-scale"], "--input", "1e300, -1e308", kind="NetworkError")
    assert "the values must stay finite" in message


def test_a_model_is_built_and_proved_in_float32(tmp_path, call):
    folder = tmp_path / "model"
    asked = ("build", "mean-scale", "--tokens", 5, "--epsilon", 1e-3, "--p", "inf", "--dtype", "float32", "-o", folder)
    assert "dtype       float32" in call(*asked).out
    proved = call("verify", folder)
    assert proved.code == 0
    assert "float32 on the whole domain" in proved.out
    assert "for every float32 input of the domain" in " ".join(proved.out.split())
    assert call("describe", folder, "--json").data["dtype"] == "float32"


def test_the_same_weights_in_another_type(tmp_path, call):
    """The claim of a float64 model, examined for float32: proved where there is room, and never called as stated."""
    folder = tmp_path / "model"
    assert call("build", "mean-scale", "--tokens", 5, "--epsilon", 1e-3, "--p", "inf", "-o", folder).code == 0
    proved = call("verify", folder, "--dtype", "float32")
    assert proved.code == 0
    assert "stated of float64" in proved.out
    assert "as stated" not in proved.out
    undecided = call("verify", folder, "--dtype", "bfloat16", "--json")
    assert undecided.code == 1
    assert undecided.data["proved"] is False
    wrong = call("verify", folder, "--dtype", "float8")
    assert wrong.code == 2
    assert "dtype must be one of float64, float32, float16, bfloat16; got 'float8'" in wrong.err
