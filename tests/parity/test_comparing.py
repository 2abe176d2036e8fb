"""Runtimes side by side: what differs shows, what is missing is a row, and a broken guarantee is called broken."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates.checker import Verdict
from anyformer.errors import MissingPackageError, ParityError
from anyformer.networks import evaluate
from anyformer.networks.dtypes import BFLOAT16, DTYPES, FLOAT32
from anyformer.networks.network import cast
from anyformer.parity import Outcome, Runner, inputs_for
from anyformer.parity.runners import Cast, Definition, Engine, Jax, OnnxRuntime, PyTorch


@pytest.fixture(scope="module")
def compiled():
    return af.construct("mean-scale", 1e-2, tokens=3, width=2, p=np.inf, method="compile")


@pytest.fixture(scope="module")
def table():
    return af.construct("sort", 0.3, tokens=3, method="sparse-averaging", pattern="star")


@dataclass(frozen=True)
class Shifted(Runner):
    """A runtime that is off by a constant."""

    by: float
    name: ClassVar[str] = "shifted"

    def prepare(self, model):
        return lambda x: evaluate(model.network, x) + self.by


@dataclass(frozen=True)
class Absent(Runner):
    """A runtime that is not installed."""

    name: ClassVar[str] = "absent"

    def prepare(self, model):
        raise MissingPackageError("nowhere must be installed; it is not.")


@dataclass(frozen=True)
class Overflowing(Runner):
    """A runtime that gives no number."""

    name: ClassVar[str] = "overflowing"

    def prepare(self, model):
        return lambda x: np.full_like(x, np.nan)


def row_of(found, runtime, dtype):
    (row,) = [row for row in found.rows if (row.runtime, row.dtype) == (runtime, dtype)]
    return row


def test_the_definition_and_the_engine_agree_to_the_bit_in_every_type(compiled, table):
    for model in (compiled, table):
        found = af.parity(model, inputs=20, runners=[Definition(), Engine()], proofs=False)
        assert len(found.rows) == 2 * len(DTYPES)
        assert found.holds
        for dtype in DTYPES:
            assert replace(row_of(found, "engine", dtype), runtime="NumPy") == row_of(found, "NumPy", dtype)
        assert row_of(found, "NumPy", "float64").difference == 0


def test_numbers_are_those_of_the_inputs(compiled):
    found = af.parity(compiled, inputs=20, seed=3, runners=[Definition()], proofs=False)
    asked = inputs_for(compiled.target, compiled.certificate, 20, 3)
    assert found.inputs == len(asked.x)
    for dtype in (FLOAT32, BFLOAT16):
        x = asked.rounded(dtype, compiled.target)
        outputs = evaluate(cast(compiled.network, dtype), x)
        row = row_of(found, "NumPy", dtype.name)
        assert row.difference == np.abs(outputs - evaluate(compiled.network, x)).max()
        assert row.error == row.distance == np.abs(outputs - compiled.target(x)).max()


def test_jax_computes_the_same(compiled):
    pytest.importorskip("jax")
    row = row_of(af.parity(compiled, inputs=20, dtypes=["float64"], runners=[Jax()], proofs=False), "JAX", "float64")
    assert row.holds
    # Three layers of sums of a few numbers below 4, each rounded.
    assert row.difference <= 2.0**-45


@pytest.mark.slow
def test_jax_computes_the_same_in_every_type_and_to_the_bit_on_cells(compiled, table):
    pytest.importorskip("jax")
    for model in (compiled, table):
        found = af.parity(model, inputs=20, runners=[Jax()], proofs=False)
        row = row_of(found, "JAX", "float64")
        assert row.holds
        assert row.difference_on_cells == (0 if model is table else None)
        half = row_of(found, "JAX", "float16")
        assert half.outcome is Outcome.REFUSED or half.difference > row.difference


def test_jax_leaves_the_settings_of_others_alone(compiled):
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    af.parity(compiled, inputs=4, dtypes=["float64"], runners=[Jax()], proofs=False)
    assert jax.config.jax_enable_x64 == before
    assert jax.numpy.ones(1).dtype == ("float64" if before else "float32")


def test_jax_refuses_other_maps():
    pytest.importorskip("jax")
    model = af.construct("mean-scale", 0.5, tokens=2, method="averaging", probability_map=af.networks.Sparsemax())
    row = row_of(af.parity(model, inputs=4, dtypes=["float64"], runners=[Jax()], proofs=False), "JAX", "float64")
    assert (row.outcome, row.holds) == (Outcome.REFUSED, None)
    assert "only softmax" in row.note


@pytest.mark.parametrize("runner", [PyTorch(), OnnxRuntime()])
def test_the_other_runtimes_agree_or_say_that_they_are_missing(compiled, table, runner):
    for model in (compiled, table):
        found = af.parity(model, inputs=20, dtypes=["float64"], runners=[runner], proofs=False)
        row = row_of(found, runner.name, "float64")
        assert row.outcome in (Outcome.RAN, Outcome.NOT_INSTALLED)
        if row.outcome is Outcome.RAN:
            assert row.holds
            assert row.difference <= 2.0**-40 or model is table
            assert row.difference_on_cells == (0 if model is table else None)


def test_a_runtime_that_is_not_installed_is_a_row(compiled):
    found = af.parity(compiled, inputs=4, runners=[Absent(), Engine()], proofs=False)
    for dtype in DTYPES:
        row = row_of(found, "absent", dtype)
        assert (row.outcome, row.holds) == (Outcome.NOT_INSTALLED, None)
        assert row.note == "nowhere must be installed; it is not"
    assert found.holds


def test_a_runtime_that_is_off_breaks_the_guarantee(compiled, table):
    assert af.parity(compiled, inputs=8, runners=[Shifted(1e-6)], proofs=False).holds
    for model in (compiled, table):
        found = af.parity(model, inputs=64, runners=[Shifted(0.5)], proofs=False)
        assert not found.holds
        assert found.ends_at == "float64"
        assert row_of(found, "shifted", "float64").difference == pytest.approx(0.5)


def test_what_is_no_number_is_infinitely_wrong(compiled, table):
    for model in (compiled, table):
        found = af.parity(model, inputs=8, runners=[Overflowing()], proofs=False)
        row = row_of(found, "overflowing", "float64")
        assert row.difference == row.error == row.distance == np.inf
        assert not found.holds


def test_weights_that_do_not_fit_end_the_guarantee():
    model = af.construct("bump", 0.3, tokens=2, method="averaging")
    found = af.parity(model, inputs=8, runners=[Engine()], proofs=False)
    assert found.holds
    assert found.ends_at == "float32"
    assert row_of(found, "engine", "float32").note.startswith("the weights do not fit: W_2 must be finite")


def test_the_checker_is_asked_about_every_type(compiled, table):
    found = af.parity(compiled, inputs=4, runners=[])
    assert [proof.dtype for proof in found.proofs] == list(DTYPES)
    assert found.proof("float64").verdict is found.proof("float32").verdict is Verdict.PROVED
    assert found.proof("float64").bound <= found.tolerance
    assert found.proof("bfloat16").verdict is not Verdict.PROVED
    assert [proof.dtype for proof in af.parity(table, inputs=4, runners=[]).proofs] == ["float64"]


def test_a_claim_that_is_refuted_breaks_the_guarantee(compiled):
    stages = list(compiled.network.stages)
    stages[1] = replace(stages[1], W_2=stages[1].W_2 * 1.5)
    wrong = replace(compiled, network=replace(compiled.network, stages=tuple(stages)))
    found = af.parity(wrong, inputs=4, runners=[])
    assert found.proof("float64").verdict is not Verdict.PROVED
    assert not af.parity(wrong, inputs=4, runners=[Engine()], proofs=False).holds


def test_a_float32_model_is_judged_in_float32():
    model = af.construct("mean-scale", 1e-2, tokens=3, p=np.inf, method="compile", dtype="float32")
    found = af.parity(model, inputs=8, runners=[Engine()])
    assert (found.dtype, found.holds) == ("float32", True)
    assert row_of(found, "engine", "float64").difference == 0
    assert 0 < row_of(found, "engine", "float32").difference < 1e-5
    assert found.proof("float32").verdict is Verdict.PROVED


def test_inputs_are_inside_and_the_same_for_the_same_seed(table):
    target, certificate = table.target, table.certificate
    one, other = (inputs_for(target, certificate, 10, 7) for _ in range(2))
    assert np.array_equal(one.x, other.x)
    assert not np.array_equal(one.x, inputs_for(target, certificate, 10, 8).x)
    assert one.uniform == 10
    assert one.is_centre.sum() == one.centres == 64
    for dtype in DTYPES.values():
        x = one.rounded(dtype, target)
        assert dtype.holds(x)
        assert ((x >= 0) & (x <= 1)).all()


@pytest.mark.parametrize("given", [{"inputs": 1}, {"inputs": 2.5}, {"seed": -1}])
def test_bad_input_is_refused(compiled, given):
    with pytest.raises(ParityError, match="must be"):
        af.parity(compiled, runners=[], proofs=False, **given)


def test_a_cast_is_what_exports_take(compiled):
    made = Cast(cast(compiled.network, FLOAT32), compiled.certificate)
    assert made.network.dtype == FLOAT32
