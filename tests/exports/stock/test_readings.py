"""No reading escapes: if one row of weights is off, of a head, a unit, a helper or the read-out, the bound rises."""

from contextlib import suppress

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates.programs.bound import bound_of_program
from anyformer.certificates.programs.stream import Stream
from anyformer.errors import NotShown
from anyformer.networks.layers import AttentionStage
from anyformer.programs.tracing import trace
from tests.certificates.programs.functions import TARGETS

# So much that it is seen in a head whose weights are all but 0 and 1, where scores matter little.
OFF = 0.01


class Slipping(Stream):
    """A stream on which one row is read wrongly."""

    def __init__(self, program, network, row):
        super().__init__(program, network)
        self.row = row

    def slip(self, row, bias):
        return OFF if np.array_equal(row, self.row) else 0.0


def rows_of(network):
    """Every row that some layer or the read-out reads, and does not read in vain."""
    found = []
    for stage in network.stages:
        for layer in (stage[k] for k in range(len(stage))):
            if not isinstance(stage, AttentionStage):
                found += [("unit", row) for row in layer.W_1[layer.W_2.any(axis=0)]]
                continue
            for h in range(len(layer.W_O)):
                used = layer.W_O[h].any(axis=0)
                found += [("value", row) for row in layer.W_V[h][used]]
                # A row of queries matters with its row of keys, and the other way round.
                asks = (layer.W_Q[h].any(axis=1) | (layer.b_Q[h] != 0)) & layer.W_K[h].any(axis=1)
                found += [("query", row) for row in layer.W_Q[h][asks]] + [("key", row) for row in layer.W_K[h][asks]]
    found += [("read-out", row) for row in network.W_R]
    different = {(kind, row.tobytes()): (kind, row) for kind, row in found if row.any()}
    return list(different.values())


SMALL = {"attention": 1e-3, "mean-scale": 1e-5, "cumulative-mean": 1e-3, "sort": 1e-3, "gate": 1e-3, "heights": 1e-3}
SLOW = {name: 1e-3 for name in TARGETS if name not in SMALL}


def check(name, tolerance):
    model = af.construct(TARGETS[name](), tolerance, p=np.inf, method="compile")
    program, network, hints = trace(model.target), model.network, model.certificate.hints
    plain = bound_of_program(program, network, hints)
    rows = rows_of(network)
    for kind, row in rows:
        with suppress(NotShown):  # which is an answer too
            wrong = bound_of_program(program, network, hints, Slipping(program, network, row))
            risen = [node for node, error in wrong.own.items() if error.absolute > plain.own[node].absolute]
            assert risen or (kind == "read-out" and wrong.largest > plain.largest), (kind, row)
    return {kind for kind, _ in rows}, any(hint.is_helper for hint in hints)


@pytest.mark.parametrize("name", SMALL)
def test_every_reading_counts(name):
    kinds, has_helpers = check(name, SMALL[name])
    assert kinds >= {"attention": {"query", "key", "value"}, "heights": {"key", "value"}}.get(name, {"read-out"})
    assert has_helpers == (name == "mean-scale")


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_every_reading_counts_in_every_step(name):
    check(name, SLOW[name])
