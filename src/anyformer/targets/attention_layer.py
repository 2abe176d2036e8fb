"""One real softmax-attention layer as a target: what a trained head computes, rebuilt by construction."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from anyformer.arrays import Array
from anyformer.errors import TargetError
from anyformer.targets.equivariant import FEW
from anyformer.targets.moduli import Lipschitz
from anyformer.targets.sizes import check_sizes
from anyformer.targets.target import Target

Matrix: TypeAlias = tuple[tuple[float, ...], ...]


def attention(
    tokens: int,
    width: int = 1,
    W_Q: ArrayLike | None = None,
    W_K: ArrayLike | None = None,
    W_V: ArrayLike | None = None,
) -> Target:
    """One softmax-attention layer: token j becomes Σ_k softmax_k(x_jᵀ W_Qᵀ W_K x_k) W_V x_k.

    Args:
        tokens: the length of the sequences.
        width: the size of a token.
        W_Q: (width, width) query weights; a fixed asymmetric choice unless given, as for the other two.
        W_K: (width, width) key weights.
        W_V: (width, width) value weights.

    Returns:
        A target that the catalogue can rebuild by its name, unless weights were given.
    """
    check_sizes(tokens, width)
    given = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V}
    custom = any(weights is not None for weights in given.values())
    weights = {
        name: _matrix(name, default if given[name] is None else given[name], width)
        for name, default in _default_weights(width).items()
    }
    layer = _Attention(**weights)
    name = "attention (custom weights)" if custom else "attention"
    modulus = Lipschitz(_lipschitz(layer))
    return Target(layer, tokens, width, modulus, name, evaluation_error=_rounding(layer, tokens))


@dataclass(frozen=True)
class _Attention:
    """Weights as tuples, so that equal layers compare equal."""

    W_Q: Matrix
    W_K: Matrix
    W_V: Matrix

    def __call__(self, x: Array) -> Array:
        queries, keys, values = (x @ np.array(matrix).T for matrix in (self.W_Q, self.W_K, self.W_V))
        if x.shape[1] > FEW:
            scores = queries @ keys.swapaxes(1, 2)
            exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
            mixed: Array = (exponentials / exponentials.sum(axis=-1, keepdims=True)) @ values
            return mixed
        # Weights 1 / Σ_l exp(q_jᵀ(k_l − k_k)) with k_k − k_k kept at 0: on intervals much tighter than e^s / Σ e^s.
        apart = 1 - np.eye(x.shape[1])[:, :, None]
        gaps = apart * (keys[:, :, None] - keys[:, None])
        odds = np.exp(np.einsum("bjw,blkw->bjlk", queries, gaps))
        output: Array = (1 / odds.sum(axis=2)) @ values
        return output


def _lipschitz(layer: _Attention) -> float:
    """‖W_V‖_∞ (1 + ¾ Σ|A|), A = W_Qᵀ W_K, on the unit cube.

    With scores s_k = x_jᵀ A x_k, values v_k (a row of W_V of absolute sum r, times x_k) and p = softmax(s), a step δx
    of size η changes the output Σ_k p_k v_k by Σ_k p_k δv_k + Cov_p(δs, v), to first order, where
    - |δv_k| ≤ r η;
    - |Cov_p(δs, v)| ≤ osc(δs) osc(v) / 4 (Cauchy–Schwarz and Popoviciu's Var ≤ osc²/4), osc being max_k − min_k;
    - osc(v) ≤ r, for all x_k lie in the unit cube;
    - δs_k = (Aᵀ δx_j)ᵀ x_k + (Aᵀ x_j)ᵀ δx_k: the first part oscillates by at most ‖Aᵀ δx_j‖₁ ≤ η Σ|A| as x_k ranges
      over the cube, the second by at most 2η ‖Aᵀ x_j‖₁ ≤ 2η Σ|A| as δx_k ranges over [−η, η].
    """
    total = np.abs(np.transpose(layer.W_Q) @ np.array(layer.W_K)).sum()
    return float(np.abs(layer.W_V).sum(axis=1).max() * (1 + 0.75 * total))


def _rounding(layer: _Attention, tokens: int) -> float:
    """Bounds the rounding error of the layer's evaluation, relative to 1 + |f|.

    With u = 2^-53 and S = Σ |W_Q|ᵀ|W_K|, which bounds the scores: a score is off by 3 width S u, an exponent (score −
    largest score) by (6 width + 2) S u, a weight by twice that and (tokens + 5) u relatively, and the mean of values
    below ‖W_V‖_∞ by (width + tokens) u more. All of it is below 16 (width + tokens + 1) (1 + S) u ‖W_V‖_∞.
    """
    width = len(layer.W_V)
    scores = (np.abs(layer.W_Q).T @ np.abs(layer.W_K)).sum()
    values = np.abs(layer.W_V).sum(axis=1).max()
    return max(2.0**-40, float(values * (1 + scores) * (width + tokens + 1)) * 16 * 2.0**-53)


def _default_weights(width: int) -> dict[str, Array]:
    """Small rational numbers with no symmetry, so that transposed or swapped weights show."""
    i, k = np.indices((width, width))
    return {
        "W_Q": (2 + (i + 2 * k) % 3) / (2 * width),
        "W_K": (2 - (2 * i + k) % 4) / width,
        "W_V": (2 - (i + 3 * k) % 5) / (2 * width),
    }


def _matrix(name: str, weights: ArrayLike | None, width: int) -> Matrix:
    try:
        matrix = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.shape != (width, width) or not np.isfinite(matrix).all():
        raise TargetError(
            f"{name} must be finite numbers of shape ({width}, {width}); got {weights!r}. Give such a matrix."
        )
    return tuple(map(tuple, matrix.tolist()))
