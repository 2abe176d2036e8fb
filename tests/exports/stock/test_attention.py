"""What the certificate trusts PyTorch's attention with: weights that are as exact as the checker counts."""

import numpy as np
import pytest

from anyformer.certificates.programs.heads import ROUNDINGS
from anyformer.networks.dtypes import FLOAT32, FLOAT64

torch = pytest.importorskip("torch")

HEAD_SIZE = 16  # the root of its root is a power of two, so that scores are exact on both paths


def weights(scores: np.ndarray, kind: str, path: str) -> np.ndarray:
    """The weights that PyTorch makes of scores (queries, keys), as the mean of values that are rows of the identity."""
    queries, keys = scores.shape
    tensors = [torch.zeros(1, 1, count, HEAD_SIZE, dtype=getattr(torch, kind)) for count in (queries, keys)]
    tensors[0][..., 0], tensors[1][..., 0] = HEAD_SIZE**0.5, 1.0
    found = []
    for query in range(queries):
        tensors[1][0, 0, :, 0] = torch.tensor(scores[query])
        for first in range(0, keys, HEAD_SIZE):
            values = torch.eye(keys, dtype=tensors[0].dtype)[None, None, :, first : first + HEAD_SIZE]
            given = (tensors[0], tensors[1], values.contiguous())
            backend = getattr(torch.nn.attention.SDPBackend, path)
            with torch.nn.attention.sdpa_kernel(backend):
                found.append(torch.nn.functional.scaled_dot_product_attention(*given)[0, 0, query])
    return torch.cat(found).reshape(queries, keys).double().numpy()


@pytest.mark.parametrize("dtype", [FLOAT64, FLOAT32], ids=str)
@pytest.mark.parametrize("path", ["MATH", "FLASH_ATTENTION"])
@pytest.mark.parametrize("keys", [16, 112])
def test_weights_are_as_exact_as_trusted(dtype, path, keys):
    rng = np.random.default_rng(keys)
    # Multiples of 1/64 up to 20: exact in both types, also after the product with √(head size).
    scores = np.round(rng.uniform(-20, 20, (5, keys)) * 64) / 64
    exact = np.exp(scores.astype(np.longdouble) - scores.max(axis=1, keepdims=True))
    exact /= exact.sum(axis=1, keepdims=True)
    off = np.abs(weights(scores, dtype.name, path) - exact) / exact
    assert off.max() <= dtype.roundings(2 * keys + ROUNDINGS)
