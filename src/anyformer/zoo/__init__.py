"""Models with a proof, ready to be looked into: what every part computes is known.

>>> import anyformer as af
>>> len(af.zoo.recipes()) >= 20
True
"""

from anyformer.zoo.catalogue import recipe, recipes
from anyformer.zoo.loading import Specimen, get, load, specimen
from anyformer.zoo.recipe import Recipe

__all__ = ["Recipe", "Specimen", "get", "load", "recipe", "recipes", "specimen"]
