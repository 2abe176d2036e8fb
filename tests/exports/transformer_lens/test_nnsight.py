"""nnsight wraps the PyTorch module as it is: what it saves and changes is what the labels speak of."""

import numpy as np
import pytest

from anyformer.labels import labels_of

nnsight = pytest.importorskip("nnsight")
torch = pytest.importorskip("torch")

from anyformer.exports.pytorch import to_torch  # noqa: E402


@pytest.fixture(scope="module")
def model(compiled_models):
    """Softmax on three tokens."""
    return compiled_models[0]


@pytest.fixture(scope="module")
def x(model):
    return np.random.default_rng(9).uniform(0, 1, (4, model.network.tokens, model.network.width))


def part(stage):
    """What gives the weights of the heads of a stage, or its hidden units."""
    return stage.probability_map if hasattr(stage, "probability_map") else stage.activation


def test_every_head_and_unit_is_saved_as_it_is(model, x):
    wrapped, labels = nnsight.NNsight(to_torch(model)), labels_of(model)
    values = labels.values(x)
    with torch.no_grad(), wrapped.trace(torch.tensor(x)):
        inner = nnsight.save([part(stage).output for stage in wrapped.stages])
        output = wrapped.output.save()
    assert np.abs(output.numpy() - model(x)).max() < 1e-12
    assert all(len(stage) == 1 for stage in model.network.stages)  # so that a stage is one layer
    for label in labels.of_kind("head"):
        wanted = values.attention(label.first).network
        assert np.abs(inner[label.stage][:, label.first.index].numpy() - wanted).max() < 1e-12
    units = labels.of_kind("unit")
    assert len(units) == model.network.hidden_unit_count
    for label in units:
        seen, wanted = inner[label.stage][..., label.first.index].numpy(), values.of(label.first).network
        assert np.abs(seen - wanted).max() < 1e-12 * (1 + np.abs(wanted).max())


def test_what_is_changed_changes_the_output(model, x):
    """Units that are silenced are missed, and silencing nothing changes nothing."""
    wrapped = nnsight.NNsight(to_torch(model))
    last = max(k for k, stage in enumerate(model.network.stages) if stage.kind == "feed_forward")
    with torch.no_grad():
        found = []
        for factor in (1.0, 0.0):
            with wrapped.trace(torch.tensor(x)):
                wrapped.stages[last].activation.output[:] = wrapped.stages[last].activation.output * factor
                found.append(wrapped.output.save())
    assert np.abs(found[0].numpy() - model(x)).max() < 1e-12
    assert np.abs(found[1].numpy() - model(x)).max() > model.certificate.certified_error
