"""The format is what it is said to be: a reader that knows nothing of the package gets the same numbers.

Written as in the paper, a sequence being a d×n matrix of columns, with loops.
"""

import json
import math

import numpy as np
import pytest
from safetensors import safe_open


def dot(row, column):
    return sum((a * b for a, b in zip(row, column, strict=True)), 0.0)


def times(matrix, columns):
    return [[dot(row, column) for row in matrix] for column in columns]


def softmax(scores):
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    return [power / sum(powers) for power in powers]


def attention(w, layer, X):
    total = [[0.0] * len(column) for column in X]
    for W_Q, b_Q, W_K, W_V, W_O in zip(*(w[name][layer] for name in ("W_Q", "b_Q", "W_K", "W_V", "W_O")), strict=True):
        queries = [[q + b for q, b in zip(column, b_Q, strict=True)] for column in times(W_Q, X)]
        keys, values = times(W_K, X), times(W_V, X)
        for j, query in enumerate(queries):
            share = softmax([dot(key, query) for key in keys])
            mean = [dot(share, entries) for entries in zip(*values, strict=True)]
            total[j] = [old + new for old, new in zip(total[j], times(W_O, [mean])[0], strict=True)]
    return [[x + t for x, t in zip(*pair, strict=True)] for pair in zip(X, total, strict=True)]


def feed_forward(w, layer, X):
    W_1, b_1, W_2, b_2 = (w[name][layer] for name in ("W_1", "b_1", "W_2", "b_2"))
    output = []
    for x in X:
        hidden = [max(dot(row, x) + b, 0.0) for row, b in zip(W_1, b_1, strict=True)]
        output.append([e + (dot(row, hidden) + b) for e, row, b in zip(x, W_2, b_2, strict=True)])
    return output


def read(folder):
    config = json.loads((folder / "config.json").read_text())
    stages, position = [{} for _ in config["stages"]], None
    with safe_open(folder / "model.safetensors", framework="numpy") as file:
        for name in file.keys():  # noqa: SIM118 (it is no dictionary)
            if name == "positional_encoding":
                position = file.get_tensor(name).tolist()
            else:
                _, k, matrix = name.split(".")
                stages[int(k)][matrix] = file.get_tensor(name).tolist()
    return config, stages, position


def apply(config, stages, position, X):
    if position is not None:
        X = [[x + e for x, e in zip(*pair, strict=True)] for pair in zip(X, position, strict=True)]
    step = {"attention": attention, "feed_forward": feed_forward}
    for entry, weights in zip(config["stages"], stages, strict=True):
        for layer in range(entry["layers"]):
            X = step[entry["kind"]](weights, layer, X)
    return X


@pytest.mark.parametrize("which", range(3))
def test_a_reader_of_its_own_gets_the_same_bits(models, originals, which):
    model = models[which]
    config, stages, position = read(originals[which])
    assert (position is not None) == config["positional_encoding"] == (which == 1)
    inputs = np.random.default_rng(which).random((500, model.network.tokens, model.network.width))
    expected = np.array([apply(config, stages, position, x.tolist()) for x in inputs])
    assert model(inputs).tobytes() == expected.tobytes()
