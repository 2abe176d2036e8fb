import doctest
import importlib
import json
import pkgutil
from dataclasses import replace

import numpy as np
import pytest

import anyformer as af
from anyformer import plan, reports
from anyformer.certificates import Claim, Verdict, Verification
from anyformer.construction import METHODS
from anyformer.networks.roles import Role
from anyformer.reports.models import build_view, describe_data, describe_view
from anyformer.reports.plans import plan_data, plan_view
from anyformer.reports.terminal import facts, number, table, visible
from anyformer.reports.tracing.views import MOST_MOVES, trace_data, trace_view
from anyformer.reports.verification import verification_data, verification_view
from tests.random_networks import embedded_network
from tests.reports.rendering import render

WIDTHS = [60, 80, 200]
HOSTILE = "[bold red]evil[/]\x1b[31m\n:smile:\u202e"
HARMLESS = "[bold red]evil[/]\\x1b[31m\\n:smile:\\u202e"
MODULES = [module.name for module in pkgutil.walk_packages(reports.__path__, "anyformer.reports.")]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples_to_run():
    assert sum(doctest.testmod(importlib.import_module(name)).attempted for name in MODULES) >= 5


def test_the_list_of_public_names_is_true():
    for name in reports.__all__:
        assert getattr(reports, name).__doc__


def test_control_characters_are_written_out():
    assert visible(HOSTILE) == HARMLESS
    assert visible("a\nb\r", keep="\n") == "a\nb\\r"
    assert visible("\udc80") == "\\udc80"
    assert visible("ε ≤ 1 — naïve") == "ε ≤ 1 — naïve"


@pytest.mark.parametrize("columns", WIDTHS)
def test_cells_of_a_table_stay_on_one_line(columns):
    rows = [("first", "1234567890.125", "a long explanation " * 12)]
    text = render(table(("name", "value", "why"), rows, wrapping=("why",), right=("value",)), columns)
    assert "1234567890.125" in text
    assert max(map(len, text.splitlines())) <= columns
    assert "a long explanation" in render(facts([("name", rows[0][2])]), columns)


def built_networks():
    wanted = [
        (af.targets.bump(tokens=2, width=2), 0.5),
        (af.targets.sort(tokens=2), 0.3),
        (af.target(lambda x: x, tokens=2, lipschitz=1.0, domain=af.targets.Box(-1.0, 1.0)), 1.0),
    ]
    dense = [plan(*one, method=method) for one in wanted for method in ("averaging", "selective-shift")]
    ring = af.patterns.Ring()
    sort = af.targets.sort(tokens=3)
    sparse = [plan(sort, 0.4, method=name, pattern=ring) for name, method in METHODS.items() if method.is_sparse]
    compiled = [plan(sort, 0.4, method="compile")]
    return [made.method.build(made).network for made in (*dense, *sparse, *compiled)]


def test_every_stage_that_is_built_says_what_it_is_for_and_every_role_is_played():
    roles = {stage.role for network in built_networks() for stage in network.stages}
    assert roles == set(Role) - {Role.OTHER}


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_plan_shows_all_its_numbers(columns):
    made = plan(af.targets.centre(tokens=2, width=2), tolerance=0.6, method="averaging")
    text = render(plan_view(made), columns)
    data = plan_data(made)
    wanted = [
        f"{data['cells']:,}",
        f"{data['layers']:,}",
        f"{data['parameters']:,}",
        f"{data['id_bits']} bits",
        " × ".join(map(str, data["cells_per_axis"])),
    ]
    for shown in (*wanted, *(f"{value:.6g}" for value in data["error"].values()), *(s.name for s in made.stages)):
        assert shown in text
    assert max(map(len, text.splitlines())) <= columns


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_program_shows_all_its_numbers_and_steps(columns):
    made = plan(af.targets.softmax(tokens=3), tolerance=0.1, method="compile")
    text = render(plan_view(made), columns)
    data = plan_data(made)
    sizes = [f"{data[name]:,}" for name in ("stream_width", "hidden_units", "layers", "parameters")]
    steps = [row["step"] for row in data["program"]]
    assert steps
    for shown in (f"{data['planned_error']:.6g}", *sizes, *steps, *(stage.name for stage in made.stages)):
        assert shown in text
    assert max(map(len, text.splitlines())) <= columns


@pytest.mark.parametrize("columns", WIDTHS)
def test_why_another_method_was_taken_is_shown(columns):
    made = plan(af.targets.bump(tokens=2), tolerance=0.3)
    assert made.method == METHODS["averaging"]
    assert made.instead_of in " ".join(render(plan_view(made), columns).split())
    assert plan_data(made)["instead_of"] == made.instead_of
    assert plan(af.targets.bump(tokens=2), tolerance=0.3, method="averaging").instead_of is None


@pytest.mark.parametrize("kind", ["table", "program"])
@pytest.mark.parametrize("columns", WIDTHS)
def test_a_model_shows_all_its_numbers(small_models, compiled_models, columns, kind):
    built = small_models[2] if kind == "table" else compiled_models[2]
    text = render(describe_view(built), columns)
    for stage in built.network.stages:
        assert stage.name in text
    assert f"{built.network.parameter_count:,}" in text
    assert "read from the file, not re-proved" in " ".join(text.split())
    assert f"{built.certificate.certified_error:.6g}" in text
    assert "nothing was written" in render(build_view(built, 1.0, {}, None), columns)
    assert "CERTIFIED error at most" in render(
        build_view(built, 4.0, {"planning": 1.0, "proving": 3.0, "measuring": 1e-3}, "place"), columns
    )
    assert "4 s (3 s proving, 1 s planning)" in " ".join(
        render(build_view(built, 4.0, {"planning": 1.0, "proving": 3.0, "measuring": 1e-3}, "place"), columns).split()
    )


def test_hostile_names_are_shown_as_text(small_models):
    built = small_models[0]
    stages = tuple(replace(stage, name=HOSTILE) for stage in built.network.stages)
    claim = replace(
        built.certificate,
        target=replace(built.certificate.target, name=HOSTILE, is_ready_made=False),
        construction={"method": HOSTILE, "id_bits": HOSTILE},
    )
    evil = af.Model(replace(built.network, stages=stages), claim)
    seen = reports.trace(evil.network, evil.certificate, [[0.1], [0.9]])
    about = Claim(claim.target, claim.p, claim.tolerance, claim.kind, claim.weights_digest)
    result = Verification(about, Verdict.UNDECIDED, HOSTILE, None)
    for view in (
        describe_view(evil),
        build_view(evil, 1.0, {}, HOSTILE),
        trace_view(seen),
        verification_view(result, claim),
    ):
        text = render(view, columns=200)
        assert HARMLESS in text
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert json.loads(json.dumps(describe_data(evil)))["stages"][0]["name"] == HOSTILE


def test_a_trace_outside_the_domain_says_so(small_models):
    built = small_models[0]
    outside, inside = (reports.trace(built.network, built.certificate, [[0.1], [end]]) for end in (1.5, 1.0))
    assert "note: this input leaves the domain, [0, 1]; nothing is proved of it" in render(trace_view(outside), 200)
    assert trace_data(outside)["leaves_domain"] is True
    assert "leaves the domain" not in render(trace_view(inside), 200)


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_trace_shows_cells_codes_shifts_ids_and_values(small_models, columns):
    seen = reports.trace(small_models[0].network, small_models[0].certificate, [[0.15], [0.8]])
    text = render(trace_view(seen), columns)
    for stage in seen.stages:
        assert stage.name in text
        for move in stage.moves:
            assert number(move.before[0]) in text
            assert number(move.after[0]) in text
    ids = [f"context id {one:,} cells" for one in seen.context_ids]
    for shown in ("cell 1, code 1", "cell 6, code 6", "given by layer", "0.6875 to 0.8125", *ids):
        assert shown in text
    assert f"{seen.output[0][0] - seen.expected[0][0]:.6g}" in text
    assert max(map(len, text.splitlines())) <= columns


def test_a_trace_says_what_lies_in_no_cell(small_models):
    grid = small_models[0].certificate.grid
    between = float(grid.highs[0][0] + grid.lows[0][1]) / 2
    text = render(trace_view(reports.trace(small_models[0].network, small_models[0].certificate, [[between], [1.5]])))
    assert "between cells" in text
    assert "outside the domain" in text
    assert "(no whole number)" in text


def test_a_trace_splits_codes_into_cell_and_position(small_models):
    built = small_models[1]
    slot = int(built.construction.plan.lattice.slot_codes[1])
    text = render(trace_view(reports.trace(built.network, built.certificate, [[0.1], [0.9]])))
    cell = built.construction.plan.lattice.columns - 1
    assert f"cell {cell}, code {cell + slot} = {cell} + {slot} for its position" in text
    assert "Positions" in text


def test_tokens_that_share_a_cell_have_no_id(small_models):
    text = render(trace_view(reports.trace(small_models[0].network, small_models[0].certificate, [[0.11], [0.12]])))
    assert "no layer holds its id" in text
    assert "no layer moved any token" in text


def test_long_traces_are_cut_in_text_and_whole_in_json(small_models):
    seen = reports.trace(small_models[3].network, small_models[3].certificate, [[1e30], [0.5]])
    stage = replace(seen.stages[0], moves=seen.stages[0].moves[:1] * (MOST_MOVES + 1234))
    long = replace(seen, stages=(stage,))
    assert "… and 1,234 more; --json lists them all" in render(trace_view(long))
    assert len(trace_data(long)["stages"][0]["moves"]) == MOST_MOVES + 1234


def test_wide_tokens_break_between_numbers_only(small_models):
    built = small_models[2]
    seen = reports.trace(built.network, built.certificate, [[1 / 3, 2 / 3], [0.1234567890123, 0.9]])
    text = render(trace_view(seen), columns=60)
    for value in ("0.333333333333", "0.666666666667", "0.123456789012"):
        assert value in text


@pytest.mark.parametrize("verdict", list(Verdict))
def test_the_verdict_comes_first(small_models, verdict):
    built = small_models[0]
    witness = np.array([[0.25], [0.75]]) if verdict is Verdict.REFUTED else None
    result = replace(built.verify(), verdict=verdict, reason="because", witness=witness)
    text = render(verification_view(result, built.certificate))
    assert text.startswith(f"{verdict.name}: ")
    assert "because" in text
    assert ("0.25; 0.75" in text) is (verdict is Verdict.REFUTED)
    data = verification_data(result, built.certificate)
    assert data["verdict"] == verdict.name.lower()
    assert data["proved"] is (verdict is Verdict.PROVED)
    assert data["witness"] == (None if witness is None else [[0.25], [0.75]])


def test_a_network_with_an_embedding_shows_its_stream(small_models):
    network = embedded_network(0, tokens=5, width=3, stream=1234)
    model = replace(small_models[0], network=network)
    data = describe_data(model)
    assert (data["width"], data["stream_width"], data["hidden_units"]) == (3, 1234, 31)
    text = render(describe_view(model), 120)
    assert "at most 4 heads of size 3, 13 hidden units" in text
    assert "1,234 numbers a token, 31 hidden units in all" in text
    plain = describe_data(small_models[0])
    assert not {"stream_width", "hidden_units"} & set(plain)
    assert "at most 2 heads" not in render(describe_view(small_models[0]), 120)
