"""Does a model map contexts apart? The papers' contextual mapping, measured on any model.

>>> import numpy as np
>>> embedding = np.eye(3)
>>> measure_contextual_mapping(lambda ids: embedding[ids], [[0, 1], [0, 2]]).layers[0].verdict
Contextuality.NOT_CONTEXTUAL
"""

from anyformer.contextuality.closest import QUANTILES, Closest, Pair
from anyformer.contextuality.layers import Layered
from anyformer.contextuality.measure import measure_contextual_mapping, measure_layer
from anyformer.contextuality.places import Places, places_of
from anyformer.contextuality.report import (
    ContextReport,
    Contextuality,
    LayerContexts,
    Sensitivity,
    Side,
    TableIds,
    Witness,
)
from anyformer.contextuality.similarity import Similarity

__all__ = [
    "QUANTILES",
    "Closest",
    "ContextReport",
    "Contextuality",
    "LayerContexts",
    "Layered",
    "Pair",
    "Places",
    "Sensitivity",
    "Side",
    "Similarity",
    "TableIds",
    "Witness",
    "measure_contextual_mapping",
    "measure_layer",
    "places_of",
]
