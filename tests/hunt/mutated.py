"""Honest models with something broken, and a digest and terms to match."""

from dataclasses import dataclass, replace

import numpy as np

import anyformer as af
from anyformer.certificates import Certificate
from anyformer.networks import Network
from anyformer.networks.digest import digest
from anyformer.networks.layers import weights
from tests.hunt.claims import judged
from tests.hunt.models import measured, models
from tests.hunt.palettes import STYLES, draw
from tests.hunt.rulings import Outcome


@dataclass(frozen=True, eq=False)
class MutatedCase:
    """A network that is no longer what was built, and the claim that it is."""

    description: str
    network: Network
    certificate: Certificate
    target: af.Target

    def judge(self) -> Outcome:
        """False if proved, though samples show a larger error."""
        return judged(
            self.network, self.certificate, self.target, lambda: measured(self.network, self.target, self.certificate.p)
        )


def mutated(rng: np.random.Generator) -> MutatedCase:
    """One or two weights or layers changed."""
    model = models()[rng.integers(len(models()))]
    network, what = model.network, []
    for _ in range(rng.integers(1, 3)):
        change = CHANGES[rng.integers(len(CHANGES))]
        said, network = change(rng, network)
        what.append(said)
    tolerance = model.certificate.certified_error * float(rng.choice([1.0001, 2.0]))
    claim = replace(
        model.certificate,
        weights_digest=digest(network),
        tolerance=tolerance,
        certified_error=tolerance,
        terms=dict.fromkeys(model.certificate.terms, 1e300),
    )
    assert model.target is not None
    return MutatedCase(f"{model.target.name}: {'; '.join(what)}", network, claim, model.target)


def _replaced(network: Network, k: int, **arrays: np.ndarray) -> Network:
    stage = replace(network.stages[k], **arrays)
    return replace(network, stages=(*network.stages[:k], stage, *network.stages[k + 1 :]))


def _some_array(rng: np.random.Generator, network: Network) -> tuple[int, str, np.ndarray]:
    k = int(rng.integers(len(network.stages)))
    name = str(rng.choice(list(weights(network.stages[k]))))
    return k, name, weights(network.stages[k])[name].copy()


def _flip_bit(rng: np.random.Generator, network: Network) -> tuple[str, Network]:
    k, name, array = _some_array(rng, network)
    where, bit = int(rng.integers(array.size)), int(rng.integers(64))
    array.ravel()[where : where + 1].view(np.uint64)[:] ^= np.uint64(1 << bit)
    array = np.nan_to_num(array, nan=1e6)
    return f"bit {bit} of {name}[{where}] in stage {k}", _replaced(network, k, **{name: array})


def _set_entry(rng: np.random.Generator, network: Network) -> tuple[str, Network]:
    k, name, array = _some_array(rng, network)
    where, value = int(rng.integers(array.size)), float(draw(rng, str(rng.choice(STYLES))))
    array.ravel()[where] = value
    return f"{name}[{where}] = {value!r} in stage {k}", _replaced(network, k, **{name: array})


def _scale_entry(rng: np.random.Generator, network: Network) -> tuple[str, Network]:
    k, name, array = _some_array(rng, network)
    where = int(rng.choice(np.flatnonzero(array))) if array.any() else 0
    factor = float(rng.choice([-1.0, 0.0, 0.5, 0.99, 1 + 2.0**-52, 1 + 1e-9, 1.5, 2.0**-300]))
    array.ravel()[where] *= factor
    return f"{name}[{where}] times {factor!r} in stage {k}", _replaced(network, k, **{name: array})


def _rescale_unit(rng: np.random.Generator, network: Network) -> tuple[str, Network]:
    """In real numbers nothing changes: a unit's input is divided, its output multiplied, by a power of two."""
    k = int(rng.choice([k for k, stage in enumerate(network.stages) if stage.kind == "feed_forward"]))
    stage, factor = network.stages[k], float(2.0 ** rng.integers(-1000, 1001))
    layer, unit = int(rng.integers(len(stage))), int(rng.integers(stage.W_1.shape[1]))
    W_1, b_1, W_2 = stage.W_1.copy(), stage.b_1.copy(), stage.W_2.copy()
    with np.errstate(all="ignore"):
        W_1[layer, unit] /= factor
        b_1[layer, unit] /= factor
        W_2[layer, :, unit] *= factor
    arrays = {name: np.nan_to_num(array) for name, array in (("W_1", W_1), ("b_1", b_1), ("W_2", W_2))}
    return f"unit {unit} of layer {layer} of stage {k} rescaled by {factor!r}", _replaced(network, k, **arrays)


def _move_layers(rng: np.random.Generator, network: Network) -> tuple[str, Network]:
    k = int(rng.choice([k for k, stage in enumerate(network.stages) if len(stage) > 1] or [0]))
    stage = network.stages[k]
    order = rng.permutation(len(stage)) if rng.random() < 0.5 else np.sort(rng.integers(0, len(stage), len(stage)))
    return f"layers of stage {k} in the order {order.tolist()}", _replaced(
        network, k, **{name: array[order] for name, array in weights(stage).items()}
    )


def _drop_stage(rng: np.random.Generator, network: Network) -> tuple[str, Network]:
    k = int(rng.integers(len(network.stages) - 1)) if len(network.stages) > 1 else 0
    kept = network.stages[:k] + network.stages[k + 1 :] if len(network.stages) > 1 else network.stages
    return f"stage {k} dropped", replace(network, stages=kept)


CHANGES = [_flip_bit, _flip_bit, _set_entry, _set_entry, _scale_entry, _rescale_unit, _move_layers, _drop_stage]
