"""Recipes: what they may say, and how they are written."""

from itertools import pairwise

import pytest

from anyformer.errors import TrainingError
from anyformer.mixers import Attention, Average, Convolution
from anyformer.training import SIZES, Architecture, Recipe, Schedule, Text, parse_mixers, read_recipe
from anyformer.training.comparison.budgets import BUDGETS


@pytest.mark.parametrize(("size", "parameters"), [("tiny", 4.4), ("mini", 11.2), ("small", 28.8), ("base", 109.5)])
def test_sizes_are_the_usual_ones(size, parameters):
    """Google's BERT miniatures, in millions of parameters, at BERT's vocabulary and longest sequence."""
    from transformers import BertConfig, BertModel

    shape = SIZES[size]
    ours = shape.config(vocabulary=30522)
    ours.max_position_embeddings = 512
    stock = BertModel(BertConfig(**{name: getattr(ours, name) for name in vars(BertConfig()) if name in SAME}))
    assert sum(weight.numel() for weight in stock.parameters()) / 1e6 == pytest.approx(parameters, rel=0.01)


SAME = (
    *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"),
    "max_position_embeddings",
)


def test_a_toml_recipe_changes_what_it_names(tmp_path):
    place = tmp_path / "recipe.toml"
    place.write_text(
        '\ufeffsize = "tiny"\n'
        '[architecture]\nmixers = ["convolution:kernel=9,filters=4", {kind = "average"}]\n'
        "[text]\ntokens = 48\nfollowing = true\n"
        "[schedule]\nlearning_rate = 1\nsteps = 7\n"
    )
    read = read_recipe(place)
    assert read.architecture.stack == (Convolution(kernel=9, filters=4), Average())
    assert read.text == Text(tokens=48, following=True)
    assert (read.schedule.learning_rate, read.schedule.steps, read.schedule.batch) == (1.0, 7, Schedule().batch)


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("size = ", "TOML"),
        ('size = "huge"', "tiny, mini, small, base; got 'huge'"),
        ("[schedule]\nstep = 3", r"\[schedule\] has only .*steps.*; got step"),
        ("[model]\nlayers = 3", "a recipe has only architecture, schedule, size, text; got model"),
        ("schedule = 3", r"\[schedule\] must be a table; got 3"),
        ("[schedule]\nsteps = 1.5", "steps .* type int; got 1.5"),
        ("[schedule]\nsteps = true", "steps .* type int; got True"),
        ("[schedule]\nsteps = 0", "steps must be a whole number from 1; got 0"),
        ("[schedule]\nlearning_rate = 0", "learning_rate must be positive"),
        ("[schedule]\nclip = -1", "clip must be positive"),
        ("[schedule]\nweight_decay = -0.1", "weight_decay must be 0 or positive"),
        ("[schedule]\nlearning_rate = nan", "learning_rate must be positive and finite; got nan"),
        ('size = ["tiny"]', "size must be one of"),
        ("[schedule]\nwarmup = 1.0", "warmup must be a share"),
        ("[text]\nmasked = 0.001", "masked must hide at least one"),
        ("[text]\ntokens = 5", "tokens must be at least 8"),
        ("[text]\ntokens = 500", "longest sequence, 128 tokens; got 500"),
        (
            '[text]\ntokens = 40\n[architecture]\nmixers = "bilinear:max_length=32"',
            "longest sequence, 32 tokens; got 40",
        ),
        ('[architecture]\nnorm = "between"', "norm must be one of after, before; got 'between'"),
        ("[architecture]\nmixers = 3", "mixers must be names or tables; got 3"),
        ('[architecture]\nmixers = ["magic"]', "one of attention, average, bilinear, convolution"),
        ('[architecture]\nmixers = ["average", "average", "average"]', "each of the 4 layers; got 3"),
    ],
)
def test_what_a_recipe_may_not_say(tmp_path, toml, message):
    place = tmp_path / "recipe.toml"
    place.write_text(toml)
    with pytest.raises(TrainingError, match=message):
        read_recipe(place)


@pytest.mark.parametrize("name", ["convolution:kernel", "convolution:kernel=x", "average:kernel=3", ""])
def test_mixers_that_cannot_be_read(name):
    with pytest.raises(TrainingError, match="mixers must be those of the catalogue"):
        parse_mixers([name])


def test_one_mixer_is_for_all_layers_and_none_is_attention():
    assert Architecture(layers=3, mixers=(Average(),)).stack == (Average(),) * 3
    assert Architecture(layers=2, heads=8).stack == (Attention(8),) * 2


def test_the_learning_rate_rises_and_falls_along_lines():
    schedule = Schedule(steps=100, learning_rate=2.0, warmup=0.1)
    rates = [schedule.rate(step) for step in range(100)]
    assert rates[0] == pytest.approx(0.2)
    assert max(rates) == rates[10 - 1] == 2.0
    assert rates[99] == pytest.approx(2.0 / 91)
    assert all(later < sooner for sooner, later in pairwise(rates[9:]))


def test_a_recipe_says_all_of_itself():
    tables = Recipe.of_size("tiny").to_json()
    assert set(tables) == {"architecture", "text", "schedule"}
    assert tables["architecture"]["mixers"] == [{"kind": "attention", "heads": 2}] * 2


@pytest.mark.parametrize("epochs", [0, -3, float("nan"), float("inf")])
def test_epochs_must_be_a_number_of_them(epochs):
    with pytest.raises(TrainingError, match="epochs must be positive and finite"):
        Schedule().for_epochs(10, epochs)


@pytest.mark.parametrize("name", BUDGETS)
def test_convolutions_of_a_budget_reach_from_end_to_end(name):
    budget = BUDGETS[name]
    # An even number of taps has one less on the right.
    assert budget.recipe.architecture.layers * ((budget.kernel - 1) // 2) >= budget.recipe.architecture.longest - 1
