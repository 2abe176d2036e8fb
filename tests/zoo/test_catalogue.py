"""The recipes: enough of them, by every method, of every size, and none like another."""

from dataclasses import replace

import pytest

import anyformer as af
from anyformer.construction import METHODS
from anyformer.errors import NetworkError, ZooError
from anyformer.targets import load_function
from anyformer.targets.target import Symmetry
from anyformer.zoo import recipes


def test_there_are_enough_and_every_kind():
    made = recipes()
    assert len(made) >= 20
    assert {recipe.method for recipe in made} == set(METHODS)
    assert {recipe.tokens for recipe in made} >= {3, 128}
    assert {recipe.target().symmetry for recipe in made} == set(Symmetry)
    assert max(recipe.width for recipe in made) > 1
    assert any(recipe.pattern for recipe in made)
    assert any(not recipe.is_ready_made for recipe in made)
    assert sum("float32" in recipe.dtypes for recipe in made) >= 10


def test_names_descriptions_and_digests_are_different():
    for facts in (lambda r: r.name, lambda r: r.description, lambda r: r.digest):
        assert len({facts(recipe) for recipe in recipes()}) == len(recipes())


@pytest.mark.parametrize(
    "change",
    [{"tolerance": 0.02}, {"tokens": 4}, {"width": 2}, {"p": 2.0}, {"dtype": "float32"}, {"limits": {"heads": 1}}],
)
def test_another_recipe_has_another_digest(change):
    recipe = af.zoo.recipe("mean-scale-3")
    assert replace(recipe, **change).digest != recipe.digest


def test_functions_of_the_zoo_are_found_by_what_verify_takes():
    for recipe in recipes():
        if recipe.target_option is None:
            assert recipe.is_ready_made
        else:
            assert load_function(recipe.target_option) is recipe.function


def test_names_may_have_underscores_and_unknown_ones_are_refused():
    assert af.zoo.recipe("mean_scale_3").name == "mean-scale-3"
    with pytest.raises(ZooError, match=r"must be one of mean-scale-3.*Did you mean 'layer-norm-8'"):
        af.zoo.load("layernorm-8")


def test_types_that_are_not_offered_are_refused():
    with pytest.raises(ZooError, match="must be one in which its tolerance is proved, float64; got float32"):
        af.zoo.load("sort-16", "float32")
    with pytest.raises(NetworkError, match="dtype must be one of"):
        af.zoo.load("sort-4", "int8")
