"""Planted faults: nothing that was tampered with is called proved if its true error is too large.

The adversary recomputes the digest and restates whatever bound would be convenient, so only the derivation can stop it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates import Grid, measure_error
from anyformer.certificates.bounds import refinement
from anyformer.certificates.bounds.bound import derive_bound
from anyformer.certificates.propagation.enclosures import Enclosure
from anyformer.certificates.propagation.propagate import propagate
from anyformer.errors import CertificateError
from anyformer.networks import FeedForwardStage, Network, Stage
from anyformer.networks.digest import digest
from anyformer.networks.layers import weights
from anyformer.runtime import run

MUTATIONS_PER_MODEL = 36


@dataclass(frozen=True)
class Case:
    """A tampered claim: the network, the certificate as the adversary would write it, and the target it is about."""

    what: str
    network: Network
    certificate: af.Certificate
    target: af.Target


def with_arrays(stage: Stage, **arrays: np.ndarray) -> Stage:
    return replace(stage, **arrays)


def with_stage(network: Network, k: int, stage: Stage) -> Network:
    return replace(network, stages=(*network.stages[:k], stage, *network.stages[k + 1 :]))


def flip_bit(rng: np.random.Generator, network: Network) -> tuple[str, Network]:
    k = int(rng.integers(len(network.stages)))
    name = str(rng.choice(list(weights(network.stages[k]))))
    array = weights(network.stages[k])[name].copy()
    where, bit = int(rng.integers(array.size)), int(rng.integers(64))
    array.ravel()[where : where + 1].view(np.uint64)[:] ^= np.uint64(1 << bit)
    if not np.isfinite(array).all():
        array = np.nan_to_num(array, nan=1e6, posinf=1e6, neginf=-1e6)
    return f"bit {bit} of {name}[{where}] in stage {k}", with_stage(
        network, k, with_arrays(network.stages[k], **{name: array})
    )


def scale_entry(rng: np.random.Generator, network: Network) -> tuple[str, Network]:
    """Scale a weight that is not 0, by little or much."""
    k = int(rng.integers(len(network.stages)))
    stage = network.stages[k]
    name = str(rng.choice([n for n, a in weights(stage).items() if a.any()]))
    array, factor = weights(stage)[name].copy(), float(rng.choice([-1.0, 0.0, 0.5, 0.99, 1 + 1e-9, 1.5]))
    where = int(rng.choice(np.flatnonzero(array)))
    array.ravel()[where] *= factor
    return f"{name}[{where}] times {factor} in stage {k}", with_stage(network, k, with_arrays(stage, **{name: array}))


def scale_thresholds(rng: np.random.Generator, network: Network) -> tuple[str, Network]:
    k = int(rng.choice([k for k, s in enumerate(network.stages) if isinstance(s, FeedForwardStage) and s.b_1.any()]))
    stage, factor = network.stages[k], float(rng.choice([0.5, 0.9, 0.999, 1 + 1e-6, 1.01, 2.0]))
    assert isinstance(stage, FeedForwardStage)
    return f"thresholds of {stage.name} times {factor}", with_stage(
        network, k, with_arrays(stage, b_1=stage.b_1 * factor)
    )


def reorder_layers(rng: np.random.Generator, network: Network) -> tuple[str, Network]:
    k = int(rng.choice([k for k, stage in enumerate(network.stages) if len(stage) > 1]))
    stage = network.stages[k]
    order = np.arange(len(stage))
    if rng.random() < 0.3:
        order = order[::-1]
    else:
        i, j = rng.choice(len(stage), 2, replace=False)
        order[[i, j]] = order[[j, i]] if rng.random() < 0.7 else order[[i, i]]
    arrays = {name: array[order] for name, array in weights(stage).items()}
    return f"layers of {stage.name} reordered", with_stage(network, k, with_arrays(stage, **arrays))


def drop_layer(rng: np.random.Generator, network: Network) -> tuple[str, Network]:
    k = int(rng.choice([k for k, stage in enumerate(network.stages) if len(stage) > 1]))
    stage, gone = network.stages[k], int(rng.integers(len(network.stages[k])))
    arrays = {name: np.delete(array, gone, axis=0) for name, array in weights(stage).items()}
    return f"layer {gone} of {stage.name} dropped", with_stage(network, k, with_arrays(stage, **arrays))


def drop_or_swap_stages(rng: np.random.Generator, network: Network) -> tuple[str, Network]:
    k = int(rng.integers(len(network.stages) - 1))
    stages = list(network.stages)
    if rng.random() < 0.5:
        del stages[k]
        return f"stage {k} dropped", replace(network, stages=tuple(stages))
    stages[k], stages[k + 1] = stages[k + 1], stages[k]
    return f"stages {k} and {k + 1} swapped", replace(network, stages=tuple(stages))


def blunt_attention(rng: np.random.Generator, network: Network) -> tuple[str, Network]:
    k = next(k for k, stage in enumerate(network.stages) if stage.kind == "attention")
    stage, factor = network.stages[k], float(rng.choice([1e-6, 1e-4, 1e-3, 1e-2, 0.1]))
    return f"sharpness times {factor}", with_stage(
        network, k, replace(stage, W_Q=stage.W_Q * factor, b_Q=stage.b_Q * factor)
    )


WEIGHT_MUTATIONS: list[Callable[[np.random.Generator, Network], tuple[str, Network]]] = [
    flip_bit,
    flip_bit,
    scale_entry,
    scale_entry,
    scale_thresholds,
    reorder_layers,
    drop_layer,
    drop_or_swap_stages,
    blunt_attention,
]


def convenient(certificate: af.Certificate, network: Network) -> af.Certificate:
    """What an adversary would state: a tolerance that the honest network just met, and the digest of what is there."""
    tolerance = certificate.certified_error * 1.0001
    return replace(
        certificate,
        weights_digest=digest(network),
        tolerance=tolerance,
        certified_error=tolerance,
        terms=dict.fromkeys(certificate.terms, 1000000000.0),
    )


def tampered_weights(model: af.Model, count: int) -> Iterator[Case]:
    rng = np.random.default_rng(0)
    assert model.target is not None
    for k in range(count):
        what, network = WEIGHT_MUTATIONS[k % len(WEIGHT_MUTATIONS)](rng, model.network)
        yield Case(what, network, convenient(model.certificate, network), model.target)


def tampered_claims(model: af.Model) -> Iterator[Case]:
    target, network, claim = model.target, model.network, convenient(model.certificate, model.network)
    assert target is not None
    for factor in (0.1, 0.5, 0.7, 0.8):
        smaller = replace(claim, tolerance=factor * claim.measured.low, certified_error=factor * claim.measured.low)
        yield Case(f"tolerance {factor} of the measured error", network, smaller, target)
    for p in (1.0, 4.0):
        yield Case(f"p = {p}", network, replace(claim, p=p, tolerance=1e-3, certified_error=1e-3), target)
    rows = list(zip(claim.grid.lows, claim.grid.highs, strict=True))
    wide = Grid(claim.grid.lows, tuple(np.append(low[1:], 1.0) for low, _ in rows))
    yield Case("cells that cover their walls", network, replace(claim, grid=wide), target)
    few = Grid(tuple(low[:1] for low, _ in rows), tuple(high[:1] for _, high in rows))
    yield Case("one cell only", network, replace(claim, grid=few), target)
    for name in ("copy-first", "centroid-distance", "reverse", "softmax"):
        other = replace(af.targets.ready_made(name, target.tokens, target.width), symmetry=target.symmetry)
        if name != target.name:
            yield Case(f"target {name}", network, replace(claim, tolerance=0.05, certified_error=0.05), other)


def true_error_exceeds(case: Case) -> bool:
    """Whether sampling shows, beyond its confidence interval, that the error is above the tolerance."""

    def outputs(x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            # What overflowed is as wrong as can be.
            return np.nan_to_num(run(case.network, x), nan=1e6, posinf=1e6, neginf=-1e6)

    certificate = case.certificate
    return measure_error(outputs, case.target, certificate.p).low > certificate.tolerance


@pytest.mark.parametrize("index", [4, *(pytest.param(k, marks=pytest.mark.slow) for k in (0, 1, 2, 3, 5, 6, 7))])
def test_nothing_wrong_is_ever_proved(small_models, averaged_models, index, monkeypatch):
    monkeypatch.setattr(refinement, "WORK_BOXES", 1 << 17)
    model = [*small_models, *averaged_models][index]
    cases = [*tampered_weights(model, MUTATIONS_PER_MODEL), *tampered_claims(model)]
    wrong = proved = 0
    for case in cases:
        verdict = af.verify(case.network, case.certificate, case.target).verdict
        exceeds = true_error_exceeds(case)
        assert not (exceeds and verdict is af.Verdict.PROVED), case.what
        wrong += exceeds
        proved += verdict is af.Verdict.PROVED
    assert len(cases) >= 40
    # The test is not vacuous: many mutations do harm, and the checker still proves some that do not.
    assert wrong >= 12
    assert proved >= 3


def test_a_refutation_shows_an_input_where_it_fails(small_models):
    model = small_models[0]
    value_map = next(k for k, stage in enumerate(model.network.stages) if stage.name == "value map")
    stage = model.network.stages[value_map]
    assert isinstance(stage, FeedForwardStage)
    network = with_stage(model.network, value_map, replace(stage, b_2=stage.b_2 + np.float64(0.25)))
    result = af.verify(network, convenient(model.certificate, network), model.target)
    assert result.verdict is not af.Verdict.PROVED
    strict = replace(convenient(model.certificate, model.network), tolerance=0.05, certified_error=0.05)
    result = af.verify(model.network, strict, model.target)
    assert result.verdict is af.Verdict.REFUTED
    assert result.witness is not None
    assert model.target is not None
    gap = np.abs(model(result.witness) - model.target(result.witness)).max()
    assert gap > 0.05
    assert "the error is at least" in result.reason


def test_another_digest_is_not_proved(small_models):
    model = small_models[0]
    result = af.verify(model.network, replace(model.certificate, weights_digest="0" * 64), model.target)
    assert result.verdict is af.Verdict.UNDECIDED
    assert "issued for other weights" in result.reason


def test_understated_terms_are_not_proved(small_models):
    model = small_models[0]
    certificate = model.certificate
    better = replace(certificate, certified_error=certificate.certified_error * 0.999)
    result = af.verify(model.network, better, model.target)
    assert result.verdict is af.Verdict.UNDECIDED
    assert "states certified_error" in result.reason
    for name in certificate.terms:
        terms = {**certificate.terms, name: certificate.terms[name] * 0.5}
        assert af.verify(model.network, replace(certificate, terms=terms)).verdict is not af.Verdict.PROVED


def test_a_false_symmetry_or_modulus_is_refuted_with_the_input(small_models):
    positional = small_models[1]
    declared = replace(positional.certificate.target, symmetry=af.targets.Symmetry.EQUIVARIANT)
    result = af.verify(positional.network, replace(positional.certificate, target=declared))
    assert result.verdict is af.Verdict.REFUTED
    assert "permutation" in result.reason
    steep = af.target(lambda x: 5 * x, tokens=2, lipschitz=1.0)
    result = af.verify(small_models[0].network, small_models[0].certificate, steep)
    assert result.verdict is af.Verdict.REFUTED


def test_honest_models_are_proved(small_models):
    for model in small_models:
        result = af.verify(model.network, model.certificate)
        assert result.verdict is af.Verdict.PROVED
        assert result.bound is not None
        assert result.bound.upper == model.certificate.certified_error


def test_parts_that_do_not_belong_together_are_refused(small_models):
    model = small_models[0]
    with pytest.raises(af.AnyformerError, match=r"same \(tokens, width\); got network \(2, 1\)"):
        af.verify(model.network, model.certificate, af.targets.sort(tokens=3))
    assert model.construction is not None
    with pytest.raises(af.AnyformerError, match="hard stages"):
        af.verify(model.construction.hard_network, model.certificate)
    outside = Grid((np.array([-1.0, 0.5]),), (np.array([0.4, 1.0]),))
    with pytest.raises(af.AnyformerError, match="inside the domain"):
        af.verify(model.network, replace(model.certificate, grid=outside))


def test_cells_prove_nothing_about_an_embedding(small_models):
    """An embedding that changes nothing would prove the same; one that doubles must not."""
    model = small_models[0]
    width = model.network.width
    for factor in (1.0, 2.0):
        around = {"W_E": factor * np.eye(width), "W_R": np.eye(width), "b_R": np.zeros(width)}
        network = replace(model.network, **around)
        restated = replace(model.certificate, weights_digest=digest(network))
        message = "cells are proved for networks without an embedding; this one embeds tokens of width 1"
        with pytest.raises(CertificateError, match=message):
            af.verify(network, restated)
        with pytest.raises(CertificateError, match=message):
            derive_bound(network, restated.target.target(), restated.grid, restated.p)
        anything = np.zeros((1, network.tokens, width))
        with pytest.raises(CertificateError, match=message):
            propagate(network, Enclosure.box(anything, anything))
