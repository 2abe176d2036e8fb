import inspect
import math

import numpy as np
import pytest

from anyformer import targets
from anyformer.errors import TargetError
from anyformer.targets import CATALOGUE, Symmetry, check_target, descriptions, is_ready_made, ready_made
from anyformer.targets.checks.samples import inside, pairs

SIZES = [(tokens, width) for tokens in (2, 3, 5) for width in (1, 2)]
VARIANTS = [
    *((name, {}) for name in CATALOGUE),
    ("softmax", {"sharpness": 0.25}),
    ("softmax", {"sharpness": 5000.0}),
    ("power-sums", {"degree": 1}),
    ("power-sums", {"degree": 5}),
    ("moving-average", {"window": 1}),
    ("moving-average", {"window": 9}),
]


def every_target():
    return [ready_made(name, tokens, width, **given) for name, given in VARIANTS for tokens, width in SIZES]


def named(target):
    return f"{target.name}-{target.tokens}x{target.width}-{dict(target.parameters)}"


@pytest.mark.parametrize("target", every_target(), ids=named)
def test_passes_the_battery(target):
    check_target(target)


@pytest.mark.parametrize("target", every_target(), ids=named)
def test_modulus_holds_on_many_pairs(target):
    rng = np.random.default_rng(11)
    for first, second in pairs(target, inside(target, 2000, rng), rng):
        before, after = target(first), target(second)
        rounding = 2 * target.evaluation_error * (1 + np.abs(before))
        assert (np.abs(after - before) <= target.modulus.largest_deviation(np.abs(first - second)) + rounding).all()


@pytest.mark.parametrize("p", [1, 2, 4.5])
@pytest.mark.parametrize("name", CATALOGUE)
def test_mean_deviation_holds_on_random_boxes(name, p):
    target = ready_made(name, tokens=3, width=2)
    rng, points = np.random.default_rng(12), 4096
    for _ in range(5):
        half_widths = rng.uniform(0, 0.2, (3, 2)) * rng.integers(0, 2, (3, 2))
        centre = rng.uniform(0.2, 0.8, (3, 2))
        values = target(centre + half_widths * rng.uniform(-1, 1, (points, 3, 2)))
        mean = (np.abs(values - target(centre)) ** p).mean(axis=0)
        # Hoeffding: a mean of numbers in [0, range] is off by more than `luck` once in 10^9.
        luck = target.modulus.largest_deviation(half_widths) ** p * math.sqrt(math.log(1e9) / (2 * points))
        rounding = 2 * p * target.evaluation_error * 2**p
        assert (mean <= target.modulus.mean_deviation(half_widths, p) ** p + luck + rounding).all()


@pytest.mark.parametrize("name", CATALOGUE)
def test_modulus_is_not_loose(name):
    target = ready_made(name, tokens=3, width=2)
    rng = np.random.default_rng(13)
    attained = 0.0
    for first, second in pairs(target, inside(target, 3000, rng), rng):
        allowed = target.modulus.largest_deviation(np.abs(first - second))
        change = np.abs(target(first) - target(second))
        attained = max(attained, (change[allowed > 1e-4] / allowed[allowed > 1e-4]).max())
    # All are attained somewhere but attention's, which adds up two steps that cannot be extreme at once.
    assert attained >= (0.45 if name == "attention" else 0.99)


@pytest.mark.parametrize("name", CATALOGUE)
def test_tightest_only_where_both_help(name):
    modulus = ready_made(name, tokens=3, width=2).modulus
    if isinstance(modulus, targets.Tightest):
        boxes = np.random.default_rng(14).random((500, 3, 2)) ** 4  # from nearly flat ones to
        half_widths = np.concatenate([boxes, np.ones((1, 3, 2))])  # a cube
        one, other = (part.largest_deviation(half_widths) for part in modulus.moduli)
        assert (one < other).any()
        assert (other < one).any()


X = np.array([[0.25, 0.0], [0.75, 0.5], [0.5, 1.0]])
MEAN = np.array([0.5, 0.5])
WORKED = {
    "mean-scale": X / 2,
    "softmax": np.exp(3 * X) / np.exp(3 * X).sum(axis=0),
    "centre": X - MEAN,
    "centroid-distance": np.sqrt([[0.0625 + 0.25] * 2, [0.0625] * 2, [0.25] * 2]),
    "bump": X * 0.0,
    "power-sums": np.array([[(0.0625 + 0.5625 + 0.25) / 3, 1.25 / 3]] * 3),
    "sort": [[0.25, 0.0], [0.5, 0.5], [0.75, 1.0]],
    "reverse": [[0.5, 1.0], [0.75, 0.5], [0.25, 0.0]],
    "running-maximum": [[0.25, 0.0], [0.75, 0.5], [0.75, 1.0]],
    "cumulative-mean": [[0.25, 0.0], [0.5, 0.25], [0.5, 0.5]],
    "moving-average": [[0.5, 0.25], [0.5, 0.5], [0.625, 0.75]],
    "copy-first": [[0.25, 0.0]] * 3,
}


@pytest.mark.parametrize("name", WORKED)
def test_worked_example(name):
    target = ready_made(name, tokens=3, width=2)
    np.testing.assert_allclose(target(X), WORKED[name], rtol=0, atol=2 * target.evaluation_error)


def test_worked_example_of_attention():
    W_Q, W_K, W_V = np.random.default_rng(15).normal(size=(3, 2, 2))
    expected = np.zeros((3, 2))
    for j in range(3):
        scores = [math.exp((W_Q @ X[j]) @ (W_K @ X[k])) for k in range(3)]
        expected[j] = sum(scores[k] / sum(scores) * (W_V @ X[k]) for k in range(3))
    target = targets.attention(3, 2, W_Q, W_K, W_V)
    np.testing.assert_allclose(target(X), expected, rtol=0, atol=8 * target.evaluation_error)


@pytest.mark.parametrize("seed", range(6))
def test_attention_with_any_weights_keeps_its_modulus(seed):
    rng = np.random.default_rng(seed)
    check_target(targets.attention(3, 2, *(rng.normal(size=(3, 2, 2)) * rng.uniform(0.1, 4))))


def test_constant_of_attention_by_hand():
    # A = W_Qᵀ W_K = [[0, 3], [0, 2]] has Σ|A| = 5 (W_Q W_K = [[0, 1], [0, 3]] would have 4), and ‖W_V‖_∞ = 1 + 3.
    W_Q, W_K, W_V = [[1.0, 0.0], [1.0, 1.0]], [[0.0, 1.0], [0.0, 2.0]], [[1.0, -3.0], [-2.0, 0.0]]
    assert targets.attention(3, 2, W_Q, W_K, W_V).modulus == targets.Lipschitz(4 * (1 + 0.75 * 5))


def test_default_attention_has_no_symmetry_that_could_hide_a_transposed_weight():
    layer = targets.attention(2, 3).function
    W_Q, W_K, W_V = map(np.array, (layer.W_Q, layer.W_K, layer.W_V))
    for matrix in (W_Q, W_K, W_V, W_Q.T @ W_K):
        assert not np.allclose(matrix, matrix.T)
    assert not np.allclose(W_Q.T @ W_K, W_Q @ W_K.T)


def test_custom_attention_does_not_claim_the_catalogues_name():
    custom = targets.attention(3, W_V=[[2.0]])
    assert custom.name == "attention (custom weights)"
    assert not is_ready_made(custom)


@pytest.mark.parametrize("weights", [[[1.0, 2.0]], [[math.nan]], "heavy", [[1.0], [2.0, 3.0]]])
def test_faulty_attention_weights_are_refused(weights):
    with pytest.raises(TargetError, match=r"W_K must be finite numbers of shape \(1, 1\)"):
        targets.attention(3, W_K=weights)


def test_bump_is_exactly_zero_outside():
    beyond = [[[np.nextafter(1.0, 2.0)], [0.5]], [[-5e-324], [0.5]], [[0.5], [1e300]]]
    assert (targets.bump(2)(beyond) == 0).all()


@pytest.mark.parametrize("target", every_target(), ids=named)
def test_the_catalogue_rebuilds_the_same_target(target):
    again = ready_made(target.name, target.tokens, target.width, **target.parameters)
    assert again == target
    assert hash(again) == hash(target)
    assert is_ready_made(target)


def test_a_borrowed_name_is_not_ready_made():
    mine = targets.target(np.sin, tokens=2, lipschitz=1.0, name="softmax")
    assert not is_ready_made(mine)
    assert not is_ready_made(targets.Target(np.sin, 2, 1, mine.modulus, "sort", parameters={"window": 3}))


def test_names_symmetries_and_descriptions():
    positional = {"sort", "reverse", "running-maximum", "cumulative-mean", "moving-average", "copy-first"}
    for name, constructor in CATALOGUE.items():
        target = constructor(tokens=3)
        assert target.name == name == constructor.__name__.replace("_", "-")
        assert target.symmetry is (Symmetry.NONE if name in positional else Symmetry.EQUIVARIANT)
        assert getattr(targets, constructor.__name__) is constructor
        assert descriptions()[name] == inspect.getdoc(constructor).splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("softmix", 3), "must be one of mean-scale, softmax, .*copy-first; got 'softmix'. Did you mean 'softmax'?"),
        (("transformer-xl", 3), r"got 'transformer-xl'\. For your own function give path/to/file.py:function"),
        (("sort", 1), "tokens must be at least 2; got 1"),
        (("sort", 0), "tokens must be at least 2; got 0"),
        (("sort", 3, 0), "width must be at least 1; got 0"),
    ],
)
def test_faulty_requests_are_refused(arguments, message):
    with pytest.raises(TargetError, match=message):
        ready_made(*arguments)


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize(("tokens", "width"), [(1, 1), (0, 2), (3, 0), (3, -1)])
def test_every_constructor_refuses_faulty_sizes(name, tokens, width):
    with pytest.raises(TargetError, match=r"(tokens|width) must be at least"):
        CATALOGUE[name](tokens, width)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("softmax", {"degree": 2}, "'softmax' must get no parameters but sharpness; got 'degree'"),
        ("sort", {"window": 3}, "'sort' must get no parameters; got 'window'"),
        ("softmax", {"sharpness": 0.0}, "sharpness must be finite and above 0; got 0.0"),
        ("softmax", {"sharpness": math.inf}, "sharpness must be finite"),
        ("power-sums", {"degree": 0}, "degree must be at least 1; got 0"),
        ("power-sums", {"degree": 1.5}, "degree must be a whole number; got 1.5"),
        ("moving-average", {"window": 4}, "window must be odd, to have a middle; got 4. Use 3 or 5"),
        ("moving-average", {"window": -1}, "window must be at least 1; got -1"),
    ],
)
def test_faulty_parameters_are_refused(name, given, message):
    with pytest.raises(TargetError, match=message):
        ready_made(name, 3, **given)
