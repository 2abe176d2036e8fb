"""What is compared, by name; and that the paper's budget is the paper's."""

import pytest

from anyformer.errors import TrainingError
from anyformer.mixers import Attention, Average, Bilinear, Convolution
from anyformer.training.comparison.budgets import BUDGETS
from anyformer.training.comparison.entrants import ablations_of, entrant_named, entrants_of, own_entrants

HOURS = BUDGETS["hours"]


@pytest.mark.parametrize("budget", BUDGETS)
def test_every_entrant_of_every_budget_has_a_recipe(budget):
    spent = BUDGETS[budget]
    for entrant in entrants_of(spent):
        recipe = entrant.recipe(spent, seed=3, rate=0.007)
        assert recipe.architecture.stack == entrant.mixers
        assert (recipe.schedule.seed, recipe.schedule.learning_rate) == (3, 0.007)


def test_pure_ones_and_hybrids():
    assert entrant_named("bilinear", HOURS).mixers == (Bilinear(128),) * 3
    assert entrant_named("hybrid-2", HOURS).mixers == (Convolution(87, 16), Convolution(87, 16), Attention(4))


@pytest.mark.parametrize("name", ["hybrid-0", "hybrid-3", "hybrid", "magic", ""])
def test_other_names_are_refused(name):
    with pytest.raises(TrainingError, match=r"an entrant must be one of average, .* hybrid-1 to hybrid-2; got"):
        entrant_named(name, HOURS)


def test_ones_own_mixers_are_named_as_they_were_written():
    made = own_entrants(HOURS, [("average", Average()), ("convolution:kernel=9", Convolution(9))])
    assert [one.name for one in made] == ["average", "convolution-kernel-9"]
    assert made[1].mixers == (Convolution(9),) * 3
    with pytest.raises(TrainingError, match="average is there twice"):
        own_entrants(HOURS, [("average", Average()), ("average", Average())])


def test_ablations_differ_by_their_start_alone():
    (ablation,) = ablations_of(HOURS, entrants_of(HOURS))
    attention = entrant_named("attention", HOURS)
    one, other = (entrant.recipe(HOURS, 0, 1e-3).to_json() for entrant in (attention, ablation))
    assert (one["architecture"].pop("start"), other["architecture"].pop("start")) == ("neighbours", "bert")
    assert one == other


def test_the_papers_budget_is_berts():
    """Devlin et al., appendix A.2 and the released code: everything that a recipe says about them."""
    recipe = BUDGETS["paper"].recipe
    architecture, schedule = recipe.architecture, recipe.schedule
    assert (architecture.layers, architecture.width, architecture.heads, architecture.vocabulary) == (12, 768, 12, 30522)
    assert (architecture.norm, architecture.start, architecture.dropout) == ("after", "bert", 0.1)
    assert (schedule.steps, schedule.batch, schedule.warmup) == (1_000_000, 256, 0.01)
    assert (schedule.learning_rate, schedule.adam_beta2, schedule.weight_decay) == (1e-4, 0.999, 0.01)
    assert BUDGETS["paper"].rates == (1e-4,)
    assert BUDGETS["paper"].tuning_rates == pytest.approx((2e-5, 3e-5, 5e-5))


def test_runs_of_hours_see_thirty_million_tokens():
    schedule = HOURS.recipe.schedule
    assert 30e6 <= schedule.steps * schedule.batch * HOURS.recipe.text.tokens <= 40e6
