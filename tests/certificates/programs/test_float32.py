"""Float32 proofs of programs: the bound holds for the float32 program with sums in any order, and rounding counts."""

import re
import warnings

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates.programs import stream
from anyformer.certificates.programs.bound import bound_of_program
from anyformer.errors import CertificateError, NetworkError, PlanError, UncertifiedWarning
from anyformer.networks import FLOAT16, FLOAT32, FLOAT64, cast, evaluate
from anyformer.networks.dtypes import DType
from anyformer.programs.tracing import trace
from anyformer.targets.target import Target
from tests.certificates.float_programs import run_in_any_order
from tests.certificates.programs.functions import TARGETS

# What float32 surely reaches for each of them.
TOLERANCES = {"sort": 1e-3, "distances": 2e-3, "heights": 3e-3, "kinks": 3e-3, "softmax": 1e-3}
FEW = ("mean-scale", "attention", "cumulative-mean", "gate")


def inputs(target: Target, count: int, dtype: DType = FLOAT32) -> np.ndarray:
    """Numbers of the type inside the domain: random ones, corners, ends of the domain, near equal tokens."""
    rng = np.random.default_rng(7)
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    unit = rng.random((count, target.tokens, target.width))
    unit[: count // 4] = rng.integers(0, 2, unit[: count // 4].shape)
    unit[count // 4 : count // 2] = unit[count // 4 : count // 2, :1] * (1 - 1e-6 * unit[count // 4 : count // 2])
    return dtype.rounded_inside(low + unit * (high - low), low, high)


def errors(model: af.Model, target: Target, count: int) -> float:
    x = inputs(target, count)
    rng = np.random.default_rng(11)
    outputs = [evaluate(model.network, x), *(run_in_any_order(model.network, x, rng) for _ in range(3))]
    return max(float(np.abs(target(x) - y).max()) for y in outputs)


def check(name: str, count: int) -> None:
    target = TARGETS[name]()
    model = af.construct(target, TOLERANCES.get(name, 5e-4), p=np.inf, method="compile", dtype="float32")
    assert model.network.dtype == model.certificate.dtype == FLOAT32
    assert errors(model, target, count) <= model.certificate.certified_error
    again = model.verify(target)
    assert again.verdict is af.Verdict.PROVED, again.reason
    assert again.claim.facts()["dtype"] == "real arithmetic on the whole domain; float32 on the whole domain"


@pytest.mark.parametrize("name", FEW)
def test_no_float32_program_is_off_by_more_than_proved(name):
    check(name, 64)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(TARGETS) - set(FEW)))
def test_no_float32_program_is_off_by_more_than_proved_anywhere(name):
    check(name, 2000)


@pytest.mark.parametrize("name", ["attention", "mixing", "gate", "cumulative-mean"])
def test_a_checker_that_forgets_roundings_is_found_out(name, monkeypatch):
    """These programs are exact but for rounding, so that every bound without it is too small."""
    target = TARGETS[name]()
    model = af.construct(target, 1e-3, p=np.inf, method="compile", dtype="float32")
    honest = model.certificate.certified_error
    monkeypatch.setattr(stream.Stream, "roundings", lambda self, count: FLOAT64.roundings(count))
    forgetful = bound_of_program(trace(target), model.network, model.certificate.hints).largest
    seen = errors(model, target, 300)
    assert seen <= honest
    # Weights that are not float32 numbers, such as 1/3, are rounded too: that part of the error is no rounding of sums.
    assert forgetful < honest
    if name != "cumulative-mean":
        assert forgetful < seen


def test_rounding_has_its_own_share_of_the_tolerance():
    """In float64 as good as nothing is lost, in float32 the steps get less."""
    wide, narrow = (
        af.plan("softmax", 1e-4, tokens=128, p=np.inf, method="compile", dtype=dtype)
        for dtype in ("float64", "float32")
    )
    assert narrow.goal < 0.95 * wide.goal
    assert narrow.written.network.hidden_unit_count > wide.written.network.hidden_unit_count


@pytest.mark.parametrize(
    ("dtype", "tolerance", "words"),
    [
        ("float32", 1e-7, r"numbers of (2[89]|3\d) bits, where float32 has 24"),
        ("float16", 1e-3, r"numbers of \d\d bits, where float16 has 11"),
        ("bfloat16", 0.1, r"numbers of \d\d bits, where bfloat16 has 8"),
    ],
)
def test_too_few_bits_are_refused_with_their_count(dtype, tolerance, words):
    with pytest.raises(PlanError, match=words) as refused:
        af.plan("mean-scale", tolerance, tokens=5, p=np.inf, method="compile", dtype=dtype)
    assert "a wider type (--dtype)" in str(refused.value)


def test_the_bits_named_would_be_enough():
    """The count is no guess: a type with so many bits, and no other change, has room for the rounding."""
    from dataclasses import replace

    from anyformer.construction.compiling import rounding

    with pytest.raises(PlanError) as refused:
        af.plan("mean-scale", 1e-6, tokens=5, p=np.inf, method="compile", dtype="float32")
    bits = int(re.search(r"numbers of (\d+) bits", str(refused.value))[1])
    wider = replace(FLOAT32, name="float64", bits=bits)
    target = af.targets.mean_scale(tokens=5)
    plan = af.plan(target, 1e-6, p=np.inf, method="compile")
    network = plan.written.network
    enough = bound_of_program(trace(target), cast(network, FLOAT64), plan.written.hints).largest
    object.__setattr__(network, "dtype", wider)
    lost = bound_of_program(trace(target), network, plan.written.hints).largest - enough
    assert lost <= rounding.MOST_LOST * 1e-6


def test_small_types_are_proved_where_they_fit():
    target = af.targets.mean_scale(tokens=5)
    model = af.construct(target, 0.1, p=np.inf, method="compile", dtype="float16")
    x = inputs(target, 400, FLOAT16)
    assert np.abs(target(x) - evaluate(model.network, x)).max() <= model.certificate.certified_error <= 0.1
    assert model.verify().verdict is af.Verdict.PROVED


def test_a_cast_warns_and_keeps_no_certificate():
    model = af.construct("mean-scale", 1e-3, tokens=3, p=np.inf)
    with pytest.warns(UncertifiedWarning, match="rounded to float32 they are another network, without a certificate"):
        network = model.astype("float32")
    assert isinstance(network, af.Network)
    assert not hasattr(network, "certificate")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.astype("float64").dtype == FLOAT64
    with pytest.raises(CertificateError, match="must be about the network's own type, float32; it is about float64"):
        af.verify(network, model.certificate)


def test_a_claim_is_proved_again_of_a_cast_where_there_is_room():
    target = af.targets.mean_scale(tokens=3)
    model = af.construct(target, 1e-3, p=np.inf)
    claim = model.certificate
    network = cast(model.network, FLOAT32)
    again = af.recertify(network, claim)
    assert again.certificate.dtype == FLOAT32
    assert claim.certified_error < again.certificate.certified_error <= claim.tolerance
    assert again.verify().verdict is af.Verdict.PROVED
    assert model.verify(dtype="float32").verdict is af.Verdict.PROVED
    tight = af.construct("attention", 1e-12, tokens=3, width=2, p=np.inf)
    assert tight.verify(dtype="float32").verdict is not af.Verdict.PROVED
    with pytest.raises(CertificateError, match="of these weights"):
        af.recertify(cast(tight.network, FLOAT32), tight.certificate)


def test_damaged_weights_are_not_certified_again():
    from dataclasses import replace

    model = af.construct("mean-scale", 1e-3, tokens=3, p=np.inf)
    damaged = replace(model.network, b_R=model.network.b_R + 0.01)
    with pytest.raises(CertificateError, match="the claim is refuted of these weights"):
        af.recertify(damaged, model.certificate)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_model_of_a_type_comes_back_from_its_folder(dtype, tmp_path):
    model = af.construct("mean-scale", 0.1, tokens=5, p=np.inf, method="compile", dtype=dtype)
    model.save(tmp_path / "model")
    again = af.load(tmp_path / "model")
    assert again.network.dtype.name == again.certificate.dtype.name == dtype
    assert again.verify().verdict is af.Verdict.PROVED
    assert (tmp_path / "model" / "model.safetensors").stat().st_size < 8 * model.network.parameter_count + 4000
    text = (tmp_path / "model" / "certificate.json").read_text()
    (tmp_path / "model" / "certificate.json").write_text(text.replace(f'"dtype": "{dtype}"', '"dtype": "float8"'))
    with pytest.raises(af.AnyformerError, match="field dtype must be one of 'float32', 'float16', 'bfloat16'"):
        af.load(tmp_path / "model")


def damaged_in_float32(name: str, count: int, seed: int) -> None:
    """Damaged weights, hints and programs, rounded to float32: none gets a bound below its float32 error."""
    from dataclasses import replace

    from tests.certificates.programs.damages import Outcome, case, damage, judged

    one, rng = case(name), np.random.default_rng([seed, list(TARGETS).index(name)])
    low, high = one.target.domain.lows(one.target.width), one.target.domain.highs(one.target.width)
    single = replace(one, x=FLOAT32.rounded_inside(one.x[:500], low, high))
    for _ in range(count):
        damaged = damage(one, rng)
        try:
            network = cast(damaged.network, FLOAT32)
        except NetworkError:
            continue  # a weight that overflows is no weight
        outcome, what = judged(single, replace(damaged, network=network))
        assert outcome not in (Outcome.UNSOUND, Outcome.CRASH), f"{name}: {outcome.value}: {what}"


@pytest.mark.parametrize("name", FEW)
def test_no_damage_gets_a_bound_below_its_float32_error(name):
    damaged_in_float32(name, 8, seed=5)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_nor_do_many_more_in_float32(name):
    damaged_in_float32(name, 60, seed=6)


def test_inputs_beside_a_domain_without_numbers_refute_nothing():
    """No float32 number lies in this domain: the nearest ones are beside it, where nothing is claimed."""
    from anyformer.certificates.programs import error_bound

    low, high = 0.1, 0.1 + 1e-9
    target = af.target(lambda x: 1e16 * (x - low) ** 2, tokens=3, domain=af.targets.Box(low, high))
    network = cast(af.construct(target, 1e-3, p=np.inf, method="compile").network, FLOAT32)
    x = FLOAT32.rounded_inside(np.full((1, 3, 1), low), np.array([low]), np.array([high]))
    assert not ((x >= low) & (x <= high)).any()
    assert np.abs(target(x) - evaluate(network, x)).max() > 0.01
    assert error_bound._seen(network, target)[0] == 0.0
