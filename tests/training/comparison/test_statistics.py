"""Intervals hold the truth as often as they say, in simulations with known truth; faulty ones are caught."""

import math

import numpy as np
import pytest
from scipy import stats

from anyformer.errors import TrainingError
from anyformer.training.comparison.statistics import (
    Interval,
    Over,
    Verdict,
    _seed_spread,
    compare,
    compare_all,
    holm,
    mean_interval,
    pairs_to_see,
    wilson,
)

REPETITIONS, DRAWS = 400, 1000
# Coverage is a binomial share; three and a half standard deviations, and 1 point for 1,000 draws in place of all.
SLACK = 3.5 * math.sqrt(0.95 * 0.05 / REPETITIONS) + 0.01


def coverage(interval_of, truth):
    return np.mean([interval_of(np.random.default_rng(n)).holds(truth) for n in range(REPETITIONS)])


def scores(generator, shape, seeds=0.0, together=0.0, mean=0.0):
    """Of shape (seeds, examples): a system's mean, its seeds' part, and what seeds and examples vary by together."""
    part = generator.normal(0, seeds, (shape[0], 1)) if seeds else 0.0
    return mean + part + (generator.normal(0, together, shape) if together else np.zeros(shape))


def two(generator, seeds, together, count=60, apart=0.3, of=(3, 4)):
    """Two systems that share how hard examples are, and differ by `apart` in truth."""
    hard = generator.normal(0, 2, count)
    own = generator.normal(0, 0.4, (2, count))
    systems = [scores(generator, (of[k], count), seeds, together) + hard + own[k] for k in (0, 1)]
    return systems[0] + apart, systems[1]


@pytest.mark.parametrize(("seeds", "together"), [(0.0, 0.5), (0.05, 0.5), (0.3, 0.2)])
def test_paired_intervals_over_examples_and_seeds_hold_the_truth(seeds, together):
    def interval(generator):
        return compare(*two(generator, seeds, together), draws=DRAWS).difference

    # Where both parts vary alike, a t interval of a sum is a little too wide; 97 to 98 % was derived by simulation too.
    assert 0.95 - SLACK <= coverage(interval, 0.3) <= 0.98 + SLACK


def test_forgetting_seeds_is_caught():
    def forgetting(generator):
        return compare(*two(generator, 0.3, 0.2), over=Over.EXAMPLES, draws=DRAWS).difference

    assert coverage(forgetting, 0.3) < 0.95 - SLACK - 0.2


def test_resampling_a_few_seeds_as_they_are_is_caught():
    def literal(generator):
        means, places = [], generator.integers(60, size=(300, 1, 60))
        for one in two(generator, 0.3, 0.2):
            seeds = generator.integers(len(one), size=(300, len(one), 1))
            means.append(one[seeds, places].mean(axis=(1, 2)))
        return Interval(0.0, *np.quantile(means[0] - means[1], [0.025, 0.975]))

    assert coverage(literal, 0.3) < 0.95 - SLACK


def test_counting_twice_what_seeds_and_examples_share_would_be_wider():
    first, second = two(np.random.default_rng(5), 0.0, 2.0, of=(3, 3))
    means = [one.mean(axis=1) for one in (first, second)]
    twice = math.sqrt(sum(one.var(ddof=1) / 3 for one in means) + (first - second).mean(axis=0).var() / 60)
    interval = compare(first, second).difference
    assert interval.high - interval.low < 2 * 1.96 * twice


def test_intervals_over_examples_alone_hold_the_truth_for_deterministic_systems():
    def interval(generator):
        first, second = two(generator, 0, 0)
        return compare(first[0], second[0], draws=DRAWS).difference

    assert abs(coverage(interval, 0.3) - 0.95) <= SLACK


def test_unpaired_resampling_is_caught():
    def unpaired(generator):
        first, second = two(generator, 0, 0)
        half = 1.96 * math.sqrt((first[0].var() + second[0].var()) / 60)
        middle = first[0].mean() - second[0].mean()
        return Interval(middle, middle - half, middle + half)

    # Too wide: it holds the truth nearly always, and would hide the difference.
    assert coverage(unpaired, 0.3) > 0.95 + 0.045
    first, second = two(np.random.default_rng(0), 0, 0)
    paired = compare(first[0], second[0]).difference
    wide = unpaired(np.random.default_rng(0))
    assert 3 * (paired.high - paired.low) < wide.high - wide.low


def test_shuffled_examples_lose_the_pairing():
    generator = np.random.default_rng(0)
    first, second = two(generator, 0, 0)
    paired, shuffled = compare(first, second), compare(first, generator.permutation(second, axis=1))
    assert paired.difference.value == pytest.approx(shuffled.difference.value)
    assert paired.verdict is Verdict.ABOVE
    assert shuffled.verdict is Verdict.UNDECIDED


GROUPS = np.repeat(np.arange(40), [1, 2, 3, 6] * 10)


def grouped(generator):
    """Examples of one group are alike."""
    return generator.normal(0, 1, 40)[GROUPS] + generator.normal(0, 0.2, len(GROUPS)), np.zeros(len(GROUPS))


def test_intervals_over_groups_hold_the_truth_and_forgetting_groups_is_caught():
    def interval(generator):
        return compare(*grouped(generator), groups=GROUPS, draws=DRAWS).difference

    def forgetting(generator):
        return compare(*grouped(generator), draws=DRAWS).difference

    # These groups weigh as much as 120² / 500 = 29 equal ones. Percentiles are narrower than t with 28 degrees of
    # freedom, 1.96 in place of 2.05, and than the unbiased deviation by √(28 / 29). This costs 1.5 points; 1.5 more for
    # groups of unequal sizes.
    assert 0.95 - SLACK - 0.03 <= coverage(interval, 0) <= 0.95 + SLACK
    assert coverage(forgetting, 0) < 0.95 - SLACK - 0.03


def test_losses_of_windows_are_compared_alike():
    generator = np.random.default_rng(1)
    window = generator.gamma(4, 1, 300)
    first = window + generator.normal(0, 0.05, (3, 300))
    second = window + 0.05 + generator.normal(0, 0.05, (3, 300))
    found = compare(first, second)
    assert found.verdict is Verdict.BELOW
    assert found.difference.holds(-0.05)


def test_a_paired_interval_is_that_of_the_slow_bootstrap():
    generator = np.random.default_rng(2)
    first, second, groups = generator.random((3, 23)), generator.random((2, 23)), generator.integers(7, size=23)
    difference = first.mean(axis=0) - second.mean(axis=0)
    drawn = []
    for _ in range(4000):
        chosen = [
            place for group in generator.choice(np.unique(groups), 7) for place in np.flatnonzero(groups == group)
        ]
        drawn.append(difference[chosen].mean())
    slow = np.quantile(drawn, [0.025, 0.975])
    fast = compare(first, second, groups=groups, over=Over.EXAMPLES).difference
    # A quantile's standard error is √(q(1−q)/draws) over the density, which at 2.5 % is 0.058 over the deviation.
    slack = 5 * math.sqrt(0.025 * 0.975 * (1 / 4000 + 1 / 10_000)) / 0.058 * np.std(drawn)
    assert [fast.low, fast.high] == pytest.approx(slow, abs=slack)
    assert fast.value == pytest.approx(difference.mean())


def test_draws_are_those_of_the_seed_and_exchange_turns_the_sign():
    first, second = two(np.random.default_rng(3), 0.1, 0.1)
    assert compare(first, second) == compare(first, second)
    assert compare(first, second, seed=1) != compare(first, second)
    turned = compare(second, first)
    assert turned.difference.value == -compare(first, second).difference.value
    assert turned.verdict is Verdict.BELOW


def test_one_seed_says_nothing_of_other_seeds():
    first, second = two(np.random.default_rng(4), 0, 0)
    lone = compare(first[:1], second, draws=DRAWS)
    assert (lone.difference.low, lone.difference.high, lone.chance) == (-math.inf, math.inf, 1.0)
    assert lone.verdict is Verdict.UNDECIDED
    assert compare(first[0], second, draws=DRAWS).verdict is Verdict.ABOVE
    assert compare(first[:1], second, over=Over.EXAMPLES, draws=DRAWS).verdict is Verdict.ABOVE


def test_all_pairs_are_compared_with_one_correction():
    generator = np.random.default_rng(0)
    hard = generator.normal(0, 1, 200)
    noise = generator.normal(0, 1, (4, 200))
    noise -= noise.mean(axis=1, keepdims=True)
    systems = {name: hard + one + mean for name, one, mean in zip("abcd", noise, (0.0, 0.0, 0.2, 2.0), strict=True)}
    found = {(one.first, one.second): one for one in compare_all(systems)}
    assert list(found) == [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]
    assert found["a", "b"].verdict is Verdict.UNDECIDED
    assert found["a", "d"].verdict is Verdict.BELOW
    assert [one.corrected for one in found.values()] == list(holm([one.chance for one in found.values()]))
    alone = compare_all(systems, pairs=[("c", "a")])[0]
    assert (alone.first, alone.second, alone.corrected) == ("c", "a", alone.chance)


def test_a_weak_difference_is_one_alone_and_none_among_many():
    generator = np.random.default_rng(0)
    noise = generator.normal(0, 1, (6, 400))
    noise = (noise - noise.mean(axis=1, keepdims=True)) / noise.std(axis=1, keepdims=True)
    # 2.4 standard errors: a chance of about 1.6 %, which fifteen pairs make more than 5 %.
    systems = {str(place): one for place, one in enumerate(noise)}
    systems["0"] = systems["1"] + 0.12 + noise[2]
    assert compare_all(systems, pairs=[("0", "1")])[0].verdict is Verdict.ABOVE
    assert compare_all(systems, pairs=[("1", "0")])[0].verdict is Verdict.BELOW
    assert compare_all(systems)[0].verdict is Verdict.ABOVE_ALONE
    systems["0"] = systems["1"] - 0.12 + noise[2]
    assert compare_all(systems)[0].verdict is Verdict.BELOW_ALONE
    assert not Verdict.ABOVE_ALONE.is_decided
    assert not Verdict.UNDECIDED.is_decided
    assert Verdict.BELOW.is_decided


def test_equal_systems_are_undecided():
    first, _ = two(np.random.default_rng(0), 0.1, 0.1)
    assert compare(first, first, draws=DRAWS).verdict is Verdict.UNDECIDED
    same = compare(first[0], first[0], draws=DRAWS)
    assert (same.difference, same.chance) == (Interval(0.0, 0.0, 0.0), 1.0)


@pytest.mark.parametrize("errors", [-2.0, 1.0])
def test_chances_are_of_both_sides(errors):
    noise = np.random.default_rng(0).normal(0, 1, 500)
    noise = (noise - noise.mean()) / noise.std()
    found = compare(noise + errors / math.sqrt(500), np.zeros(500))
    expected = 2 * stats.norm.sf(abs(errors))
    # Twice a binomial share of 10,000 draws: five standard deviations. Wrong by a factor of 2 is more.
    slack = 5 * 2 * math.sqrt(expected / 2 * (1 - expected / 2) / 10_000)
    assert found.chance == pytest.approx(expected, abs=slack)
    assert slack < expected / 2
    assert (found.chance <= 0.05) == (not found.difference.holds(0))


def test_few_wrong_claims_are_made_where_there_is_no_difference():
    def is_claimed(n):
        generator = np.random.default_rng(n)
        systems = {name: generator.normal(0, 1, 50) for name in "abcd"}
        return any(one.verdict.is_decided for one in compare_all(systems, draws=DRAWS))

    repetitions = 300
    wrong = np.mean([is_claimed(n) for n in range(repetitions)])
    assert wrong <= 0.05 + 3.5 * math.sqrt(0.05 * 0.95 / repetitions) + 0.01


def test_holm_is_the_step_down_method():
    assert holm([]) == ()
    assert holm([0.01, 0.02, 0.03, 0.9]) == pytest.approx((0.04, 0.06, 0.06, 0.9))
    assert holm([0.5, 0.5, 0.001]) == pytest.approx((1.0, 1.0, 0.003))


def test_means_over_seeds_have_students_factor():
    found = mean_interval([1.0, 2.0, 6.0])
    expected = stats.t.interval(0.95, 2, loc=3.0, scale=stats.sem([1.0, 2.0, 6.0]))
    assert (found.value, found.low, found.high) == pytest.approx((3.0, *expected))
    assert mean_interval([0.7]) == Interval(0.7, -math.inf, math.inf)
    assert abs(coverage(lambda generator: mean_interval(generator.normal(2, 5, 3)), 2) - 0.95) <= SLACK


def test_normal_factors_over_three_seeds_are_caught():
    def normal(generator):
        values = generator.normal(2, 5, 3)
        half = 1.96 * values.std(ddof=1) / math.sqrt(3)
        return Interval(values.mean(), values.mean() - half, values.mean() + half)

    assert coverage(normal, 2) < 0.95 - SLACK


@pytest.mark.parametrize(("right", "count"), [(0, 7), (7, 7), (3, 11), (1, 1000)])
def test_wilson_is_that_of_scipy(right, count):
    expected = stats.binomtest(right, count).proportion_ci(method="wilson")
    found = wilson(right, count)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.holds(found.value)


def test_pairs_that_show_a_difference_show_it_as_often_as_said():
    count = pairs_to_see(0.1, discordance=0.4)
    seen = 0
    for n in range(REPETITIONS):
        drawn = np.random.default_rng(n).choice([1, -1, 0], p=[0.25, 0.15, 0.6], size=count)
        seen += drawn.mean() > 1.96 * drawn.std() / math.sqrt(count)
    assert abs(seen / REPETITIONS - 0.8) <= 3.5 * math.sqrt(0.8 * 0.2 / REPETITIONS) + 0.01


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval([]), r"one or more finite numbers; got shape \(0,\)"),
        (lambda: mean_interval([1.0, math.nan]), "got shape .2,. with numbers not finite. Leave out"),
        (lambda: wilson(3, 2), "got 3 of 2"),
        (lambda: wilson(0, 0), "at least 1; got 0 of 0"),
        (lambda: pairs_to_see(0.3, 0.2), "got 0.3, 0.2 and 0.8"),
        (
            lambda: compare([[1.0, 2.0]], [[1.0, 2.0, 3.0]]),
            "second has 3, first has 2. Score both on the whole test set",
        ),
        (lambda: compare([[math.inf, 2.0]], [1.0, 2.0]), "scores of first must be finite"),
        (lambda: compare(np.zeros((2, 3, 4)), np.zeros(4)), r"of first must be .* got shape \(2, 3, 4\)"),
        (lambda: compare_all({"a": [1.0, 2.0]}), "two systems or more; got 1"),
        (lambda: compare([1.0, 2.0], [1.0, 2.0], groups=[1]), "one number per example; got 1 for 2"),
        (lambda: compare([1.0, 2.0], [1.0, 2.0], groups=[4, 4]), "two groups or more, .* all are of one"),
        (lambda: compare([1.0, 2.0], [1.0, 2.0], draws=10), "must be 1,000 or more .* got 10"),
        (lambda: compare_all({"a": [1.0, 2.0], "b": [1.0, 2.0]}, pairs=[("a", "c")]), "two of a, b; got a and c"),
        (lambda: compare_all({"a": [1.0, 2.0], "b": [1.0, 2.0]}, pairs=[("a", "a")]), "two of a, b; got a and a"),
    ],
)
def test_what_cannot_be_judged_is_refused(call, message):
    with pytest.raises(TrainingError, match=message):
        call()


LEVELS = np.repeat([[0.5], [0.6], [0.7]], 100, axis=1)
"""Three seeds that differ alike on all examples."""


@pytest.mark.parametrize("other", [np.zeros(100), np.repeat([[0.0], [1e-6], [2e-6]], 100, axis=1)])
def test_beside_a_system_that_hardly_varies_the_interval_is_student_s(other):
    found, wanted = compare(LEVELS, other, draws=100_000).difference, mean_interval([0.5, 0.6, 0.7])
    # Ends of 95 % of 100,000 draws from t with 2 degrees of freedom and scale 0.058: a deviation of 0.002.
    assert found.low == pytest.approx(wanted.low, abs=0.01)
    assert found.high == pytest.approx(wanted.high, abs=0.01)


def test_seeds_that_differ_on_one_example_vary_by_nothing_else():
    """What seeds and examples vary by together is in the resampled examples already."""
    scores = np.zeros((2, 50))
    scores[0, 7] = 1.0
    assert _seed_spread(scores, np.arange(50)).squared_error == pytest.approx(0.0, abs=1e-15)
