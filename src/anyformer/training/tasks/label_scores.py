"""How good predicted classes and numbers are, by the measures of GLUE."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import pearsonr, spearmanr

from anyformer.errors import TrainingError
from anyformer.extras import require


def scikit_metrics() -> Any:
    """`sklearn.metrics`."""
    return require("sklearn.metrics", extra="train", what="the measures of an evaluation")


def class_scores(truth: Sequence[Any], predicted: Sequence[Any]) -> dict[str, float]:
    """Accuracy, the mean F1 of the classes, and Matthews' coefficient, which is 0 where all predictions are the same.

    The mean is over classes that are true or predicted somewhere.
    """
    _require_as_many(truth, predicted)
    metrics, varies = scikit_metrics(), len({*truth, *predicted}) > 1
    return {
        "accuracy": float(metrics.accuracy_score(truth, predicted)),
        "macro_f1": float(metrics.f1_score(truth, predicted, average="macro", zero_division=0)),
        "matthews": float(metrics.matthews_corrcoef(truth, predicted)) if varies else 0.0,
    }


def number_scores(truth: Sequence[float], predicted: Sequence[float]) -> dict[str, float]:
    """Pearson's and Spearman's correlation, NaN where either side is constant, and the mean squared error."""
    _require_as_many(truth, predicted)
    one, other = np.asarray(truth, float), np.asarray(predicted, float)
    varies = len(one) > 1 and np.ptp(one) > 0 and np.ptp(other) > 0
    return {
        "pearson": float(pearsonr(one, other).statistic) if varies else float("nan"),
        "spearman": float(spearmanr(one, other).statistic) if varies else float("nan"),
        "mean_squared_error": float(np.mean((one - other) ** 2)),
    }


def _require_as_many(truth: Sequence[Any], predicted: Sequence[Any]) -> None:
    if len(truth) != len(predicted) or not len(truth):
        raise TrainingError(
            f"there must be one prediction a label, and a label; got {len(predicted)} predictions for {len(truth)}."
            " Give rows with labels."
        )
