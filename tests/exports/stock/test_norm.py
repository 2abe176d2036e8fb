"""The lemma about layer norms, against exact arithmetic and against PyTorch's own."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from anyformer.errors import ExportError
from anyformer.networks.dtypes import FLOAT32, FLOAT64

torch = pytest.importorskip("torch")

from anyformer.exports.stock.norm import EPSILON, Norm, norm_for, trusted_roundings  # noqa: E402

TYPES = [FLOAT64, FLOAT32]


def stream(rng, norm: Norm, reach: np.ndarray, exact: bool) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of a token: pairs that are opposite, or nearly; the large pair; zeros. And what the network sees."""
    a = norm.dtype.rounded(rng.uniform(-1, 1, len(reach)) * reach)
    b = -a if exact else norm.dtype.rounded(-a * (1 + rng.uniform(-8, 8, len(a)) * norm.dtype.unit))
    b = np.clip(b, -reach, reach)
    held = np.zeros(norm.width)
    held[: len(a)], held[len(a) : 2 * len(a)] = a, b
    held[2 * len(a) : 2 * len(a) + 2] = norm.large, -norm.large
    return held, (a - b) / 2


def cases(dtype, count=40):
    rng = np.random.default_rng(11)
    for k in range(count):
        channels = int(rng.integers(1, 40))
        reach = dtype.rounded(rng.uniform(0.01, 1, channels) * 10 ** rng.uniform(-2, 2))
        width = 2 * channels + 2 + int(rng.integers(0, 9))
        yield rng, norm_for(width, reach, dtype), reach, k % 2 == 0


def normalised(held: np.ndarray, norm: Norm):
    """What PyTorch makes of it: the outputs, the mean and 1/√(variance + ε)."""
    kind = getattr(torch, norm.dtype.name)
    ones, zeros = torch.ones(norm.width, dtype=kind), torch.zeros(norm.width, dtype=kind)
    given = torch.tensor(held, dtype=kind)[None]
    return [one.double().numpy()[0] for one in torch.native_layer_norm(given, [norm.width], ones, zeros, EPSILON)]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_pytorch_computes_means_and_variances_as_trusted(dtype):
    for rng, norm, reach, exact in cases(dtype):
        held, _ = stream(rng, norm, reach, exact)
        _, mean, scale = normalised(held, norm)
        numbers = [Fraction(value) for value in held.tolist()]
        true_mean = sum(numbers) / norm.width
        variance = sum((value - true_mean) ** 2 for value in numbers) / norm.width
        allowed = trusted_roundings(norm.width) * Fraction(dtype.unit)
        assert abs(Fraction(float(mean[0])) - true_mean) <= allowed * Fraction(norm.large)
        # 1/√ halves the variance's roundings and adds four; squared, these are twice as many.
        squared = Fraction(float(scale[0])) ** 2 * (variance + Fraction(EPSILON))
        assert abs(squared - 1) <= allowed + 8 * Fraction(dtype.unit)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_what_is_read_through_a_norm_is_within_the_lemma(dtype):
    for rng, norm, reach, exact in cases(dtype):
        held, x = stream(rng, norm, reach, exact)
        row = np.where(rng.random(len(x)) < 0.7, rng.normal(size=len(x)) * 10 ** rng.uniform(-2, 3), 0.0)
        row, bias = dtype.rounded(row), float(dtype.rounded(rng.normal(size=1))[0])
        read, wanted = through(held, norm, row, bias), sum_of(row, x) + Fraction(bias)
        assert abs(Fraction(read) - wanted) <= Fraction(norm.reading_error(row, reach, bias))


def through(held: np.ndarray, norm: Norm, row: np.ndarray, bias: float) -> float:
    """What a linear layer after the norm computes, with the weights of an encoder."""
    kind = getattr(torch, norm.dtype.name)
    half = row * (norm.unscale / 2)
    weights = np.concatenate([half, -half, np.zeros(norm.width - 2 * len(row))])
    out, _, _ = normalised(held, norm)
    tensors = (torch.tensor(one, dtype=kind) for one in (out[None], weights[None], [bias]))
    return float(torch.nn.functional.linear(*tensors)[0, 0])


def sum_of(row: np.ndarray, x: np.ndarray) -> Fraction:
    return sum((Fraction(w) * Fraction(v) for w, v in zip(row.tolist(), x.tolist(), strict=True)), Fraction(0))


@pytest.mark.parametrize("large", [4.0, 64.0, 4096.0])
def test_a_small_pair_is_seen_and_within_the_lemma(large):
    """The norm's factor, not roundings: far from a constant, but no further than proved, and not ten times nearer."""
    rng, reach = np.random.default_rng(3), np.array([0.5, 1.0, 0.25, 1.0])
    norm = replace(norm_for(10, reach, FLOAT64), large=large)
    held = np.array([*reach, *-reach, large, -large])
    row = rng.normal(size=4)
    off = abs(through(held, norm, row, 0.5) - float(sum_of(row, reach) + Fraction(0.5)))
    assert norm.off * abs(float(sum_of(row, reach))) / 10 <= off <= norm.reading_error(row, reach, 0.5)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_the_large_pair_is_the_best_power_of_two(dtype):
    """By the lemma itself, for a row that reads everything: neither a quarter nor four times as much is better."""
    for reach in (np.array([1.0, 0.5, 1.0]), np.array([40.0, 1e-3, 7.0, 2.0]), np.full(20, 0.1)):
        norm = norm_for(2 * len(reach) + 3, reach, dtype)
        assert np.log2(norm.large) == round(np.log2(norm.large))

        def cost(large, norm=norm, reach=reach):
            shift = trusted_roundings(norm.width) * dtype.unit * large
            changed = replace(norm, large=large)
            return changed.off * reach.max() + (changed.reading_error(np.ones(1), np.array([shift]), 0.0)) / 2

        assert cost(norm.large) <= min(cost(norm.large / 16), cost(norm.large * 16))


def test_nothing_is_read_exactly():
    norm = norm_for(10, np.ones(4), FLOAT64)
    assert norm.reading_error(np.zeros(4), np.ones(4), 3.0) == 0.0


def test_a_type_without_the_bits_is_refused():
    with pytest.raises(ExportError, match=r"must be off by at most 0.000244141 in float32"):
        norm_for(20_002, np.ones(10_000), FLOAT32)
    assert norm_for(20_002, np.ones(10_000), FLOAT64).off < 1e-12
