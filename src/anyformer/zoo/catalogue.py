"""The recipes of the zoo by name: small enough to be built and proved in seconds, by every method."""

from collections.abc import Iterable
from typing import Final

from anyformer.catalogues import did_you_mean
from anyformer.errors import ZooError
from anyformer.targets.target import Symmetry
from anyformer.zoo import functions
from anyformer.zoo.recipe import Recipe

# A network with small weights and a tolerance above a few roundings is proved in both.
BOTH: Final = ("float64", "float32")
COMPILED: Final = (
    Recipe(
        "mean-scale-3",
        "Every token times the mean of all: one head, then a product of squares.",
        "mean-scale",
        1e-2,
        tokens=3,
        dtypes=BOTH,
    ),
    Recipe(
        "mean-scale-128",
        "The same on 128 tokens, to four digits; its square is deep.",
        "mean-scale",
        1e-4,
        tokens=128,
        dtypes=BOTH,
    ),
    Recipe(
        "softmax-5",
        "Softmax over the tokens by exp, a mean, a logarithm and exp again.",
        "softmax",
        1e-2,
        tokens=5,
        dtypes=BOTH,
    ),
    Recipe("softmax-128", "Softmax over 128 tokens, to four digits.", "softmax", 1e-4, tokens=128, dtypes=BOTH),
    Recipe(
        "softmax-6-narrow",
        "Softmax in layers of at most four hidden units and one head.",
        "softmax",
        1e-2,
        tokens=6,
        limits={"heads": 1, "hidden_size": 4},
        dtypes=BOTH,
    ),
    Recipe(
        "attention-16x4",
        "One layer of softmax attention, native: one head, no hidden unit.",
        "attention",
        1e-4,
        tokens=16,
        width=4,
        dtypes=BOTH,
    ),
    Recipe(
        "centre-64x3",
        "Every token minus the mean of all.",
        "centre",
        1e-5,
        tokens=64,
        width=3,
        dtypes=BOTH,
    ),
    Recipe(
        "centroid-distance-12x2",
        "How far a token is from the centroid: a norm by directions.",
        "centroid-distance",
        1e-2,
        tokens=12,
        width=2,
        dtypes=BOTH,
    ),
    Recipe(
        "power-sums-8x2",
        "Means of powers: squares, then one head.",
        "power-sums",
        1e-3,
        tokens=8,
        width=2,
        dtypes=BOTH,
    ),
    Recipe("sort-4", "Four tokens in order: copies and comparisons.", "sort", 1e-3, tokens=4, dtypes=BOTH),
    Recipe("sort-16", "Sixteen tokens in order, by Batcher's comparators.", "sort", 1e-6, tokens=16),
    Recipe("running-maximum-32x2", "The largest token so far.", "running-maximum", 1e-6, tokens=32, width=2),
    Recipe(
        "cumulative-mean-10",
        "The mean of all tokens so far, by a fixed mixing.",
        "cumulative-mean",
        1e-4,
        tokens=10,
        dtypes=BOTH,
    ),
    Recipe("reverse-7x2", "The tokens in the opposite order.", "reverse", 1e-4, tokens=7, width=2, dtypes=BOTH),
    Recipe(
        "moving-average-32-sparse",
        "The mean of the neighbours, by a head that sees a sliding window alone.",
        "moving-average",
        1e-4,
        tokens=32,
        pattern="sliding-window",
        dtypes=BOTH,
    ),
    Recipe(
        "distance-to-mean-6x2",
        "|x − mean|: a mean head, and one hidden unit a coordinate.",
        functions.distance_to_mean,
        1e-5,
        tokens=6,
        width=2,
        dtypes=BOTH,
    ),
    Recipe(
        "mean-of-squares-5",
        "x · mean(x²): square units, a mean head, product units.",
        functions.mean_of_squares,
        1e-3,
        tokens=5,
        dtypes=BOTH,
    ),
    Recipe(
        "gated-mean-8",
        "The mean, let through where the token is above it.",
        functions.gated_mean,
        1e-3,
        tokens=8,
        dtypes=BOTH,
    ),
    Recipe(
        "layer-norm-8",
        "(x − mean) / √(variance + 0.1) over the tokens: five steps in a row.",
        functions.layer_norm,
        1e-2,
        tokens=8,
        dtypes=BOTH,
    ),
    Recipe(
        "spread-10",
        "The largest token minus the smallest: two sharp heads.",
        functions.spread,
        1e-2,
        tokens=10,
        dtypes=BOTH,
    ),
    Recipe(
        "previous-token-7",
        "Every token becomes the one before it.",
        functions.previous_token,
        1e-4,
        tokens=7,
        symmetry=Symmetry.NONE,
        dtypes=BOTH,
    ),
    Recipe(
        "induction-9x3",
        "An induction head: a previous-token head, then attention by what came before.",
        functions.induction,
        1e-3,
        tokens=9,
        width=3,
        symmetry=Symmetry.NONE,
        dtypes=BOTH,
    ),
    Recipe(
        "two-layer-attention-6x2",
        "Self-attention, tanh, self-attention: a two-layer Transformer with known insides.",
        functions.two_layer_attention,
        1e-2,
        tokens=6,
        width=2,
        dtypes=BOTH,
    ),
)
INTERPOLATED: Final = (
    Recipe(
        "softmax-3-interpolation",
        "Softmax by hats on a grid.",
        "softmax",
        0.1,
        tokens=3,
        method="interpolation",
        dtypes=BOTH,
    ),
    Recipe(
        "median-3-interpolation",
        "The middle one of three tokens, by hats on a grid.",
        functions.median,
        0.1,
        tokens=3,
        method="interpolation",
        dtypes=BOTH,
    ),
)
TABLES: Final = (
    Recipe(
        "mean-scale-3-averaging", "Every token times the mean, as a table.", "mean-scale", 0.1, 3, 1, 2.0, "averaging"
    ),
    Recipe(
        "bump-3-averaging", "A bump that is 0 outside its support, everywhere.", "bump", 0.2, 3, 1, 2.0, "averaging"
    ),
    Recipe(
        "distance-3x2-averaging",
        "A table on tokens of two numbers: cells become one code.",
        "centroid-distance",
        0.7,
        3,
        2,
        2.0,
        "averaging",
    ),
    Recipe(
        "softmax-3-selective-shift",
        "Paper A's construction in full: 1,719 layers.",
        "softmax",
        0.4,
        3,
        1,
        2.0,
        "selective-shift",
    ),
    Recipe(
        "sort-4-sparse-averaging",
        "Sorting by means over a sliding window, hop by hop.",
        "sort",
        0.3,
        4,
        1,
        2.0,
        "sparse-averaging",
        "sliding-window",
    ),
    Recipe(
        "running-maximum-3-sparse-shift",
        "Paper B's construction on a sliding window.",
        "running-maximum",
        0.3,
        3,
        1,
        2.0,
        "sparse-selective-shift",
        "sliding-window",
    ),
)
RECIPES: Final = {recipe.name: recipe for recipe in (*COMPILED, *INTERPOLATED, *TABLES)}


def recipes() -> tuple[Recipe, ...]:
    """Every recipe, in the order of the catalogue."""
    return tuple(RECIPES.values())


def recipe(name: str) -> Recipe:
    """The recipe of this name."""
    found = RECIPES.get(str(name).replace("_", "-"))
    if found is None:
        raise ZooError(
            f"a model of the zoo must be one of {_listed(RECIPES)}; got {name!r}.{did_you_mean(str(name), RECIPES)}"
        )
    return found


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
