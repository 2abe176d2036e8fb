"""A recipe and a text so small that a run takes a second."""

from pathlib import Path

from anyformer.mixers import Attention, Average, Bilinear, Convolution
from anyformer.training import Architecture, Prepared, Recipe, Schedule, SyntheticLanguage, Text, prepare

STACK = (Convolution(kernel=5, filters=4), Bilinear(max_length=24), Average(), Attention(heads=2))


def recipe(**schedule) -> Recipe:
    """All four mixers, one a layer, with dropout, which a resumed run must draw as the first one would have."""
    steps = {"steps": 12, "batch": 6, "evaluate_every": 5, "save_every": 3, **schedule}
    architecture = Architecture(layers=4, width=16, heads=2, vocabulary=400, longest=24, dropout=0.1, mixers=STACK)
    return Recipe(architecture, Text(tokens=20), Schedule(**steps))


def text(place: Path) -> Prepared:
    """A few hundred sentences."""
    return prepare(SyntheticLanguage(sentences=300), place, vocabulary=400)
