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
    stages, others = [{} for _ in config["stages"]], {}
    with safe_open(folder / "model.safetensors", framework="numpy") as file:
        for name in file.keys():  # noqa: SIM118 (it is no dictionary)
            if name.startswith("stages."):
                _, k, matrix = name.split(".")
                stages[int(k)][matrix] = file.get_tensor(name).tolist()
            else:
                others[name] = file.get_tensor(name).tolist()
    return config, stages, others


def plus(X, Y):
    return [[x + y for x, y in zip(*pair, strict=True)] for pair in zip(X, Y, strict=True)]


def apply(config, stages, others, X):
    if "W_E" in others:
        X = times(others["W_E"], X)
    if "positional_encoding" in others:
        X = plus(X, others["positional_encoding"])
    step = {"attention": attention, "feed_forward": feed_forward}
    for entry, weights in zip(config["stages"], stages, strict=True):
        for layer in range(entry["layers"]):
            X = step[entry["kind"]](weights, layer, X)
    if "W_R" in others:
        X = plus(times(others["W_R"], X), [others["b_R"]] * len(X))
    return X


def read_and_run(model, folder, which):
    config, stages, others = read(folder)
    assert ("positional_encoding" in others) == config["positional_encoding"] == (which in (1, 4))
    assert ("W_E" in others) == ("stream_width" in config) == (which >= 3)
    inputs = np.random.default_rng(which).random((500, model.network.tokens, model.network.width))
    return inputs, np.array([apply(config, stages, others, x.tolist()) for x in inputs])


@pytest.mark.parametrize("which", range(3))
def test_a_reader_of_its_own_gets_the_same_bits(models, originals, which):
    inputs, outputs = read_and_run(models[which], originals[which], which)
    assert models[which](inputs).tobytes() == outputs.tobytes()


@pytest.mark.parametrize("which", [3, 4, 5])
def test_of_a_program_it_gets_what_is_certified(models, originals, which):
    """Its sums round otherwise than ours, and the certificate speaks of sums in any order."""
    model = models[which]
    inputs, outputs = read_and_run(model, originals[which], which)
    largest = model.certificate.terms["largest"]
    assert np.abs(outputs - model.target(inputs)).max() <= largest
    # Fewer than 2^10 numbers are added for any output, all of them below 2^3.
    assert np.abs(outputs - model(inputs)).max() <= 2.0 ** (10 + 3 - 53)
