"""A hundred thousand layers: no recursion, no module per layer, and memory that does not grow with them."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from anyformer.exports.pytorch import to_torch
from anyformer.networks import AttentionStage, BlockShape, FeedForwardStage, Network, evaluate
from anyformer.runtime import run
from tests.random_networks import attention_stage, feed_forward_stage

ROOT = Path(__file__).parents[3]


def deep(layers: int) -> Network:
    """Attention and feed-forward layers whose weights are so small that the stream stays as large as it is."""
    rng = np.random.default_rng(0)
    ask, feed = attention_stage(rng, layers // 10, width=2), feed_forward_stage(rng, layers - layers // 10, 4, width=2)
    ask = AttentionStage("ask", *(getattr(ask, name) / layers for name in ask.AXES))
    feed = FeedForwardStage("feed", *(getattr(feed, name) / layers for name in feed.AXES))
    return Network(3, 2, BlockShape(2, 1, 4), (ask, feed))


def test_five_thousand_layers():
    network = deep(5000)
    module = to_torch(network)
    assert len(list(module.modules())) == 6
    x = np.random.default_rng(1).random((4, 3, 2))
    with torch.no_grad():
        found = module(torch.tensor(x)).numpy()
    # Each layer is nearly the identity: it rounds at most ten numbers below 4, and amplifies by less than 1 + 1/layers.
    assert np.abs(found - run(network, x)).max() <= np.e * 5000 * 10 * 4 * 2.0**-53
    assert np.abs(found - x).max() > 1e-3


def test_few_layers_of_the_same_are_the_definition():
    network = deep(30)
    x = np.random.default_rng(1).random((4, 3, 2))
    found = to_torch(network)(torch.tensor(x)).detach().numpy()
    assert np.abs(found - evaluate(network, x)).max() <= np.e * 30 * 10 * 4 * 2.0**-53


SCRIPT = """
import json, resource, torch
from anyformer.exports.pytorch import to_torch
from tests.exports.pytorch.test_depth import deep
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
module, x = to_torch(deep(100_000)), torch.rand(5, 3, 2, dtype=torch.float64)
module(x[:0]).sum().backward()  # PyTorch loads what it needs for gradients
module.zero_grad(set_to_none=True)
start = peak()
with torch.no_grad():
    module(x)
forward = peak()
module(x).square().sum().backward()
print(json.dumps({"forward": forward - start, "training": peak() - start, "modules": len(list(module.modules()))}))
"""


@pytest.mark.slow
def test_a_hundred_thousand_layers_run_and_train_in_little_memory():
    """The stages' weights are 20 MB, and so are their gradients; a tensor per layer and step would be a gigabyte."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, cwd=ROOT)
    used = json.loads(done.stdout)
    assert used["modules"] == 6
    assert used["forward"] < 50
    assert used["training"] < 250
